//go:build linux

package server_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// cutDisk is a file system as the disk sees it: what it had at the start, and
// every operation on it since, in the order in which they ended.
type cutDisk struct {
	nodes []cutNode
	ops   []cutOp
	names map[binding]int // the live view of the names, to resolve paths with
	start map[binding]int // the same at the start
}

// cutNode is an inode as it was at the start; directories have no content, and that of a link is where it leads.
type cutNode struct {
	kind    fs.FileMode // its type
	content []byte
}

func (n cutNode) dir() bool { return n.kind.IsDir() }

// binding is a place for a name; rootNode is the workspace.
type binding struct {
	dir  int
	name string
}

const (
	rootNode = 0
	noNode   = -1
)

// cutOp is one operation. Exactly one of its parts is set.
type cutOp struct {
	names []named // what names mean from now on: a creation, a link, a rename, a removal
	data  *cutWrite
	flush *cutFlush
	acked []string // record ids that the client was told
}

type named struct {
	binding
	node int // noNode: the name is gone
}

type cutWrite struct {
	node    int
	at      int64
	content []byte
	resize  bool // to at
}

// cutFlush makes durable what had ended when it began.
type cutFlush struct {
	node  int
	began int // operations that had ended by then
}

// newCutDisk reads a directory, whose content is taken for durable.
func newCutDisk(t *testing.T, dir string) *cutDisk {
	t.Helper()
	d := &cutDisk{nodes: []cutNode{{kind: fs.ModeDir}}, names: map[binding]int{}}
	d.read(t, dir, rootNode)
	d.start = maps.Clone(d.names)
	return d
}

func (d *cutDisk) read(t *testing.T, dir string, node int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check.OK(t, err)
	for _, e := range entries {
		child, at := len(d.nodes), filepath.Join(dir, e.Name())
		d.nodes = append(d.nodes, cutNode{kind: e.Type()})
		d.names[binding{node, e.Name()}] = child
		if e.IsDir() {
			d.read(t, at, child)
			continue
		}
		if d.nodes[child].content, err = contentOf(at, e.Type()); err != nil {
			t.Fatal(err)
		}
	}
}

func contentOf(name string, kind fs.FileMode) ([]byte, error) {
	if kind&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		return []byte(target), err
	}
	return os.ReadFile(name)
}

// rename notes what names mean now.
func (d *cutDisk) rename(changes ...named) {
	for _, n := range changes {
		d.names[n.binding] = n.node
	}
	d.ops = append(d.ops, cutOp{names: changes})
}

// cutModel says what a file system may do to operations that nobody flushed.
type cutModel struct {
	name string
	// In all of them a directory's flush brings its own new name along, and nothing is in a directory that is not there.
	//
	// ordered: names reach the disk in the order of the operations, and with any flush all of them (the journals of
	// ext4 and xfs). Else each name may be early or late, until its directory is flushed.
	ordered bool
}

var cutModels = []cutModel{
	{name: "ordered names", ordered: true},
	{name: "names in any order"},
}

// pending is what a cut after the first n operations leaves open.
type pending struct {
	names []named
	join  []bool // with the next: they are one operation
	files map[int][]*cutWrite
	order []int // of files
}

// at gives the durable names and contents after n operations, and what is open.
func (d *cutDisk) at(n int, m cutModel) (names map[binding]int, contents map[int][]byte, open pending) {
	names, contents = maps.Clone(d.start), map[int][]byte{}
	open.files = map[int][]*cutWrite{}
	durable := d.durableNames(n, m)
	for i, op := range d.ops[:n] {
		if w := op.data; w != nil {
			if d.flushed(i, n, func(f *cutFlush) bool { return f.node == w.node }) {
				contents[w.node] = w.apply(d.content(contents, w.node))
				continue
			}
			if len(open.files[w.node]) == 0 {
				open.order = append(open.order, w.node)
			}
			open.files[w.node] = append(open.files[w.node], w)
		}
		for k, change := range op.names {
			if durable[i][k] {
				set(names, change)
				continue
			}
			open.names = append(open.names, change)
			open.join = append(open.join, k+1 < len(op.names))
		}
	}
	return names, contents, open
}

// durableNames says which changes of names were flushed. A flush of a name takes with it what happened to that name before.
func (d *cutDisk) durableNames(n int, m cutModel) [][]bool {
	durable := make([][]bool, n)
	settled := map[binding]bool{}
	for i := n - 1; i >= 0; i-- {
		op := d.ops[i]
		whole := false
		durable[i] = make([]bool, len(op.names))
		for k, change := range op.names {
			durable[i][k] = settled[change.binding] || d.flushed(i, n, func(f *cutFlush) bool {
				return m.ordered || f.node == change.dir || d.nodes[f.node].dir() && f.node == change.node
			})
			whole = whole || durable[i][k]
		}
		for k, change := range op.names {
			durable[i][k] = durable[i][k] || whole
			settled[change.binding] = settled[change.binding] || durable[i][k]
		}
	}
	return durable
}

// flushed reports whether the i-th of n operations was covered by a flush.
func (d *cutDisk) flushed(i, n int, covers func(*cutFlush) bool) bool {
	for _, op := range d.ops[i+1 : n] {
		if op.flush != nil && op.flush.began > i && covers(op.flush) {
			return true
		}
	}
	return false
}

func set(names map[binding]int, change named) {
	if change.node == noNode {
		delete(names, change.binding)
		return
	}
	names[change.binding] = change.node
}

func (d *cutDisk) content(contents map[int][]byte, node int) []byte {
	if c, ok := contents[node]; ok {
		return c
	}
	return d.nodes[node].content
}

func (w *cutWrite) apply(content []byte) []byte {
	if w.resize {
		return append(bytes.Clone(content[:min(int64(len(content)), w.at)]), make([]byte, max(0, w.at-int64(len(content))))...)
	}
	out := append(bytes.Clone(content), make([]byte, max(0, w.at+int64(len(w.content))-int64(len(content))))...)
	copy(out[w.at:], w.content)
	return out
}
