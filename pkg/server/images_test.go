package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/images"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// keptImages counts the contents that the ledger's records name, and how many
// of them are kept. What is kept must be what the record says.
func keptImages(t *testing.T, dir string, kinds ...ledger.Kind) (named, kept int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	found, err := l.Query(context.Background(), ledger.Filter{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	store := images.Open(root, images.Options{})
	for _, e := range found.Entries {
		if e.Detail["of"] == string(ledger.KindCommand) {
			continue // what was overwritten by a command that was killed may not have been on disk yet
		}
		for _, c := range e.Changes {
			for oid, hash := range map[string]string{c.BeforeOID: c.Before, c.AfterOID: c.After} {
				if oid == "" {
					continue
				}
				named++
				content, ok := store.Get(oid)
				if !ok {
					t.Logf("%s %s %s: %s is not kept", e.Kind, c.Op, c.Path, oid)
					continue
				}
				kept++
				if string(workspace.HashOf(content)) != hash {
					t.Errorf("%s: the kept content is not the recorded one", c.Path)
				}
			}
		}
	}
	return named, kept
}

func TestContentsOfChangesAreKept(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir).connect()
	b.selects("INT-001")
	b.ok("read_file", args{"path": "src/a.txt"})
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "one\nTWO\n"})
	b.ok("write_to_file", args{"path": "src/new.txt", "content": "new\n"})
	b.ok("edit_file", args{"path": "src/new.txt", "old_string": "new", "new_string": "newer"})
	b.ok("apply_patch", args{"patch": patch("*** Update File: src/new.txt", "*** Move to: src/moved.txt", "@@", "-newer", "+newest", "*** Delete File: src/a.txt")})
	b.hangUp()
	b.close()
	if named, kept := keptImages(t, dir); named != 8 || kept != named {
		t.Errorf("%d of %d contents are kept, want 8", kept, named)
	}
}

func TestNoContentsAreKeptWhereNoneAreWanted(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir, func(o *server.Options) { o.Settings.Undo.KeepSize = 0 }).connect()
	b.selects("INT-001")
	b.ok("write_to_file", args{"path": "src/new.txt", "content": "new\n"})
	b.hangUp()
	b.close()
	if _, err := os.Stat(filepath.Join(dir, ".orchestration/cache/images")); err == nil {
		t.Error("images are kept with undo.keep_size 0")
	}
}

// TestContentsAreKeptWhenTheAnswerIsThere asks as another process would, right
// behind each answer and while the server runs.
func TestContentsAreKeptWhenTheAnswerIsThere(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir).connect()
	b.selects("INT-001")
	b.ok("read_file", args{"path": "src/a.txt"})
	for i, call := range []struct {
		tool string
		with args
	}{
		{"write_to_file", args{"path": "src/a.txt", "content": "one\nTWO\n"}},
		{"write_to_file", args{"path": "src/new.txt", "content": "new\n"}},
		{"edit_file", args{"path": "src/new.txt", "old_string": "new", "new_string": "newer"}},
		{"apply_diff", args{"path": "src/new.txt", "diff": "<<<<<<< SEARCH\nnewer\n=======\nnewest\n>>>>>>> REPLACE"}},
		{"apply_patch", args{"patch": patch("*** Update File: src/new.txt", "*** Move to: src/moved.txt", "@@", "-newest", "+moved", "*** Delete File: src/a.txt")}},
		{"execute_command", args{"command": "echo more >> src/moved.txt; echo made > src/made.txt"}},
	} {
		before, _ := keptImages(t, dir)
		b.ok(call.tool, call.with)
		if named, kept := keptImages(t, dir); kept != named || named <= before {
			t.Errorf("call %d, %s: %d of %d contents are kept, %d were named before", i, call.tool, kept, named, before)
		}
	}
}

// Where contents cannot be kept the change is made all the same, and the answer says so.
func TestAnswerSaysThatContentsCannotBeKept(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/cache/images", "in the way")
	b := start(t, dir).connect()
	b.selects("INT-001")
	for tool, with := range map[string]args{
		"write_to_file":   {"path": "src/new.txt", "content": "new\n"},
		"execute_command": {"command": "echo made > src/made.txt"},
	} {
		if r := b.ok(tool, with); !strings.Contains(fmt.Sprint(r.Object), "could not be kept") {
			t.Errorf("%s: %v", tool, r.Object)
		}
	}
}
