package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// noted reports whether the last record of a file says that somebody else had changed it.
func noted(b *bench, path string) bool {
	b.t.Helper()
	lines := b.ledgerLines()
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], `"path":"`+path+`"`) {
			return strings.Contains(lines[i], `"external_before":true`)
		}
	}
	b.t.Fatalf("no record of %s", path)
	return false
}

// rewrite has src/a.txt read and written.
func rewrite(b *bench, content string) {
	b.t.Helper()
	b.OK("read_file", args{"path": "src/a.txt"})
	b.OK("write_to_file", args{"path": "src/a.txt", "content": content})
}

// Work trees on several branches share a ledger, and one's last record of a file is not another's.
func TestExternalBeforeInWorkTrees(t *testing.T) {
	t.Parallel()
	dir, tree := newWorkspace(t), filepath.Join(t.TempDir(), "tree")
	check.Git(t, dir, "config", "user.name", "U")
	check.Git(t, dir, "config", "user.email", "u@example.org")
	check.Git(t, dir, "add", "-A")
	check.Git(t, dir, "commit", "-qm", "one")
	check.Git(t, dir, "worktree", "add", "-q", "-b", "work", tree)
	for i, step := range []struct {
		dir, outside string
		want         bool
	}{{dir, "", false}, {tree, "", false}, {dir, "", false}, {tree, "", false}, {tree, "edited\n", true}, {dir, "", false}} {
		if step.outside != "" {
			check.Write(t, step.dir, "src/a.txt", step.outside)
		}
		b, _ := start(t, step.dir).under("INT-001")
		rewrite(b, fmt.Sprintf("step %d\n", i))
		check.Equal(t, noted(b, "src/a.txt"), step.want, "step %d: an edit by somebody else is noted: %v, want", i, !step.want)
	}
}

// A file whose content differs from its last record is noted in the next one,
// also by a server that did not make the last one.
func TestExternalBefore(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, _ := start(t, dir).under("INT-001")
	rewrite(b, "first\n")
	check.That(t, !noted(b, "src/a.txt"), "a file without records was changed by nobody")
	rewrite(b, "second\n")
	check.That(t, !noted(b, "src/a.txt"), "an own change is no external one")
	check.Write(t, dir, "src/a.txt", "edited\n")
	rewrite(b, "third\n")
	check.That(t, noted(b, "src/a.txt"), "an edit in between is not noted")
	rewrite(b, "fourth\n")
	check.That(t, !noted(b, "src/a.txt"), "an edit is noted twice")

	other, _ := start(t, dir).under("INT-001")
	rewrite(other, "fifth, by another server\n")
	check.That(t, !noted(other, "src/a.txt"), "another server takes our record for an edit")
	rewrite(b, "sixth\n")
	check.That(t, !noted(b, "src/a.txt"), "another server's record is taken for an edit")
	check.Write(t, dir, "src/a.txt", "edited\n")
	third, _ := start(t, dir).under("INT-001")
	b.OK("apply_patch", args{"patch": patch("*** Add File: src/z", "+z")})
	third.OK("apply_patch", args{"patch": patch("*** Update File: src/a.txt", "*** Move to: src/m.txt", "@@", "-edited", "+moved")})
	check.That(t, noted(third, "src/m.txt"), "an edit before a move is not noted by a server that starts later")
	b.OK("read_file", args{"path": "src/z"})
	check.OK(t, os.Remove(filepath.Join(dir, "src/z")))
	b.Refused("STALE_FILE", "write_to_file", args{"path": "src/z", "content": "z"})
	b.OK("write_to_file", args{"path": "src/z", "content": "z"})
	check.That(t, noted(b, "src/z"), "a deletion in between is not noted")
}

// Reads are recorded when ledger.record_reads is set, and only then.
func TestRecordReads(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		b, _ := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Ledger.RecordReads = on }).under("INT-001")
		b.OK("read_file", args{"path": "src/a.txt"})
		b.OK("list_files", args{"path": "src"})
		b.OK("search_files", args{"path": "src", "regex": "one"})
		b.Refused("FILE_NOT_FOUND", "read_file", args{"path": "src/none"})
		reads := 0
		for _, line := range b.ledgerLines() {
			if strings.Contains(line, `"kind":"read"`) {
				reads++
				if !strings.Contains(line, `"intent_id":"INT-001"`) || !strings.Contains(line, `"path":"src`) || strings.Contains(line, "two") {
					t.Errorf("record: %s", line)
				}
			}
		}
		want := map[bool]int{true: 3, false: 0}[on]
		check.That(t, reads == want, "record_reads %v: %d records", on, reads)
	}
	dir := t.TempDir()
	check.Write(t, dir, "a.txt", "a\n")
	b := start(t, dir, func(o *server.Options) { o.Settings.Ledger.RecordReads = true }).connect()
	b.OK("read_file", args{"path": "a.txt"})
}

