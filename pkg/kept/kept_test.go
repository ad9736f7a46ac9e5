package kept_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
)

// bench is a workspace with a store.
type bench struct {
	t    *testing.T
	dir  string
	root *os.Root
	now  time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), now: time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC)}
	check.OK(t, os.Mkdir(filepath.Join(b.dir, ".orchestration"), 0o755))
	b.root = check.Value(os.OpenRoot(b.dir))(t)
	t.Cleanup(func() { b.root.Close() })
	return b
}

func (b *bench) open(o kept.Options) *kept.Store {
	if o.Size == 0 {
		o.Size = 1 << 30
	}
	o.Clock = func() time.Time { return b.now }
	return kept.Open(b.root, o)
}

// put keeps contents and waits for the disk.
func (b *bench) put(o kept.Options, contents ...[]byte) {
	b.t.Helper()
	s := b.open(o)
	for _, c := range contents {
		s.Put(b.content(c))
	}
	s.Close()
}

func (b *bench) id(content []byte) string { return gitdir.New(b.dir).BlobID(content) }

func (b *bench) content(content []byte, paths ...string) kept.Content {
	if paths == nil {
		paths = []string{"a"}
	}
	return kept.Content{ID: b.id(content), Bytes: content, Paths: paths}
}

func (b *bench) wantKept(s *kept.Store, content []byte, want bool) {
	b.t.Helper()
	got, ok := s.Get(b.id(content))
	check.That(b.t, ok == want && (!ok || bytes.Equal(got, content)), "kept %v, want %v (%d bytes, want %d)", ok, want, len(got), len(content))
}

// packs are the files with contents.
func (b *bench) packs() []string {
	packs, err := filepath.Glob(filepath.Join(b.dir, ".orchestration/cache/images/*.pack"))
	check.OK(b.t, err)
	return packs
}

func (b *bench) pack() string {
	b.t.Helper()
	check.Equal(b.t, len(b.packs()), 1, "packs")
	return b.packs()[0]
}

// has reports whether bytes stand in any file of the store.
func (b *bench) has(bytes_ []byte) (has bool) {
	for _, pack := range b.packs() {
		has = has || bytes.Contains(check.Value(os.ReadFile(pack))(b.t), bytes_)
	}
	return has
}

// onDisk is what the packs take, less what their tables leave free.
func (b *bench) onDisk() (files int, bytes int64) {
	for _, pack := range b.packs() {
		info := check.Value(os.Stat(pack))(b.t)
		files, bytes = files+1, bytes+info.Size()-kept.TableSize
	}
	return files, bytes
}

func random(size int) []byte {
	b := make([]byte, size)
	rand.Read(b)
	return b
}

func TestKeepsContents(t *testing.T) {
	b := newBench(t)
	contents := [][]byte{{}, []byte("one\r\ntwo"), {0, 0xff, 0xfe}, bytes.Repeat([]byte("line\n"), 100_000), random(300_000)}
	b.put(kept.Options{}, contents...)
	s := b.open(kept.Options{})
	for _, c := range contents {
		b.wantKept(s, c, true)
	}
	b.wantKept(s, []byte("never put"), false)
	for name, mode := range map[string]fs.FileMode{b.pack(): 0o600, filepath.Join(b.dir, ".orchestration/cache/images"): 0o700} {
		info, err := os.Stat(name)
		check.That(t, err == nil && info.Mode().Perm() == mode, "%s: %v %v, want mode %o", name, info.Mode(), err, mode)
	}
}

func TestGitAgreesOnIDs(t *testing.T) {
	b := newBench(t)
	for id, ok := range map[string]bool{
		"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391":                         true, // git hash-object -t blob /dev/null
		"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813": true, // the same with SHA-256
		"E69DE29BB2D1D6434B8B29AE775AD8C2E48C5391":                         false,
		"../../../active_intents.yaml/////////////":                        false,
		"e69de29b": false, "": false,
	} {
		s := b.open(kept.Options{})
		s.Put(kept.Content{ID: id})
		_, got := s.Get(id)
		check.That(t, got == ok, "%q: kept %v, want %v", id, got, ok)
	}
}

