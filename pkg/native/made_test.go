package native_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func created(w *world, name, content string) args {
	return args{"type": "create", "filePath": w.at(name), "content": content, "structuredPatch": []any{}, "originalFile": nil, "userModified": false}
}

// However the events of one change come, or do not, it has one record.
func TestOneRecord(t *testing.T) {
	t.Parallel()
	const name, text = "src/x.txt", "new\n"
	for what, c := range map[string]struct {
		play func(w *world, a answer)
		want int
	}{
		"as it should be": {func(w *world, a answer) { w.write(name, text); w.post(a, created(w, name, text)) }, 1},
		"no end":          {func(w *world, a answer) { w.write(name, text) }, 1},
		"the end twice": {func(w *world, a answer) {
			w.write(name, text)
			w.post(a, created(w, name, text))
			w.post(a, created(w, name, text))
		}, 1},
		"the end before the bytes": {func(w *world, a answer) { w.post(a, created(w, name, text)); w.write(name, text) }, 1},
		"nothing done":             {func(w *world, a answer) {}, 0},
		"another content":          {func(w *world, a answer) { w.write(name, "other\n"); w.post(a, created(w, name, text)) }, 1},
		"another content, no end":  {func(w *world, a answer) { w.write(name, "other\n") }, 1},
		"the server killed before": {func(w *world, a answer) { w.restart(); w.write(name, text); w.post(a, created(w, name, text)) }, 1},
		"the server killed behind": {func(w *world, a answer) { w.write(name, text); w.restart(); w.post(a, created(w, name, text)) }, 1},
		"killed, and no end":       {func(w *world, a answer) { w.write(name, text); w.restart() }, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.uses("INT-001")
			a := w.pre("Write", args{"file_path": w.at(name), "content": text})
			check.Equal(t, a.code(), "")
			c.play(w, a)
			w.idle()
			got := w.changed(name)
			check.Must(t, len(got) == c.want, "%d records, want %d: %+v", len(got), c.want, got)
			if c.want == 0 {
				return
			}
			e := got[0]
			check.Equal(t, e.IntentID, "INT-001")
			check.Equal(t, e.Call, "write_to_file")
			check.Equal(t, e.Changes[0].Op, change.Created)
			check.Equal(t, e.Detail["client_tool"], any("Write"))
			_, differs := e.Detail["not_as_judged"]
			check.Equal(t, differs, strings.HasPrefix(what, "another"))
		})
	}
}

// One call that two of a client's hook systems announce has one record.
func TestAnnouncedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	input := args{"file_path": w.at("src/x.txt"), "content": "new\n"}
	a := w.pre("Write", input)
	w.id = "s2" // the other system's name of the session
	w.uses("INT-001")
	b := w.pre("Write", input)
	w.write("src/x.txt", "new\n")
	w.post(b, created(w, "src/x.txt", "new\n"))
	w.id = "s1"
	w.post(a, created(w, "src/x.txt", "new\n"))
	w.idle()
	check.Equal(t, len(w.changed("src/x.txt")), 1, "records")
}

// What was changed without having been let through is recorded as that, if the client names it; a person's change is nobody's.
func TestUnannounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	w.write("docs/other.md", "# By a person\n")
	w.write("src/a.txt", "one\n")
	w.mode = "bypassPermissions"
	denied := w.pre("Write", args{"file_path": w.at("docs/new.md"), "content": "x\n"})
	w.write("docs/new.md", "x\n")
	w.post(denied, created(w, "docs/new.md", "x\n"))
	w.idle()
	check.Equal(t, len(w.changed("docs/other.md")), 0, "records of a person's change")
	check.Equal(t, len(w.changed("src/a.txt")), 0, "records of a person's change")
	got := w.changed("docs/new.md")
	check.Must(t, len(got) == 1 && got[0].Detail["ungoverned"] != nil, "%+v", got)
	notes, _ := got[0].Detail["notes"].([]any)
	check.That(t, len(notes) > 0 && strings.Contains(notes[0].(string), "SCOPE_VIOLATION"), "what stands against it: %v", notes)
}

// A change that is not what was judged is judged again, and the model is told.
func TestNotAsJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	a := w.pre("Edit", args{"file_path": w.at("src/a.txt"), "old_string": "two", "new_string": "zwei"})
	check.Equal(t, a.code(), "")
	w.write("src/a.txt", "one\nzwei, by a formatter\nthree\n")
	w.post(a, args{"filePath": w.at("src/a.txt"), "oldString": "two", "newString": "zwei", "originalFile": "one\ntwo\nthree\n", "structuredPatch": []any{}, "userModified": false, "replaceAll": false})
	b := w.pre("Edit", args{"file_path": w.at("src/a.txt"), "old_string": "one", "new_string": "eins"})
	w.write("src/a.txt", "eins\nzwei, by a formatter\nthree\n")
	note := w.post(b, args{"filePath": w.at("src/a.txt"), "oldString": "one", "newString": "eins", "originalFile": "", "structuredPatch": []any{}, "userModified": false, "replaceAll": false}).note
	check.That(t, strings.Contains(a.note+b.note+note, "not what was judged"), "the model is told %q, %q", b.note, note)
	got := w.changed("src/a.txt")
	check.Must(t, len(got) == 1 || len(got) == 2, "%+v", got)
	check.Equal(t, fmt.Sprint(got[0].Changes[0].Hunks), "[[2 1 2 1]]")
}