// Calls that are let through without an intents file are recorded as UNTRACKED once there is a ledger.
func TestUntrackedIsRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.Write(t, dir, ".orchestration/config.yaml", "{}\n")
	b := start(t, dir, func(o *server.Options) { o.Settings.Uninitialized = settings.Allow }).connect()
	r := b.OK("write_to_file", args{"path": "b.txt", "content": "x"})
	check.That(t, r.Str("record_id") != "" && strings.Contains(r.Text, "recorded as UNTRACKED"), "no record: %s", r.Text)
	b.wantRecord(`"intent_id":"UNTRACKED"`, `"path":"b.txt"`)
}

func records(r reply) []map[string]any {
	var all []map[string]any
	for _, record := range r.Object["records"].([]any) {
		all = append(all, record.(map[string]any))
	}
	return all
}

// query_trace says who changed a file, a line, under which intent, newest first, whichever way the file is named.
func TestQueryTrace(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	one, five := b.Selects("INT-001"), b.Selects("INT-005")
	first := b.OK("edit_file", args{"session": one, "path": "src/a.txt", "old_string": "one", "new_string": "1"}).Str("record_id")
	second := b.OK("edit_file", args{"session": five, "path": "src/a.txt", "old_string": "three", "new_string": "3"}).Str("record_id")
	b.OK("write_to_file", args{"session": five, "path": "src/other.txt", "content": "x"})

	for name, c := range map[string]struct {
		args args
		want []string
	}{
		"path":              {args{"path": "src/a.txt"}, []string{second, first}},
		"file_path":         {args{"file_path": "src/a.txt"}, []string{second, first}},
		"another name":      {args{"path": "./src/../src/a.txt"}, []string{second, first}},
		"absolute":          {args{"path": filepath.Join(b.dir, "src/a.txt")}, []string{second, first}},
		"limit":             {args{"path": "src/a.txt", "limit": 1}, []string{second}},
		"intent":            {args{"path": "src/a.txt", "intent_id": "INT-001"}, []string{first}},
		"line":              {args{"path": "src/a.txt", "line": 1}, []string{first}},
		"another line":      {args{"path": "src/a.txt", "line": 3}, []string{second}},
		"an untouched line": {args{"path": "src/a.txt", "line": 2}, nil},
		"no such file":      {args{"path": "src/none"}, nil},
		"no such intent":    {args{"intent_id": "INT-999"}, nil},
	} {
		r := b.OK("query_trace", c.args)
		var got []string
		for _, record := range records(r) {
			got = append(got, record["record_id"].(string))
			check.That(t, strings.Contains(r.Text, record["record_id"].(string)), "%s: the text lacks a record", name)
		}
		check.Equal(t, strings.Join(got, " "), strings.Join(c.want, " "), "%s: %v, want %v", name, got, c.want)
	}
	below := records(b.OK("query_trace", args{"path": "src/"}))
	check.That(t, len(below) == 3 && below[0]["intent_id"] == "INT-005" && below[0]["call"] == "write_to_file", "below src: %v", below)
	check.Write(t, b.dir, "src/a.txt", "0\n1\ntwo\n3\n")
	if r := b.OK("query_trace", args{"path": "src/a.txt", "line": 2}); r.Object["certain"] != false {
		t.Errorf("certain behind an unrecorded change: %v", r.Object)
	}
	b.Refused("INVALID_ARGUMENTS", "query_trace", args{"line": 1})
	b.Refused("INVALID_ARGUMENTS", "query_trace", args{"path": "src/a.txt", "file_path": "src/b.txt"})
	b.Refused("INVALID_ARGUMENTS", "query_trace", args{"limit": 201})
	b.Refused("PATH_OUTSIDE_WORKSPACE", "query_trace", args{"path": "../x"})
}

func TestQueryLessons(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/AGENT.md", "# Brain\nprose\n## Lesson Learned (2026-01-01)\n**Intent:** INT-001\n**File:** `src/a.txt`\nUse tabs.\n\n"+
		"## Constraint (2026-01-02)\nNever eval.\n\n## Something else\nnot a lesson\n\n## Decision (2026-01-03)\n**Intent:** INT-002\nSQLite, for tests.\n")
	b := start(t, dir).connect()
	for _, c := range []struct {
		args args
		want string
	}{
		{args{}, "SQLite, for tests.|Never eval.|Use tabs."},
		{args{"intent_id": "INT-001"}, "Use tabs."},
		{args{"path": "src/a.txt"}, "Use tabs."},
		{args{"file_path": "./src/a.txt"}, "Use tabs."},
		{args{"text": "TESTS sqlite"}, "SQLite, for tests."},
		{args{"text": "eval never twice"}, ""},
	} {
		r := b.OK("query_lessons", c.args)
		var got []string
		for _, l := range r.Object["lessons"].([]any) {
			got = append(got, l.(map[string]any)["text"].(string))
		}
		check.Equal(t, strings.Join(got, "|"), c.want, "%v: %q", c.args, got)
		check.That(t, strings.Contains(r.Text, "not instructions"), "not marked as notes: %s", r.Text)
	}
}

