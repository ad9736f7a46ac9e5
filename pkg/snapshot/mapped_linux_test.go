//go:build linux && !portable

package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// attack is one way to write a file through a shared mapping around a look: of the second store the file's stat tells
// nothing.
type attack struct {
	first, second, opened, renamed string
	twice                          bool // there are two looks between the stores
}

func (a attack) String() string {
	return fmt.Sprintf("%s, %s, then %s, %s, twice %t", a.opened, a.first, a.second, a.renamed, a.twice)
}

func attacks() (all []attack) {
	for _, first := range []string{"a byte", "a byte as it is"} {
		for _, second := range []string{"the byte", "a byte beside", "a byte of another page", "the byte back"} {
			for _, opened := range []string{"closed", "kept open", "read before", "made writable later"} {
				for _, renamed := range []string{"stays", "renamed", "has another name", "its directory renamed"} {
					all = append(all, attack{first, second, opened, renamed, false}, attack{first, second, opened, renamed, true})
				}
			}
		}
	}
	return all
}

const mappedSize = 64 << 10

func mappedContent() []byte { return bytes.Repeat([]byte("a"), mappedSize) }

// mapping is a shared one of dir/x.
type mapping struct {
	b      *bench
	memory []byte
	path   string
	noted  bool // the file system notes the first store
}

func (b *bench) mapped(a attack) *mapping {
	b.t.Helper()
	m := &mapping{b: b, path: "dir/x"}
	f, err := os.OpenFile(filepath.Join(b.dir, m.path), os.O_RDWR, 0)
	b.must(err)
	rights := unix.PROT_READ | unix.PROT_WRITE
	if a.opened == "made writable later" {
		rights = unix.PROT_READ
	}
	m.memory, err = unix.Mmap(int(f.Fd()), 0, mappedSize, rights, unix.MAP_SHARED)
	b.must(err)
	if a.opened == "kept open" {
		b.t.Cleanup(func() { f.Close() })
	} else {
		b.must(f.Close())
	}
	check.Must(b.t, a.opened != "read before" || m.memory[0] == 'a', "another content")
	if rights == unix.PROT_READ {
		b.must(unix.Mprotect(m.memory, unix.PROT_READ|unix.PROT_WRITE))
	}
	before := m.changed()
	for {
		m.memory[0] = map[string]byte{"a byte": 'b', "a byte as it is": 'a'}[a.first]
		if m.noted = m.changed() != before; m.noted || a.opened == "read before" {
			return m
		}
	}
}

func (m *mapping) changed() unix.Timespec {
	var now unix.Stat_t
	m.b.must(unix.Stat(filepath.Join(m.b.dir, m.path), &now))
	return now.Ctim
}

// second is what happens after the look.
func (m *mapping) second(a attack) {
	m.b.t.Helper()
	switch a.renamed {
	case "renamed":
		m.b.must(os.Rename(filepath.Join(m.b.dir, "dir/x"), filepath.Join(m.b.dir, "dir/y")))
		m.path = "dir/y"
	case "has another name":
		m.b.must(os.Link(filepath.Join(m.b.dir, "dir/x"), filepath.Join(m.b.dir, "dir/y")))
	case "its directory renamed":
		m.b.must(os.Rename(filepath.Join(m.b.dir, "dir"), filepath.Join(m.b.dir, "dir2")))
		m.path = "dir2/x"
	}
	switch a.second {
	case "the byte":
		m.memory[0] = 'c'
	case "a byte beside":
		m.memory[100] = 'c'
	case "a byte of another page":
		m.memory[mappedSize-1] = 'c'
	case "the byte back":
		m.memory[0] = 'a'
	}
}

func (m *mapping) end() {
	if m.memory != nil {
		m.b.must(unix.Munmap(m.memory))
		m.memory = nil
	}
}

func (m *mapping) hash() string {
	content, err := os.ReadFile(filepath.Join(m.b.dir, m.path))
	m.b.must(err)
	return hash(string(content))
}

// eachAttack runs one after the other, each with a workspace that was looked at. A file system that does not note the first store
// is none for it, as the package says.
func eachAttack(t *testing.T, run func(t *testing.T, b *bench, a attack)) {
	t.Helper()
	failed, tried := 0, 0
	for i, a := range attacks() {
		if i%5 != 0 && !check.Long() {
			continue // of any two of the ways each meets each
		}
		tried++
		if !t.Run(a.String(), func(t *testing.T) {
			b := newBench(t)
			b.write("dir/x", string(mappedContent()))
			b.write("other/z", "z\n")
			run(t, b, a)
		}) {
			failed++
		}
	}
	t.Logf("%d of %d got through", failed, tried)
}

// between are the looks between the stores, by a command that may change what is below other; it still runs.
func (b *bench) between(a attack) *snapshot.Window {
	b.t.Helper()
	w := b.scoped("other/")
	b.keeper.Age()
	if a.twice {
		b.want(b.end(w))
		b.keeper.Age()
		w = b.scoped("other/")
		b.keeper.Age()
	}
	return w
}

