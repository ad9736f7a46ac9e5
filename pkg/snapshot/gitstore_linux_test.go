package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestGitStore makes one change each to a store, after the state before was known.
func TestGitStore(t *testing.T) {
	const object, pack = ".git/objects/ab/cdef", ".git/objects/pack/p.pack"
	for _, c := range []struct {
		name   string
		change func(top string) error
		want   []string // of all
		packs  []string // of packs that others have
	}{
		{name: "nothing", change: func(string) error { return nil }},
		{name: "a new object", change: func(top string) error { return os.WriteFile(top+"/.git/objects/ab/new", nil, 0o444) }},
		{name: "an object is written", change: func(top string) error { return os.WriteFile(top+"/"+object, []byte("x"), 0o444) }, want: []string{object}},
		{name: "an object is removed", change: func(top string) error { return os.Remove(top + "/" + object) }, want: []string{object + " gone"}},
		{name: "its times are set back", change: func(top string) error {
			return os.Chtimes(top+"/"+object, time.Unix(1, 0), time.Unix(1, 0))
		}, want: []string{object}},
		{name: "a directory is replaced", change: func(top string) error {
			if err := os.Rename(top+"/.git/objects/ab", top+"/moved"); err != nil {
				return err
			}
			return os.Symlink("../../moved", top+"/.git/objects/ab")
		}, want: []string{".git/objects/ab gone"}},
		{name: "all of it is removed", change: func(top string) error { return os.RemoveAll(top + "/.git/objects") }, want: []string{".git/objects gone"}},
		{name: "a log is written", change: func(top string) error { return os.WriteFile(top+"/.git/logs/HEAD", []byte("x"), 0o644) },
			want: []string{".git/logs/HEAD"}},
		{name: "a branch of a remote is moved", change: func(top string) error {
			return os.WriteFile(top+"/.git/refs/remotes/origin/main", []byte("x"), 0o644)
		}, want: []string{".git/refs/remotes/origin/main"}},
		{name: "a shared pack is written", change: func(top string) error { return os.WriteFile(top+"/"+pack, []byte("x"), 0o444) },
			want: []string{pack + " 2 names"}, packs: []string{pack + " 2 names"}},
		{name: "a shared pack gets one more name", change: func(top string) error { return os.Link(top+"/"+pack, top+"/linked") },
			want: []string{pack + " 3 names"}},
		{name: "a shared pack is replaced", change: func(top string) error { return os.Remove(top + "/" + pack) }, want: []string{pack + " gone"}},
		{name: ".git is renamed", change: func(top string) error { return os.Rename(top+"/.git", top+"/g") }, want: []string{".git gone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			for _, name := range []string{object, pack, ".git/objects/cd/ef", ".git/logs/HEAD", ".git/refs/remotes/origin/main"} {
				b.write(name, "content")
			}
			b.must(os.Link(filepath.Join(b.dir, pack), filepath.Join(t.TempDir(), "pack")))
			before := b.keeper.GitStore()
			b.must(c.change(b.dir))
			var got, packs []string
			for _, change := range before.Changes() {
				text := change.Path
				if change.Gone {
					text += " gone"
				}
				if change.Links > 1 {
					text += fmt.Sprintf(" %d names", change.Links)
				}
				got = append(got, text)
			}
			for _, change := range before.Packs() {
				packs = append(packs, fmt.Sprintf("%s %d names", change.Path, change.Links))
			}
			if !slices.Equal(got, c.want) || !slices.Equal(packs, c.packs) {
				t.Errorf("%q, want %q; packs %q, want %q", got, c.want, packs, c.packs)
			}
		})
	}
}
