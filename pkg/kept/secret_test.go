//go:build unix

package kept_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
)

// rules are what is secret; "" is nothing, and not readable where it is unknown.
type rules struct {
	prefix  string
	unknown bool
}

func (r *rules) secrets() (is func(path string) bool, digest string) {
	switch {
	case r.unknown:
		return func(string) bool { return true }, ""
	case r.prefix == "":
		return nil, "none"
	}
	prefix := r.prefix
	return func(path string) bool { return strings.HasPrefix(path, prefix) }, "rules " + prefix
}

// held is a store under rules, and one that another process would open.
func (b *bench) held(r *rules) *kept.Store { return b.open(kept.Options{Secrets: r.secrets}) }

func TestKeepsNothingOfSecretPaths(t *testing.T) {
	b, r := newBench(t), &rules{prefix: "s/"}
	s := b.held(r)
	open, secret, both, moved := random(100), []byte("secret"), []byte("both"), []byte("moved")
	s.Put(b.content(open, "a"), b.content(secret, "s/a"), b.content(both, "a", "s/b"), b.content(moved, "", "s/c"))
	b.wantKept(s, open, true)
	for _, content := range [][]byte{secret, both, moved} {
		b.wantKept(s, content, false)
	}
	check.That(t, b.has(open), "the test looks for bytes that are not there")
	s.Deny(b.id(open))
	check.That(t, !b.has(open), "its bytes are still there")
	s.Put(b.content(open, "b"))
	b.wantKept(s, open, false)
	r.unknown = true
	s.Put(b.content([]byte("while nothing is known"), "a"))
	b.wantKept(s, []byte("while nothing is known"), false)
}

// TestRulesThatComeLater takes contents away that were stored under other rules: by this process and by another.
func TestRulesThatComeLater(t *testing.T) {
	for name, ask := range map[string]func(b *bench, s *kept.Store, r *rules){
		"asked":          func(_ *bench, s *kept.Store, _ *rules) { s.Obey() },
		"put again":      func(b *bench, s *kept.Store, _ *rules) { s.Put(b.content([]byte("x"), "x")) },
		"put nothing":    func(_ *bench, s *kept.Store, _ *rules) { s.Put() },
		"another opened": func(b *bench, _ *kept.Store, r *rules) { b.held(r).Obey() },
	} {
		t.Run(name, func(t *testing.T) {
			b, r := newBench(t), &rules{}
			s := b.held(r)
			stays, goes, twice, many, half := random(100), random(100), random(100), random(100), random(100)
			s.Put(b.content(stays, "a"), b.content(goes, "s/a"), b.content(twice, "a", "b"))
			b.held(r).Put(b.content(twice, "s/b")) // another process adds a path
			for i := range 40 {
				s.Put(b.content(many, fmt.Sprint("path ", i)))
			}
			left := filepath.Join(filepath.Dir(b.packs()[0]), ".new-KILLED")
			check.OK(t, os.WriteFile(left, []byte("goes"), 0o600))
			// Of a process that was killed before its content had a slot.
			killed := filepath.Join(filepath.Dir(left), "KILLED.pack")
			check.OK(t, os.WriteFile(killed, append(make([]byte, kept.TableSize), half...), 0o600))
			check.That(t, b.has(goes) && b.has(stays) && b.has(half), "the test looks for bytes that are not there")
			r.prefix = "s/"
			ask(b, s, r)
			b.wantKept(s, stays, true)
			for _, content := range [][]byte{goes, twice, many} {
				b.wantKept(s, content, false)
			}
			_, err := os.Stat(left)
			check.That(t, err != nil && !b.has(half), "what a killed process was writing is still there")
			check.That(t, b.has(stays) && !b.has(goes) && !b.has(twice) && !b.has(many), "bytes are there that are secret, or are not that must be")
			s.Put(b.content(goes, "a"))
			if name != "another opened" { // which this one cannot know
				b.wantKept(s, goes, false) // the content of a secret, under another path
			}
			check.That(t, !b.held(r).Obey(), "the rules are the same, and it looks again")
		})
	}
}

// TestStoreOfAnEarlierVersion has a file for each content, and no rules: they may be anything.
func TestStoreOfAnEarlierVersion(t *testing.T) {
	b, r := newBench(t), &rules{prefix: "s/"}
	file := filepath.Join(b.dir, ".orchestration/cache/images", b.id([]byte("old"))+".zst")
	check.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, kept.Pack([]byte("old")), 0o600)))
	b.held(r).Obey()
	_, err := os.Stat(file)
	check.Is(t, err, fs.ErrNotExist, "it is still there")
}

// TestPacksThatNobodyWrote are removed, where overwriting what they claim to have would take for ever.
func TestPacksThatNobodyWrote(t *testing.T) {
	for name, spoil := range map[string]func(pack string) error{
		"very long":       func(f string) error { return errors.Join(kept.Spoil(f, nil, 1<<39), os.Truncate(f, 1<<40)) },
		"one place twice": func(f string) error { return kept.Spoil(f, make([]byte, 1000), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			b, r := newBench(t), &rules{}
			check.OK(t, b.held(r).Put(b.content(random(10), "s/a"), b.content(random(10), "s/b")))
			check.OK(t, spoil(b.pack()))
			r.prefix = "s/"
			check.That(t, b.held(r).Obey(), "it did not look")
			check.Equal(t, len(b.packs()), 0, "packs")
		})
	}
}

// TestRulesSpoilt: what says under which rules the store is held cannot keep a content from being taken away.
func TestRulesSpoilt(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"gone":        os.Remove,
		"empty":       func(f string) error { return os.WriteFile(f, nil, 0o600) },
		"other":       func(f string) error { return os.WriteFile(f, []byte("none"), 0o600) },
		"huge":        func(f string) error { return os.Truncate(f, 100<<30) },
		"a link":      func(f string) error { return errors.Join(os.Remove(f), os.Symlink("/dev/zero", f)) },
		"a FIFO":      func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) },
		"a directory": func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			b, r := newBench(t), &rules{}
			goes, stays := []byte("goes"), []byte("stays")
			b.held(r).Put(b.content(goes, "s/a"), b.content(stays, "a"))
			r.prefix = "s/"
			check.OK(t, spoil(filepath.Join(filepath.Dir(b.pack()), "rules")))
			s := b.held(r)
			s.Obey()
			b.wantKept(s, goes, false)
			b.wantKept(s, stays, true)
		})
	}
}

// FuzzHeader: a file that claims paths gives them, or is one of which they are not known, and never more than the bound.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("P*M\x18\x03\x00\x00\x00a\x00b"), "s/")
	f.Add([]byte("P*M\x18\xff\xff\xff\xff"), "")
	f.Fuzz(func(t *testing.T, file []byte, path string) {
		p := kept.ReadPaths(bytes.NewReader(file))
		check.That(t, len(strings.Join(p, "\x00")) <= kept.MaxHeader, "%d bytes of paths", len(strings.Join(p, "\x00")))
		header := kept.Header(path)
		p = kept.ReadPaths(bytes.NewReader(append(header, file...)))
		check.That(t, len(header)-8 > kept.MaxHeader || strings.Join(p, "\x00") == path, "%q became %q", path, p)
	})
}