// A patch is judged file by file, and a file that it was kept from is not changed by it.
func TestPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client = "codex"
	w.uses("INT-001")
	patch := func(text string) args { return args{"command": "*** Begin Patch\n" + text + "*** End Patch\n"} }
	check.Equal(t, w.pre("apply_patch", patch("*** Add File: src/n.txt\n+x\n*** Add File: docs/n.md\n+x\n")).code(), "SCOPE_VIOLATION")
	a := w.pre("apply_patch", patch("*** Add File: src/n.txt\n+x\n*** Update File: src/a.txt\n@@\n-two\n+zwei\n"))
	check.Equal(t, a.code(), "")
	w.write("src/n.txt", "x\n")
	w.write("src/a.txt", "one\nzwei\nthree\n")
	w.send(func() args {
		e := w.event("PostToolUse", a.call, a.tool, a.input)
		e["tool_response"] = "Success. Updated the following files:\nA src/n.txt\nM src/a.txt\n"
		return e
	}())
	w.idle()
	first, second := w.changed("src/n.txt"), w.changed("src/a.txt")
	check.Must(t, len(first) == 1 && len(second) == 1 && first[0].ID == second[0].ID, "%+v %+v", first, second)
	move := patch("*** Update File: src/a.txt\n*** Move to: src/b.txt\n@@\n-one\n+eins\n")
	check.Equal(t, w.pre("apply_patch", move).code(), "")
	w.idle() // it was not made
	check.Equal(t, len(w.changed("src/b.txt")), 0, "records of a move that was not made")
	b := w.pre("apply_patch", move)
	check.Equal(t, b.code(), "")
	check.OK(t, os.Remove(w.at("src/a.txt")))
	w.write("src/b.txt", "eins\nzwei\nthree\n")
	w.idle()
	moved := w.changed("src/b.txt")
	check.Must(t, len(moved) == 1 && moved[0].Changes[0].Op == change.Moved && moved[0].Changes[0].From == "src/a.txt", "%+v", moved)
}

// What is read counts as seen, if it was let through, is what stands there, and was shown.
func TestReadsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	response := func(from, lines int) args {
		return args{"type": "text", "file": args{"filePath": w.at("src/a.txt"), "content": "", "numLines": lines, "startLine": from, "totalLines": 3}}
	}
	overwrite := func() string { return w.pre("Write", args{"file_path": w.at("src/a.txt"), "content": "x\n"}).code() }
	forged := answer{call: "toolu_forged", tool: "Read", input: args{"file_path": w.at("src/a.txt")}}
	w.post(forged, response(1, 3))
	w.mode = "bypassPermissions"
	w.write(".intentignore", "src/b.txt\n")
	w.write("src/c.txt", "one\ntwo\nthree\n")
	check.Equal(t, overwrite(), "READ_REQUIRED", "after a read that was not let through")
	// Its refusal has shown all of it.
	check.Equal(t, overwrite(), "")
	old := time.Now().Add(-time.Minute)
	check.OK(t, os.Chtimes(w.at("src/c.txt"), old, old))
	part := w.pre("Read", args{"file_path": w.at("src/c.txt"), "limit": 2})
	w.post(part, args{"type": "text", "file": args{"filePath": w.at("src/c.txt"), "content": "", "numLines": 2, "startLine": 1, "totalLines": 3}})
	all := w.pre("Read", args{"file_path": w.at("src/c.txt")})
	check.Equal(t, all.code(), "")
	w.write("src/c.txt", "one\ntwo\nthree and more\n")
	w.post(all, args{"type": "text", "file": args{"filePath": w.at("src/c.txt"), "content": "", "numLines": 3, "startLine": 1, "totalLines": 3}})
	check.Equal(t, w.pre("Write", args{"file_path": w.at("src/c.txt"), "content": "x\n"}).code(), "STALE_FILE", "changed while it was read")
}