// TestHostileFiles puts in place of a content what a command could: none is given out.
func TestHostileFiles(t *testing.T) {
	const largest = 1 << 20
	content, other := []byte("what it was\n"), []byte("what they want it to have been\n")
	bomb := kept.Pack(make([]byte, 128<<20))
	for name, spoil := range map[string]func(file string) error{
		"another content": func(f string) error { return kept.Spoil(f, kept.Pack(other), 0) },
		"not compressed":  func(f string) error { return kept.Spoil(f, content, 0) },
		"nothing":         func(f string) error { return kept.Spoil(f, nil, 0) },
		"a bomb":          func(f string) error { return kept.Spoil(f, bomb, 0) },
		"many frames":     func(f string) error { return kept.Spoil(f, bytes.Repeat(kept.Pack(make([]byte, largest)), 1000), 0) },
		"very long":       func(f string) error { return errors.Join(kept.Spoil(f, content, 100<<30), os.Truncate(f, 100<<30)) },
		"a wrong length":  func(f string) error { return kept.Spoil(f, content, -1<<40) },
		"an empty file":   func(f string) error { return os.Truncate(f, 0) },
		"half a table":    func(f string) error { return os.Truncate(f, 70) },
		"no table":        func(f string) error { return os.WriteFile(f, bytes.Repeat([]byte{7}, 4<<20), 0o600) },
		"a link": func(f string) error {
			copied := f + ".copy"
			return errors.Join(os.Rename(f, copied), os.Symlink(filepath.Base(copied), f))
		},
		"a directory": func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) },
		"a linked directory": func(f string) error {
			moved := filepath.Join(filepath.Dir(filepath.Dir(f)), "elsewhere")
			return errors.Join(os.Rename(filepath.Dir(f), moved), os.Symlink("elsewhere", filepath.Dir(f)))
		},
		"gone": func(f string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(f))) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put(kept.Options{Largest: largest}, content)
			b.wantKept(b.open(kept.Options{Largest: largest}), content, true)
			check.OK(t, spoil(b.pack()))
			b.wantKept(b.open(kept.Options{Largest: largest}), content, false)
			b.now = b.now.Add(time.Second)
			// A new process writes it again, unless a link stands in the directory's place.
			b.put(kept.Options{Largest: largest}, content)
			inTheWay := name == "a linked directory"
			b.wantKept(b.open(kept.Options{Largest: largest}), content, !inTheWay)
		})
	}
}

func TestBoundedBySizeOldestFirst(t *testing.T) {
	b := newBench(t)
	const size = 1 << 20
	var contents [][]byte
	at := b.now
	s := kept.Open(b.root, kept.Options{Size: size, Clock: func() time.Time {
		at = at.Add(time.Second)
		return at
	}})
	for range 60 {
		c := random(40_000)
		contents = append(contents, c)
		s.Put(b.content(c))
	}
	_, total := b.onDisk()
	check.That(t, total <= size && total >= size/2, "%d bytes are kept, the bound is %d", total, size)
	b.wantKept(s, contents[0], false)
	b.wantKept(s, contents[59], true)
}

// TestCountsWhatOthersWrote holds the bound over processes that each stay below it.
func TestCountsWhatOthersWrote(t *testing.T) {
	b := newBench(t)
	const size = 1 << 20
	for range 2 {
		var contents [][]byte
		for range kept.FirstRecount {
			contents = append(contents, random(12_000))
		}
		b.put(kept.Options{Size: size}, contents...)
		b.now = b.now.Add(time.Minute)
	}
	_, total := b.onDisk()
	check.That(t, total <= size, "%d bytes are kept, the bound is %d", total, size)
}

func TestForgetsWhatIsOld(t *testing.T) {
	b := newBench(t)
	o := kept.Options{Age: 24 * time.Hour}
	old, renewed := []byte("old\n"), []byte("renewed\n")
	b.put(o, old, renewed)
	left, earlier := filepath.Join(filepath.Dir(b.pack()), ".new-LEFT"), filepath.Join(filepath.Dir(b.pack()), b.id(old)+".zst")
	for _, file := range []string{left, earlier} {
		check.OK(t, os.WriteFile(file, []byte("half"), 0o600))
		check.OK(t, os.Chtimes(file, b.now, b.now))
	}
	b.now = b.now.Add(20 * time.Hour)
	b.put(o, renewed)
	b.now = b.now.Add(20 * time.Hour)
	var fill [][]byte
	for i := range kept.FirstRecount {
		fill = append(fill, fmt.Appendf(nil, "fill %d\n", i))
	}
	b.put(o, fill...)
	s := b.open(o)
	b.wantKept(s, old, false)
	b.wantKept(s, renewed, true)
	for _, file := range []string{left, earlier} {
		_, err := os.Stat(file)
		check.That(t, err != nil, "%s is still there", file)
	}
}

