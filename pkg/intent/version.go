package intent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// version hashes what a node says, following aliases within the bounds of a file.
func (d *decoder) version(n *yaml.Node) (string, error) {
	h := hasher{sum: sha256.New(), nodes: d.hashed}
	if err := h.node(n, 0); err != nil {
		return "", err
	}
	d.hashed = h.nodes
	return "sha256:" + hex.EncodeToString(h.sum.Sum(nil)), nil
}

type hasher struct {
	sum   hash.Hash
	nodes int
}

func (h *hasher) node(n *yaml.Node, depth int) error {
	if h.nodes++; h.nodes > maxNodes || depth > maxDepth {
		return nodeError(filePath, n, "aliases expand to more than %d values or %d levels", maxNodes, maxDepth)
	}
	n = deref(n)
	h.text(n.ShortTag())
	h.text(n.Value)
	h.number(len(n.Content))
	content := n.Content
	if n.Kind == yaml.MappingNode {
		content = sortedPairs(content)
	}
	for _, child := range content {
		if err := h.node(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (h *hasher) text(s string) {
	h.number(len(s))
	h.sum.Write([]byte(s))
}

func (h *hasher) number(n int) {
	h.sum.Write(binary.AppendUvarint(nil, uint64(n)))
}

// sortedPairs returns the keys and values of a mapping ordered by key: the order of keys says nothing.
func sortedPairs(content []*yaml.Node) []*yaml.Node {
	pairs := slices.Collect(slices.Chunk(content, 2))
	slices.SortFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	return slices.Concat(pairs...)
}
