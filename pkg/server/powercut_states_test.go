//go:build linux

package server_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// cutState is one disk that a power cut can leave.
type cutState struct {
	names    map[binding]int
	contents map[int][]byte
}

// states gives up to limit disks that a cut after n operations can leave, the
// two extremes among them: none of what was not flushed, and all of it.
func (d *cutDisk) states(n int, m cutModel, limit int, dice *rand.Rand) []cutState {
	names, contents, open := d.at(n, m)
	var out []cutState
	for k := range limit {
		keep := func(int) bool { return dice.IntN(2) == 0 }
		tear := func() int { return dice.IntN(tears) }
		switch k {
		case 0:
			keep, tear = func(int) bool { return false }, func() int { return 0 }
		case 1:
			keep, tear = func(int) bool { return true }, func() int { return 1 }
		}
		if m.ordered && k > 1 {
			until := dice.IntN(len(open.names) + 1)
			keep = func(i int) bool { return i < until }
		}
		s := cutState{names: maps.Clone(names), contents: maps.Clone(contents)}
		open.late(s.names, keep)
		for _, node := range open.order {
			s.contents[node] = torn(d.content(contents, node), open.files[node], tear())
		}
		out = append(out, s)
		if len(open.names) == 0 && len(open.order) == 0 {
			break
		}
	}
	return out
}

// late takes over those of the open names that keep chooses. A name that was
// changed twice does not jump over its first change.
func (p pending) late(names map[binding]int, keep func(int) bool) {
	held := map[binding]bool{}
	for i := 0; i < len(p.names); {
		end := i + 1
		for p.join[end-1] {
			end++
		}
		kept := keep(i)
		for _, c := range p.names[i:end] {
			kept = kept && !held[c.binding] && there(names, c.dir)
		}
		for _, c := range p.names[i:end] {
			if kept {
				set(names, c)
			} else {
				held[c.binding] = true
			}
		}
		i = end
	}
}

// there reports whether a directory has a name.
func there(names map[binding]int, dir int) bool {
	if dir == rootNode {
		return true
	}
	for _, node := range names {
		if node == dir {
			return true
		}
	}
	return false
}

const (
	tears  = 6
	sector = 512
)

// torn gives a file of which some writes were not flushed: none of them, all, or the last one in parts. What was
// appended may be cut anywhere, its space may be there with nothing in it if nobody ever flushed the file, and what was
// written in place may be there by sectors.
func torn(durable []byte, writes []*cutWrite, how int) []byte {
	content := durable
	last := len(writes) - 1
	if how == 0 {
		return content
	}
	for _, w := range writes[:last] {
		content = w.apply(content)
	}
	w := writes[last]
	whole := w.apply(content)
	if how == 1 || w.resize {
		return whole
	}
	if len(durable) == 0 && how == 5 {
		return make([]byte, len(whole))
	}
	if w.at >= int64(len(durable)) {
		return whole[:int(w.at)+len(w.content)*(how-1)/(tears-2)]
	}
	mixed := append(bytes.Clone(content), make([]byte, max(0, len(whole)-len(content)))...)
	for at := 0; at < len(whole); at += sector {
		number := at / sector
		if how == 2 && number == 0 || how == 3 && number != 0 || how == 4 && number%2 == 0 || how == 5 && number%2 == 1 {
			copy(mixed[at:min(at+sector, len(mixed))], whole[at:])
		}
	}
	return mixed
}

// digest is the same for two disks that look the same.
func (d *cutDisk) digest(s cutState) [sha256.Size]byte {
	h := sha256.New()
	d.walk(s, rootNode, "", func(path string, kind fs.FileMode, content []byte) {
		fmt.Fprintf(h, "%q %v %d\n", path, kind, len(content))
		h.Write(content)
	})
	return [sha256.Size]byte(h.Sum(nil))
}

// build writes a disk into an empty directory. Hard links stay links.
func (d *cutDisk) build(t *testing.T, s cutState, dir string) {
	t.Helper()
	first := map[int]string{}
	d.walkNodes(s, rootNode, "", func(path string, node int) {
		at := filepath.Join(dir, path)
		var err error
		switch {
		case d.nodes[node].dir():
			err = os.Mkdir(at, 0o755)
		case d.nodes[node].kind&fs.ModeSymlink != 0:
			err = os.Symlink(string(d.content(s.contents, node)), at)
		case first[node] != "":
			err = os.Link(first[node], at)
		default:
			first[node] = at
			err = os.WriteFile(at, d.content(s.contents, node), 0o644)
		}
		check.OK(t, err)
	})
}

func (d *cutDisk) walk(s cutState, dir int, at string, visit func(path string, kind fs.FileMode, content []byte)) {
	d.walkNodes(s, dir, at, func(path string, node int) {
		visit(path, d.nodes[node].kind, d.content(s.contents, node))
	})
}

func (d *cutDisk) walkNodes(s cutState, dir int, at string, visit func(path string, node int)) {
	var names []string
	for place := range s.names {
		if place.dir == dir {
			names = append(names, place.name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		node, path := s.names[binding{dir, name}], filepath.Join(at, name)
		visit(path, node)
		if d.nodes[node].dir() {
			d.walkNodes(s, node, path, visit)
		}
	}
}

// acked lists the records that the client was told of in the first n operations.
func (d *cutDisk) acked(n int) []string {
	var ids []string
	for _, op := range d.ops[:n] {
		ids = append(ids, op.acked...)
	}
	return ids
}

// story tells, for a failure, what was done last and what a disk has.
func (d *cutDisk) story(n int, s cutState) string {
	var b strings.Builder
	for i := max(0, n-30); i < n; i++ {
		switch op := d.ops[i]; {
		case op.data != nil:
			fmt.Fprintf(&b, "%d: %d bytes at %d of file %d\n", i, len(op.data.content), op.data.at, op.data.node)
		case op.flush != nil:
			fmt.Fprintf(&b, "%d: flush of %d, begun after %d\n", i, op.flush.node, op.flush.began)
		default:
			fmt.Fprintf(&b, "%d: names %v, acknowledged %v\n", i, op.names, op.acked)
		}
	}
	d.walkNodes(s, rootNode, "", func(path string, node int) {
		fmt.Fprintf(&b, "%s is %d, %d bytes\n", path, node, len(d.content(s.contents, node)))
	})
	return b.String()
}