// A client's session works under an intent by a code from a refusal, which is good once, and by nothing else.
func TestJoining(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	input := args{"file_path": w.at("src/x.txt"), "content": "x\n"}
	a := w.pre("Write", input)
	check.Equal(t, a.code(), "MISSING_OR_INVALID_INTENT")
	_, code, _ := strings.Cut(a.reason, `join: "`)
	code, _, _ = strings.Cut(code, `"`)
	check.Must(t, w.tool("select_active_intent", args{"intent_id": "INT-001"}).Refusal == nil, "selecting")
	check.Equal(t, w.pre("Write", input).code(), "MISSING_OR_INVALID_INTENT", "a selection without the code")
	refused := w.tool("select_active_intent", args{"intent_id": "INT-001", "join": "join_made-up"})
	check.That(t, refused.Refusal != nil, "a made-up code")
	check.Must(t, w.tool("select_active_intent", args{"intent_id": "INT-001", "join": code}).Refusal == nil, "joining")
	check.Equal(t, w.pre("Write", input).code(), "")
	again := w.tool("select_active_intent", args{"intent_id": "INT-001", "join": code})
	check.That(t, again.Refusal != nil, "a used code")
	// Subagents inherit, and what is selected later holds; another session has nothing of it.
	w.agent = "agent-7"
	b := w.pre("Write", args{"file_path": w.at("src/y.txt"), "content": "y\n"})
	check.Equal(t, b.code(), "")
	w.write("src/y.txt", "y\n")
	w.post(b, created(w, "src/y.txt", "y\n"))
	w.idle()
	got := w.changed("src/y.txt")
	check.Must(t, len(got) == 1 && got[0].Detail["agent"] == any("agent-7"), "%+v", got)
	check.Must(t, w.tool("select_active_intent", args{"intent_id": "INT-005"}).Refusal == nil, "selecting another")
	check.Equal(t, w.pre("Write", args{"file_path": w.at("docs/y.md"), "content": "y\n"}).code(), "")
	w.id = "s2"
	check.Equal(t, w.pre("Write", input).code(), "MISSING_OR_INVALID_INTENT", "another session of the client")
	w.restart()
	w.id, w.agent = "s1", ""
	check.Equal(t, w.pre("Write", args{"file_path": w.at("docs/z.md"), "content": "y\n"}).code(), "", "after a restart")
}

// An operator's answer lets the same call pass; where the client asks its user, that the call was made is the answer.
func TestAsking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-005")
	input := args{"file_path": w.at(".mcp.json"), "content": "{}\n"}
	a := w.pre("Write", input)
	check.Equal(t, a.code(), "ask")
	w.write(".mcp.json", "{}\n")
	w.post(a, created(w, ".mcp.json", "{}\n"))
	w.idle()
	check.Equal(t, len(w.changed(".mcp.json")), 1, "records")
	var inferred []record.Entry
	for _, e := range w.records(".mcp.json", record.KindDecision) {
		if e.Detail["inferred"] == any(true) && e.Decision.Outcome == "approved" {
			inferred = append(inferred, e)
		}
	}
	check.Equal(t, len(inferred), 1, "inferred approvals")
	w.mode = "bypassPermissions"
	b := w.pre("Write", args{"file_path": w.at(".envrc"), "content": "x\n"})
	check.Equal(t, b.code(), "APPROVAL_REQUIRED")
	check.That(t, strings.Contains(b.reason, "approval_id: "), "%s", b.reason)
}

// A choice that hangs on the branch, which an agent can change, is put to the operator where selections are.
func TestChosen(t *testing.T) {
	t.Parallel()
	for byBranch, want := range map[bool]string{false: "", true: "MISSING_OR_INVALID_INTENT"} {
		w := newWorld(t, func(o *server.Options) {
			o.Settings.Approvals.SelectIntent = settings.Ask
			o.Chosen = func(string) (string, bool) { return "INT-001", byBranch }
		})
		w.alone = true
		check.Equal(t, w.pre("Write", args{"file_path": w.at("src/x.txt"), "content": "x\n"}).code(), want, byBranch)
	}
}

// What cannot be read is denied in the client's form, and recorded.
func TestBadEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, raw := range map[string]string{
		"garbage":     "no json",
		"no session":  `{"cwd":"` + w.dir + `","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"a","content":"b"},"tool_use_id":"t"}`,
		"no content":  `{"session_id":"s","cwd":"` + w.dir + `","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"a"},"tool_use_id":"t"}`,
		"a new event": `{"session_id":"s","cwd":"` + w.dir + `","hook_event_name":"PreToolUseV9","tool_name":"Write","tool_input":{},"tool_use_id":"t"}`,
	} {
		a := w.raw([]byte(raw))
		check.That(t, a.decision == "deny" && strings.HasPrefix(a.reason, "INVALID_ARGUMENTS"), "%s: %+v", what, a)
	}
	w.end()
	w.start()
	r := check.Value(w.server.Ledger().Query(t.Context(), record.Filter{Kinds: []record.Kind{record.KindDecision}}))(t)
	check.Equal(t, len(r.Entries), 4, "records of what was denied")
}