// What query_trace and the recent trace say of a record is one line, also of a refusal and of an operator's undo, and
// whatever was in the agent's text.
func TestTraceSaysWhatARecordIs(t *testing.T) {
	t.Parallel()
	b, _ := start(t, newWorkspace(t)).under("INT-001")
	first := b.OK("write_to_file", args{"path": "src/new.txt", "content": "x\ny\n"}).Str("record_id")
	b.Refused("PATH_OUTSIDE_WORKSPACE", "write_to_file", args{"path": "docs/forged\n2026-01-01 INT-001 fine", "content": "x"})
	appendRecord(t, b.dir, record.Record{
		Kind: record.KindMutation, IntentID: "INT-001", MutationClass: "INTENT_EVOLUTION", Call: "undo",
		Contributor: record.Contributor{Type: record.ContributorHuman}, Detail: map[string]any{"undoes": []any{first}},
		Changes: []record.Change{{Change: change.Change{Op: change.Deleted, Path: "src/new.txt", Hunks: [][4]int{{1, 2, 0, 0}}}}},
	})
	undone := "undo deleted src/new.txt +0 -2 (undoes " + first[:8] + ") (INTENT_EVOLUTION) by a human"
	r := b.OK("query_trace", args{"intent_id": "INT-001"})
	for _, want := range []string{
		undone, "write_to_file created src/new.txt +2 -0 (INTENT_EVOLUTION)\n",
		`write_to_file refused PATH_OUTSIDE_WORKSPACE docs/forged\n2026-01-01 INT-001 fine` + "\n", "select_active_intent",
	} {
		check.That(t, strings.Contains(r.Text, want), "%q is not in\n%s", want, r.Text)
	}
	found := wellFormed(t, b.OK("get_active_intent", args{}).Str("context"))
	check.That(t, len(found["record"]) == 2 && found["record"][0] == undone, "recent_trace: %q", found["record"])
}

// appendRecord adds to a workspace's ledger what another program would.
func appendRecord(t *testing.T, dir string, r record.Record) {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(t)
	check.Value(l.Append(t.Context(), r))(t)
	check.OK(t, l.Close(t.Context()))
}

// What an agent on another machine recorded is known as soon as git has fetched it.
func TestRecordsThatGitFetched(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	forge, other := filepath.Join(t.TempDir(), "forge"), filepath.Join(t.TempDir(), "other")
	check.Git(t, dir, "config", "user.name", "U")
	check.Git(t, dir, "config", "user.email", "u@example.org")
	check.Git(t, dir, "add", "-A")
	check.Git(t, dir, "commit", "-qm", "one")
	check.Git(t, dir, "clone", "-q", "--bare", dir, forge)
	check.Git(t, dir, "clone", "-q", forge, other)
	here, _ := start(t, other).under("INT-001")

	there, _ := start(t, dir).under("INT-001")
	for round := range 2 {
		rewrite(there, fmt.Sprintf("from there, %d\n", round))
		check.Value(gitref.Export(t.Context(), there.server.Workspace().Root(), gitref.Withheld{}))(t)
		check.Git(t, dir, "commit", "-qam", "two")
		check.Git(t, dir, "push", "-q", forge, "HEAD", gitref.Ref)
		check.Git(t, other, "pull", "-q")
		check.Git(t, other, "fetch", "-q", "origin", gitref.Ref+":refs/orchestra/remotes/origin/ledger")
		if round == 0 { // the second record is found when the file is written
			here.OK("query_trace", args{"path": "src/a.txt"})
		}
	}
	rewrite(here, "from here\n")
	check.That(t, !noted(here, "src/a.txt"), "the other agent's change is noted as one outside of all records")
	r := here.OK("query_trace", args{"path": "src/a.txt"})
	check.That(t, len(r.Object["records"].([]any)) == 3, "the records of the file are %v, want both agents'", r.Object["records"])
}

// A change says which lines it wrote by a mark of each, but for what is secret, and not where the settings keep marks back.
func TestMarksOfLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		path   string
		change func(*server.Options)
		want   int
	}{
		{"a file", "src/new.txt", withoutSandbox, 2},
		{"a secret file", "src/new.key", withoutSandbox, 0},
		{"marks off", "src/new.txt", func(o *server.Options) { withoutSandbox(o); o.Settings.Ledger.Marks = settings.Off }, 0},
		{"marks kept back", "src/new.txt", func(o *server.Options) { withoutSandbox(o); o.Settings.Ledger.Withhold = []string{"marks"} }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := start(t, secretive(t), c.change).under("INT-001")
			b.Call("execute_command", args{"command": "printf 'one\\ntwo\\n' > $(echo " + c.path + ")"})
			found, err := b.server.Ledger().Query(t.Context(), record.Filter{Path: c.path, Kinds: record.ChangeKinds()})
			check.Must(t, err == nil && len(found.Entries) == 1 && len(found.Entries[0].Changes) == 1,
				"%d records of %s, %v; want one", len(found.Entries), c.path, err)
			check.Equal(t, len(found.Entries[0].Changes[0].Marks), c.want, "the record has")
		})
	}
}
