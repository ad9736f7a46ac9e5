package attest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// The modes of a tree's entries that are no regular files.
const (
	modeTree   = "40000"
	modeLink   = "120000"
	modeCommit = "160000"
)

// entry is a file of a tree, or what stands in the place of one.
type entry struct{ mode, id string }

func (e entry) regular() bool { return strings.HasPrefix(e.mode, "100") }

// files gives all that is below a tree, by path.
func (o *objects) files(tree string) (map[string]entry, error) {
	found, entries := map[string]entry{}, 0
	return found, o.addFiles(found, tree, "", 0, &entries)
}

func (o *objects) addFiles(to map[string]entry, tree, dir string, depth int, entries *int) error {
	content, err := o.read(tree, "tree", maxHeld)
	if err != nil {
		return err
	}
	found, ok := gitread.ParseTree(content, len(tree))
	if !ok {
		return fmt.Errorf("%w: tree %s cannot be read", ErrDamaged, tree)
	}
	for _, e := range found {
		if *entries++; depth > maxDepth || *entries > maxEntries { // a directory may stand in many places, with nothing in it
			return fmt.Errorf("%w in a form that can be checked: its tree has more than %d levels or %d entries", ErrNotHere, maxDepth, maxEntries)
		}
		if e.Mode != modeTree {
			to[dir+e.Name] = entry{e.Mode, e.ID}
		} else if err := o.addFiles(to, e.ID, dir+e.Name+"/", depth+1, entries); err != nil {
			return err
		}
	}
	return nil
}

// differing are the paths that are not the same in two trees, sorted.
func differing(a, b map[string]entry) (paths []string) {
	for path, e := range a {
		if b[path] != e {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, both := a[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// treeID is the id of the tree that has these files.
func treeID(files map[string]entry, digits int) string {
	direct := map[string]entry{}
	below := map[string]map[string]entry{}
	for path, e := range files {
		dir, rest, nested := strings.Cut(path, "/")
		if !nested {
			direct[path] = e
			continue
		}
		if below[dir] == nil {
			below[dir] = map[string]entry{}
		}
		below[dir][rest] = e
	}
	for dir, inner := range below {
		direct[dir] = entry{modeTree, treeID(inner, digits)}
	}
	names := slices.SortedFunc(maps.Keys(direct), func(a, b string) int { return cmp.Compare(sortKey(a, direct), sortKey(b, direct)) })
	var content bytes.Buffer
	for _, name := range names {
		id, _ := hex.DecodeString(direct[name].id)
		fmt.Fprintf(&content, "%s %s\x00%s", direct[name].mode, name, id)
	}
	return idOf(content.Bytes(), "tree", digits)
}

// sortKey: git sorts a directory as if its name ended with a slash.
func sortKey(name string, among map[string]entry) string {
	if among[name].mode == modeTree {
		return name + "/"
	}
	return name
}