// TestRenewsWithinOneProcess: to put again what is there writes nothing, but its time.
func TestRenewsWithinOneProcess(t *testing.T) {
	b := newBench(t)
	s, content := b.open(kept.Options{Age: 32 * time.Hour}), []byte("again\n")
	s.Put(b.content(content))
	_, size := b.onDisk()
	b.now = b.now.Add(90 * time.Minute)
	s.Put(b.content(content))
	n, again := b.onDisk()
	check.That(t, n == 1 && again == size, "%d files, %d bytes and then %d for one content", n, size, again)
	for _, later := range []time.Duration{31 * time.Hour, 2 * time.Hour} { // from its second time on
		b.now = b.now.Add(later)
		s = b.open(kept.Options{Age: 32 * time.Hour})
		for range kept.FirstRecount {
			s.Put(b.content(random(10)))
		}
		b.wantKept(s, content, later == 31*time.Hour)
	}
}

// TestPacksGoOn: a process adds to what one before it began, and not to what another is adding to.
func TestPacksGoOn(t *testing.T) {
	b := newBench(t)
	var contents [][]byte
	for range 5 {
		contents = append(contents, random(100))
		s := b.open(kept.Options{})
		s.Put(b.content(contents[len(contents)-1]))
		s.Close()
	}
	b.pack()
	one, two := b.open(kept.Options{}), b.open(kept.Options{})
	for i := range 10 {
		contents = append(contents, random(100))
		[]*kept.Store{one, two}[i%2].Put(b.content(contents[len(contents)-1]))
	}
	check.Equal(t, len(b.packs()), 2, "packs of two processes")
	for _, content := range contents {
		b.wantKept(one, content, true)
		b.wantKept(b.open(kept.Options{}), content, true)
	}
}

// TestPacksFill: what one pack has no place for goes to the next, and all of it is found.
func TestPacksFill(t *testing.T) {
	b := newBench(t)
	s := b.open(kept.Options{})
	var all []kept.Content
	for i := range 5000 {
		all = append(all, b.content(fmt.Appendf(nil, "content %d\n", i)))
	}
	check.OK(t, s.Put(all...))
	check.Equal(t, len(b.packs()), 2, "packs")
	for _, one := range all {
		b.wantKept(s, one.Bytes, true)
	}
}

// TestDeletedWhileInUse deletes the whole cache again and again under writers.
func TestDeletedWhileInUse(t *testing.T) {
	b := newBench(t)
	s := b.open(kept.Options{})
	stop := make(chan struct{})
	var deleting sync.WaitGroup
	deleting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				os.RemoveAll(filepath.Join(b.dir, ".orchestration/cache"))
			}
		}
	})
	for range 500 {
		c := random(100)
		s.Put(b.content(c))
	}
	close(stop)
	deleting.Wait()
	last := []byte("after it all\n")
	s.Put(b.content(last))
	b.wantKept(s, last, true)
}

func TestTwoStoresOnOneWorkspace(t *testing.T) {
	b := newBench(t)
	one, two := b.open(kept.Options{}), b.open(kept.Options{})
	var contents [][]byte
	for i := range 200 {
		contents = append(contents, []byte(strings.Repeat(fmt.Sprint(i), 50)))
	}
	var both sync.WaitGroup
	for _, s := range []*kept.Store{one, two} {
		both.Go(func() {
			for _, c := range contents {
				s.Put(b.content(c))
			}
		})
	}
	both.Wait()
	for _, c := range contents {
		b.wantKept(one, c, true)
	}
}

func TestNotKept(t *testing.T) {
	b := newBench(t)
	b.put(kept.Options{Largest: 10}, []byte("more than ten bytes"))
	s := kept.Open(b.root, kept.Options{})
	s.Put(b.content([]byte("size 0")))
	n, _ := b.onDisk()
	check.That(t, n == 0, "%d files", n)
	bare := t.TempDir()
	root := check.Value(os.OpenRoot(bare))(t)
	defer root.Close()
	none := kept.Open(root, kept.Options{Size: 1 << 20})
	none.Put(b.content([]byte("none")))
	entries, _ := os.ReadDir(bare)
	check.That(t, len(entries) == 0, "a directory without .orchestration got %v", entries)
}
