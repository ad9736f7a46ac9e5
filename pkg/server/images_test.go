package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// keptImages counts the contents that the ledger's records name, and how many
// of them are kept. What is kept must be what the record says.
func keptImages(t *testing.T, dir string, kinds ...record.Kind) (named, stored int) {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(t)
	defer l.Close(context.Background())
	found := check.Value(l.Query(context.Background(), record.Filter{Kinds: kinds}))(t)
	store := kept.Open(root, kept.Options{})
	for _, e := range found.Entries {
		if e.Detail["of"] == string(record.KindCommand) {
			continue // what was overwritten by a command that was killed may not have been on disk yet
		}
		for _, c := range e.Changes {
			for oid, hash := range map[string]string{c.Before.OID: c.Before.Hash, c.After.OID: c.After.Hash} {
				if oid == "" {
					continue
				}
				named++
				content, ok := store.Get(oid)
				if !ok {
					t.Logf("%s %s %s: %s is not kept", e.Kind, c.Op, c.Path, oid)
					continue
				}
				stored++
				check.Equal(t, string(workspace.HashOf(content)), hash, "%s: the kept content is not the recorded one", c.Path)
			}
		}
	}
	return named, stored
}

func TestContentsOfChangesAreKept(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, _ := start(t, dir).under("INT-001")
	b.OK("read_file", args{"path": "src/a.txt"})
	b.OK("write_to_file", args{"path": "src/a.txt", "content": "one\nTWO\n"})
	b.OK("write_to_file", args{"path": "src/new.txt", "content": "new\n"})
	b.OK("edit_file", args{"path": "src/new.txt", "old_string": "new", "new_string": "newer"})
	b.OK("apply_patch", args{"patch": patch("*** Update File: src/new.txt", "*** Move to: src/moved.txt", "@@", "-newer", "+newest", "*** Delete File: src/a.txt")})
	b.hangUp()
	b.close()
	named, kept := keptImages(t, dir)
	check.That(t, named == 8 && kept == named, "%d of %d contents are kept, want 8", kept, named)
}

func TestNoContentsAreKeptWhereNoneAreWanted(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, _ := start(t, dir, func(o *server.Options) { o.Settings.Undo.KeepSize = 0 }).under("INT-001")
	b.OK("write_to_file", args{"path": "src/new.txt", "content": "new\n"})
	b.hangUp()
	b.close()
	_, err := os.Stat(filepath.Join(dir, ".orchestration/cache/images"))
	check.That(t, err != nil, "images are kept with undo.keep_size 0")
}

// TestContentsAreKeptWhenTheAnswerIsThere asks as another process would, right behind each answer and while the server runs.
func TestContentsAreKeptWhenTheAnswerIsThere(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, _ := start(t, dir).under("INT-001")
	b.OK("read_file", args{"path": "src/a.txt"})
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
		b.OK(call.tool, call.with)
		named, kept := keptImages(t, dir)
		check.That(t, kept == named && named > before,
			"call %d, %s: %d of %d contents are kept, %d were named before", i, call.tool, kept, named, before)
	}
}

// Where contents cannot be kept the change is made all the same, and the answer says so.
func TestAnswerSaysThatContentsCannotBeKept(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/cache/images", "in the way")
	b, _ := start(t, dir).under("INT-001")
	for tool, with := range map[string]args{
		"write_to_file":   {"path": "src/new.txt", "content": "new\n"},
		"execute_command": {"command": "echo made > src/made.txt"},
	} {
		r := b.OK(tool, with)
		check.That(t, strings.Contains(fmt.Sprint(r.Object), "could not be kept"), "%s: %v", tool, r.Object)
	}
}

// intent_map.md names what any tool changed under INTENT_EVOLUTION, sorted
// under its intent, and keeps what people wrote around it.
func TestIntentMap(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	one, five := b.Selects("INT-001"), b.Selects("INT-005")
	b.OK("write_to_file", args{"session": one, "path": "src/z.txt", "content": "1\n"})
	b.OK("edit_file", args{"session": one, "path": "src/a.txt", "old_string": "one", "new_string": "1"})
	b.OK("apply_diff", args{"session": five, "path": "docs/other.md", "diff": "<<<<<<< SEARCH\n# Other\n=======\n# Its\n>>>>>>> REPLACE"})
	b.OK("apply_patch", args{"session": five, "patch": patch("*** Add File: p.txt", "+x")})
	b.OK("write_to_file", args{"session": five, "path": "refactored.zig", "content": "x", "mutation_class": "AST_REFACTOR"})
	b.hangUp()
	b.close() // writes what is pending
	text := b.read(".orchestration/intent_map.md")
	first, second := strings.Index(text, "## INT-001: Build Weather API"), strings.Index(text, "## INT-005: Everything")
	a, z := strings.Index(text, "`src/a.txt`"), strings.Index(text, "`src/z.txt`")
	check.That(t, first >= 0 && second >= first && a >= first && z >= a && z <= second, "the map is not in order:\n%s", text)
	for _, path := range []string{"docs/other.md", "p.txt"} {
		at := strings.Index(text, "- `"+path+"`")
		check.That(t, at >= second && strings.Contains(text[at:], time.Now().UTC().Format("2006-01-02")),
			"%s is not in the map with its date:\n%s", path, text)
	}
	check.That(t, !strings.Contains(text, "refactored.zig"), "a refactor is in the map:\n%s", text)

	check.Write(t, b.dir, ".orchestration/intent_map.md", "# Ours\nprose before\n\n"+text+"\nprose behind\n")
	b = start(t, b.dir).connect()
	b.Selects("INT-005")
	b.OK("write_to_file", args{"path": "q.txt", "content": "x"})
	b.hangUp()
	b.close()
	text = b.read(".orchestration/intent_map.md")
	for _, part := range []string{"prose before", "prose behind", "`q.txt`", "`p.txt`"} {
		check.That(t, strings.Contains(text, part), "the map lost %s:\n%s", part, text)
	}
}

