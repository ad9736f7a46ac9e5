package history

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// content is what one commit, or the work tree, has of the ledger: object ids by name relative to .orchestration.
type content struct {
	segments map[string]string
	seals    map[string]string
}

func noContent() *content { return &content{segments: map[string]string{}, seals: map[string]string{}} }

// The names that count, relative to .orchestration.
const (
	singleName = "agent_trace.jsonl"
	traceDir   = "trace"
	archiveDir = "archive"
	sealsDir   = "seals"
	lineSuffix = ".jsonl"
	packSuffix = ".jsonl.zst"
	sealSuffix = ".note"
)

const maxTree = 64 << 20

type entry struct {
	name, id  string
	file, dir bool
}

// home finds the tree of .orchestration in a commit, by the path of the workspace in the repository; empty if the commit
// has none. It reads each tree on the way, so that one that is not at hand is an error and not an absence.
func (o *objects) home(commit string, way []string) (string, error) {
	at := commit + "^{tree}"
	for _, name := range way {
		entries, err := o.tree(at)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name && e.dir })
		if i < 0 {
			return "", nil
		}
		at = entries[i].id
	}
	return at, nil
}

// readContent reads the tree of an .orchestration directory; none is a commit without a ledger.
func (o *objects) readContent(tree string) (*content, error) {
	c := noContent()
	if tree == "" {
		return c, nil
	}
	entries, err := o.tree(tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case e.name == singleName && e.file:
			c.segments[e.name] = e.id
		case e.name == traceDir && e.dir:
			err = o.collect(c.segments, e, lineSuffix)
		case e.name == archiveDir && e.dir:
			err = o.collect(c.segments, e, packSuffix)
		case e.name == sealsDir && e.dir:
			err = o.collect(c.seals, e, sealSuffix)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (o *objects) collect(into map[string]string, dir entry, suffix string) error {
	entries, err := o.tree(dir.id)
	for _, e := range entries {
		if e.file && strings.HasSuffix(e.name, suffix) {
			into[dir.name+"/"+e.name] = e.id
		}
	}
	return err
}

// tree parses a tree object: mode, space, name, NUL and the raw id of each entry.
func (o *objects) tree(name string) ([]entry, error) {
	found, err := o.Open(name)
	switch {
	case err != nil:
		return nil, err
	case found.Kind != "tree":
		return nil, fmt.Errorf("%s is not at hand as a tree: a partial clone has to fetch it first", name)
	}
	raw, err := io.ReadAll(io.LimitReader(o, maxTree+1))
	if err != nil {
		return nil, o.Failed(err)
	}
	if len(raw) > maxTree {
		return nil, fmt.Errorf("tree %s is larger than %d bytes", name, maxTree)
	}
	var entries []entry
	for idLen := len(found.ID) / 2; len(raw) > 0; {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		if !ok || !spaced || len(rest) < idLen {
			return nil, errors.New("git gave a tree that cannot be read: " + name)
		}
		entries = append(entries, entry{
			name: name, id: hex.EncodeToString(rest[:idLen]), file: strings.HasPrefix(mode, "100"), dir: strings.TrimLeft(mode, "0") == "40000",
		})
		raw = rest[idLen:]
	}
	return entries, nil
}
