package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// between runs f when the next call has been checked and not yet executed:
// where a foreign program would slip in.
func (b *bench) between(f *func()) {
	b.server.AddPreHook(hooks.PreFunc("between", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		if *f != nil {
			(*f)()
			*f = nil
		}
		return hooks.Allow(), nil
	}))
}

// The expected content is what is there at the moment of the swap, not only
// at the check: who slips in between loses nothing, and the agent is told.
func TestForeignWritersBetweenCheckAndSwap(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	var slip func()
	b.between(&slip)
	b.connect()
	b.selects("INT-005")
	path := filepath.Join(b.dir, "src/a.txt")
	for name, c := range map[string]struct {
		tool string
		args args
		slip func()
		want map[string]string
		code string
	}{
		"modified": {"edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2"},
			func() { write(t, b.dir, "src/a.txt", "foreign\n") }, map[string]string{"src/a.txt": "foreign\n"}, "STALE_FILE"},
		"replaced": {"write_to_file", args{"path": "src/a.txt", "content": "mine\n"}, func() {
			write(t, b.dir, "src/new", "foreign\n")
			if err := os.Rename(filepath.Join(b.dir, "src/new"), path); err != nil {
				t.Fatal(err)
			}
		}, map[string]string{"src/a.txt": "foreign\n"}, "STALE_FILE"},
		"created": {"write_to_file", args{"path": "src/fresh.txt", "content": "mine\n"},
			func() { write(t, b.dir, "src/fresh.txt", "foreign\n") }, map[string]string{"src/fresh.txt": "foreign\n"}, "STALE_FILE"},
		"moved onto": {"apply_patch", args{"patch": patch("*** Update File: src/a.txt", "*** Move to: src/to.txt")},
			func() { write(t, b.dir, "src/to.txt", "foreign\n") }, map[string]string{"src/to.txt": "foreign\n", "src/a.txt": "one\ntwo\nthree\n"}, "STALE_FILE"},
		"the third of a patch": {"apply_patch", args{"patch": patch("*** Add File: src/p", "+x", "*** Update File: docs/other.md", "@@", "-# Other", "+# Its", "*** Update File: src/a.txt", "@@", "-one", "+1")},
			func() { write(t, b.dir, "src/a.txt", "foreign\n") }, map[string]string{"src/a.txt": "foreign\n", "src/p": "", "docs/other.md": "# Other\n"}, "STALE_FILE"},
	} {
		write(t, b.dir, "src/a.txt", "one\ntwo\nthree\n")
		b.ok("read_file", args{"path": "src/a.txt"})
		slip = c.slip
		r := b.refused(c.code, c.tool, c.args)
		if !strings.Contains(r.Text, "foreign") {
			t.Errorf("%s: the refusal does not show what is there: %s", name, r.Text)
		}
		b.holds(c.want)
		for _, made := range []string{"src/fresh.txt", "src/to.txt"} {
			_ = os.Remove(filepath.Join(b.dir, made))
		}
	}
	left, err := filepath.Glob(filepath.Join(b.dir, "src/.orchestra-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}

// A directory that is swapped for a link after the check is not entered.
func TestDirectorySwappedForALink(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	var slip func()
	b.between(&slip)
	b.connect()
	b.selects("INT-001")
	outside := t.TempDir()
	write(t, outside, "a.txt", "outside\n")
	for _, arguments := range []args{{"path": "src/a.txt", "old_string": "one", "new_string": "1"}, {"path": "src/n.txt", "content": "x"}} {
		slip = func() {
			if err := os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "was")); err != nil {
				t.Fatal(err)
			}
			link(t, outside, filepath.Join(b.dir, "src"))
		}
		tool := "edit_file"
		if arguments["content"] != nil {
			tool = "write_to_file"
		}
		b.refused("BUSY", tool, arguments)
		if got, err := os.ReadFile(filepath.Join(outside, "a.txt")); err != nil || string(got) != "outside\n" {
			t.Fatalf("outside: %q %v", got, err)
		}
		if _, err := os.Stat(filepath.Join(outside, "n.txt")); err == nil {
			t.Fatal("a file was made outside")
		}
		if err := os.Remove(filepath.Join(b.dir, "src")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(b.dir, "was"), filepath.Join(b.dir, "src")); err != nil {
			t.Fatal(err)
		}
	}
	slip = func() {
		if err := os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "was")); err != nil {
			t.Fatal(err)
		}
		link(t, outside, filepath.Join(b.dir, "src"))
	}
	r := b.call("execute_command", args{"command": "pwd -P; touch made", "cwd": "src"})
	if _, err := os.Stat(filepath.Join(outside, "made")); err == nil {
		t.Errorf("a command ran outside: %s", r.Text)
	}
}