// The class of a record is the declared one where there is no parser; a session's declaration holds for calls that make none.
func TestMutationClassOfRecords(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	s := b.OK("select_active_intent", args{"intent_id": "INT-005", "mutation_class": "AST_REFACTOR"}).Str("session")
	for path, c := range map[string]struct{ declared, want string }{"a.zig": {"", "AST_REFACTOR"}, "b.zig": {"INTENT_EVOLUTION", "INTENT_EVOLUTION"}, "c.zig": {"AST_REFACTOR", "AST_REFACTOR"}, "new.txt": {"AST_REFACTOR", "INTENT_EVOLUTION"}} {
		arguments := args{"session": s, "path": path, "content": "x"}
		if c.declared != "" {
			arguments["mutation_class"] = c.declared
		}
		r := b.OK("write_to_file", arguments)
		check.Equal(t, r.Str("mutation_class"), c.want, "%s", path)
		b.wantRecord(`"path":"`+path+`"`, `"mutation_class":"`+c.want+`"`, `"evidence":"`)
	}
}

// A change to the very same bytes changes nothing and makes no record.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	b, _ := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Durability = settings.OS }).under("INT-001")
	b.OK("read_file", args{"path": "src/a.txt"})
	path := filepath.Join(b.dir, "src/a.txt")
	before := check.Value(os.Stat(path))(t)
	r := b.OK("write_to_file", args{"path": "src/a.txt", "content": "one\ntwo\nthree\n"})
	after, err := os.Stat(path)
	check.That(t, err == nil && os.SameFile(before, after) && after.ModTime().Equal(before.ModTime()), "the file was replaced by itself")
	check.That(t, r.Str("operation") == "unchanged" && r.Str("record_id") == "", "%v", r.Object)
	for _, line := range b.ledgerLines() {
		check.That(t, !strings.Contains(line, `"kind":"mutation"`), "a record of nothing: %s", line)
	}
}

// The map made anew from the ledger is the map that the server kept, with the
// statuses of now; doing it again changes nothing, and prose stays.
func TestIntentMapFromTheLedger(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	one, five := b.Selects("INT-001"), b.Selects("INT-005")
	b.OK("write_to_file", args{"session": one, "path": "src/z.txt", "content": "1\n"})
	b.OK("apply_patch", args{"session": five, "patch": patch("*** Add File: p`q.txt", "+x")})
	b.OK("write_to_file", args{"session": five, "path": "refactored.zig", "content": "x", "mutation_class": "AST_REFACTOR"})
	b.OK("update_intent", args{"session": five, "intent_id": "INT-005", "status": "DONE"})
	b.hangUp()
	b.close()
	kept := b.read(".orchestration/intent_map.md")
	for _, part := range []string{"## INT-005: Everything\n\nDONE, last change 20", "## INT-001: Build Weather API\n\nIN_PROGRESS, last change 20"} {
		check.That(t, strings.Contains(kept, part), "the map lacks %q:\n%s", part, kept)
	}
	again := start(t, b.dir)
	defer again.close()
	for _, before := range []string{kept, "# Ours\n\n" + kept + "\ntail", strings.ReplaceAll(kept, "z.txt", "forged.txt")} {
		check.Write(t, b.dir, ".orchestration/intent_map.md", before)
		entries, err := again.server.WriteIntentMap(t.Context())
		check.Must(t, err == nil && len(entries) == 2 && entries[1].IntentID == "INT-005" && len(entries[1].Files) == 1, "%+v %v", entries, err)
		check.Equal(t, again.read(".orchestration/intent_map.md"), strings.ReplaceAll(before, "forged.txt", "z.txt"), "got:\n")
	}
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents: [")
	if _, err := again.server.WriteIntentMap(t.Context()); err == nil {
		t.Error("a map of intents that cannot be read")
	}
}