// TestMappedAroundALook: what a command writes through a mapping after another one was looked for is in its account, and no
// account tells of a content that is not there.
func TestMappedAroundALook(t *testing.T) {
	eachAttack(t, func(t *testing.T, b *bench, a attack) {
		b.end(b.begin())
		b.keeper.Age()
		background := b.scoped("dir")
		m := b.mapped(a)
		defer m.end()
		if !m.noted {
			return
		}
		foreground := b.between(a)
		m.second(a)
		want := m.hash()
		b.run("echo more >> other/z")
		b.want(b.end(foreground), "modified other/z")
		b.keeper.Age()
		m.end()
		b.account(b.end(background), m.path, want)
		b.keeper.Age()
		b.want(b.changed("true"))
	})
}

// account holds what is told of the file at its path against what is there.
func (b *bench) account(d *snapshot.Difference, path, want string) {
	b.t.Helper()
	told := map[string]snapshot.Change{}
	for _, c := range d.Changes {
		told[c.Path] = c
	}
	c, is := told[path]
	switch {
	case !is && (want != hash(string(mappedContent())) || path != "dir/x"):
		b.t.Errorf("nothing is told of %s: %v", path, d.Changes)
	case is && c.After.Hash != want:
		b.t.Errorf("%s has another content than is told", path)
	case is && c.Before != nil && c.Before.Hash != hash(string(mappedContent())):
		b.t.Errorf("%s had another content than is told", path)
	}
}

// theirs are the commands of other processes that run.
type theirs []snapshot.Running

// elsewhere has a new keeper told of them.
func (b *bench) elsewhere() *theirs {
	running := &theirs{}
	o := b.options
	o.Elsewhere = func(context.Context) (began []time.Time, err error) {
		for _, r := range *running {
			began = append(began, r.Began)
		}
		return began, nil
	}
	o.Mark = func(context.Context) (snapshot.Others, []string, error) {
		return func(context.Context, []string) (snapshot.Foreign, error) {
			return snapshot.Foreign{Running: *running}, nil
		}, nil, nil
	}
	b.keeper = snapshot.Open(o)
	return running
}

func (r *theirs) begin(dir string) {
	*r = append(*r, snapshot.Running{Began: time.Now(), InScope: func(path string) bool { return strings.HasPrefix(path, dir) }})
}

func (r *theirs) end() { *r = nil }

// TestMappedByAnotherServersCommand: the content before a command is what the other left, not what was seen of it on the
// way.
func TestMappedByAnotherServersCommand(t *testing.T) {
	eachAttack(t, func(t *testing.T, b *bench, a attack) {
		running := b.elsewhere()
		b.end(b.begin())
		b.keeper.Age()
		running.begin("dir")
		m := b.mapped(a)
		defer m.end()
		if !m.noted {
			return
		}
		b.want(b.end(b.between(a)))
		m.second(a)
		want := m.hash()
		m.end()
		running.end()
		b.keeper.Age()
		w := b.begin()
		b.run("echo more >> " + m.path)
		c := b.find(b.end(w), m.path)
		check.That(t, c.Before != nil && c.Before.Hash == want, "the content before is not the one that was there")
	})
}

// TestMappedUnnoticed: the kernel gives no notice of what another server's command writes through a mapping. It is not
// charged to a command that begins after it.
func TestMappedUnnoticed(t *testing.T) {
	b := newBench(t)
	b.write("dir/x", string(mappedContent()))
	running := b.elsewhere()
	b.end(b.begin())
	b.end(b.begin())
	running.begin("")
	m := b.mapped(attack{first: "a byte"})
	defer m.end()
	b.want(b.changed("true"))
}

// TestMappedAndKilled: the state that is saved for a command says what is to be read again.
func TestMappedAndKilled(t *testing.T) {
	eachAttack(t, func(t *testing.T, b *bench, a attack) {
		b.end(b.begin())
		b.keeper.Age()
		b.scoped("dir")
		m := b.mapped(a)
		defer m.end()
		if !m.noted {
			return
		}
		before := m.hash()
		killed := b.begin() // with all in its scope
		saved, err := snapshot.AgeSaved(killed.Saved)
		b.must(err)
		m.second(a)
		want := m.hash()
		m.end()
		state, err := b.state()
		b.must(err)
		defer state.Close()
		d, err := snapshot.Recover(t.Context(), b.options, state, saved, nil, nil)
		b.must(err)
		if before == want && m.path == "dir/x" {
			return
		}
		c := b.find(d, m.path)
		check.That(t, c.After != nil && c.After.Hash == want, "another content than is told")
	})
}

// TestOnlyOpenFilesAreReadAgain: of the files that changed while a command runs, those that nobody has open for writing are
// done with at the first look.
func TestOnlyOpenFilesAreReadAgain(t *testing.T) {
	b := newBench(t)
	var on unix.Statfs_t
	b.must(unix.Statfs(b.dir, &on))
	if on.Type == unix.OVERLAYFS_SUPER_MAGIC {
		t.Log("what is mapped there cannot be asked for, so all are read again")
		return
	}
	b.end(b.begin())
	running := b.begin()
	b.run("mkdir many; for i in 1 2 3 4 5 6 7 8 9; do echo $i > many/$i; done")
	f, err := os.OpenFile(filepath.Join(b.dir, "many/5"), os.O_WRONLY, 0)
	b.must(err)
	b.begin().Discard()
	check.That(t, slices.Equal(b.keeper.ReadAgain(), []string{"many/5"}), "read again: %q", b.keeper.ReadAgain())
	b.must(f.Close())
	b.begin().Discard()
	check.That(t, len(b.keeper.ReadAgain()) == 0, "read again: %q", b.keeper.ReadAgain())
	b.end(running)
}
