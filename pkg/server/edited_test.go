//go:build unix

package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// edits has the operator approve another text in the place of the one that was asked for.
func (b *bench) edits(id, text string) approval.Request {
	b.t.Helper()
	r := check.Value(b.inbox().Get(id))(b.t)
	edit := check.Value(approval.NewEdit(r, text))(b.t)
	_, _, err := b.inbox().Answer(id, approval.Answer{Decision: approval.Once, Edit: &edit, By: "op", Via: approval.Inbox})
	check.OK(b.t, err)
	return r
}

// told is what a result says of the operator's edit.
func told(r reply) map[string]any {
	of := r.Object
	if inner, is := of["result"].(map[string]any); is {
		of = inner
	}
	edited, _ := of["edited_by_operator"].(map[string]any)
	return edited
}

// ways are how an answer arrives; each gives what a call comes to that the operator edits.
func ways() map[string]func(b *bench, tool string, call args, text string) (reply, approval.Request) {
	return map[string]func(*bench, string, args, string) (reply, approval.Request){
		"it waits": func(b *bench, tool string, call args, text string) (reply, approval.Request) {
			done := make(chan reply, 1)
			go func() { done <- b.Call(tool, call) }()
			r := b.edits(b.pending(), text)
			return <-done, r
		},
		"resume_approval": func(b *bench, tool string, call args, text string) (reply, approval.Request) {
			r := b.edits(b.required(tool, call), text)
			return b.Call("resume_approval", args{"session": call["session"], "approval_id": r.ID}), r
		},
		"the same call": func(b *bench, tool string, call args, text string) (reply, approval.Request) {
			r := b.edits(b.required(tool, call), text)
			return b.Call(tool, call), r
		},
	}
}

// waiting has calls wait where the way is to.
func waiting(way string) func(*server.Options) {
	if way == "it waits" {
		return waits
	}
	return func(*server.Options) {}
}

// What the operator has made of a change is written in its place, once, and says whose lines they are; the agent is told.
func TestEditedContentIsMade(t *testing.T) {
	t.Parallel()
	for way, arrives := range ways() {
		for tool, call := range map[string]args{
			"write_to_file": {"path": "docs/n.md", "content": "asked\n"},
			"edit_file":     {"path": "docs/other.md", "old_string": "# Other", "new_string": "asked"},
			"apply_diff":    {"path": "docs/other.md", "diff": "<<<<<<< SEARCH\n# Other\n=======\nasked\n>>>>>>> REPLACE\n"},
		} {
			t.Run(way+" "+tool, func(t *testing.T) {
				t.Parallel()
				b, s := start(t, newWorkspace(t), asks, waiting(way)).under("INT-001")
				call["session"] = s
				got, r := arrives(b, tool, call, "made by hand\n")
				check.Must(t, !got.Error, "%s", got.Text)
				check.Equal(t, b.read(call["path"].(string)), "made by hand\n")
				diff, _ := told(got)["diff"].(string)
				check.That(t, strings.Contains(diff, "-asked\n+made by hand\n") && told(got)["complete"] == true && told(got)["approval_id"] == r.ID, "told: %v", told(got))
				check.That(t, strings.Contains(got.Text, diff), "the text does not say it: %s", got.Text)
				b.wantRecord(`"kind":"mutation"`, `"type":"mixed"`, `"edited":{"asked":"`+r.Digest+`","made":"sha256:`, `"request":"`+r.ID+`"`)
				again := b.Call("resume_approval", args{"session": s, "approval_id": r.ID})
				check.That(t, again.Error && again.Object["error_type"] == "FILE_NOT_FOUND", "used twice: %s", again.Text)
			})
		}
	}
}

// An edited call is judged as every call is: what stands against it is refused, and nothing is done; the answer is over.
func TestEditedCallIsJudged(t *testing.T) {
	t.Parallel()
	law := func(o *server.Options) {
		o.Settings.Commands.Ask = []settings.CommandRule{{Prefix: "touch"}}
		o.Settings.Commands.Deny = []settings.CommandRule{{Prefix: "rm"}}
		o.Settings.Rules = []settings.Rule{{Name: "no-eval", When: `effect.after.contains("eval(")`, Action: settings.Refuse, Message: "No eval."}}
	}
	for name, c := range map[string]struct {
		tool       string
		call       args
		text, code string
		before     func(b *bench)
	}{
		"a command that is denied":       {tool: "execute_command", call: args{"command": "touch src/x"}, text: "rm -r src", code: "COMMAND_BLOCKED"},
		"a content that a rule refuses":  {tool: "write_to_file", call: args{"path": "docs/n.js", "content": "x\n"}, text: "eval(x)\n", code: "RULE_VIOLATION"},
		"a patch of a protected file":    {tool: "apply_patch", call: args{"patch": patch("*** Add File: docs/n", "+x")}, text: patch("*** Add File: .git/config", "+x"), code: "PROTECTED_PATH"},
		"a patch that does not fit":      {tool: "apply_patch", call: args{"patch": patch("*** Add File: docs/n", "+x")}, text: patch("*** Update File: src/a.txt", "-no such", "+x"), code: "DIFF_NOT_APPLIED"},
		"a scope that cannot be":         {tool: "request_scope_expansion", call: args{"paths": []string{"lib/**"}, "reason": "r"}, text: ".git/**", code: "PROTECTED_PATH"},
		"a content on what has changed":  {tool: "edit_file", call: args{"path": "docs/other.md", "old_string": "# Other", "new_string": "x"}, text: "whole\n", code: "STALE_FILE", before: func(b *bench) { check.Write(b.t, b.dir, "docs/other.md", "# Other\nmore\n") }},
		"a content where a file appears": {tool: "write_to_file", call: args{"path": "docs/n.md", "content": "x\n"}, text: "y\n", code: "READ_REQUIRED", before: func(b *bench) { check.Write(b.t, b.dir, "docs/n.md", "a person's\n") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := start(t, newWorkspace(t), asks, law).under("INT-001")
			c.call["session"] = s
			id := b.required(c.tool, c.call)
			b.edits(id, c.text)
			if c.before != nil {
				c.before(b)
			}
			was := b.tree()
			r := b.Refused(c.code, "resume_approval", args{"session": s, "approval_id": id})
			check.That(t, strings.Contains(r.Str("error"), "operator has edited"), "%s", r.Text)
			b.hasTree(was)
			check.That(t, b.inbox().Spent(id), "the answer can still be used")
		})
	}
}

// What newly stands against an edited call, and can be asked about, is asked about: the edited call is a request of its own.
func TestEditedCallIsAskedAboutAnew(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-001")
	call := args{"session": s, "patch": patch("*** Add File: docs/n", "+asked")}
	first := b.edits(b.required("apply_patch", call), patch("*** Add File: docs/n", "+made", "*** Add File: .envrc", "+made too"))
	refused := b.Refused("APPROVAL_REQUIRED", "resume_approval", args{"session": s, "approval_id": first.ID})
	second, _ := refused.Details()["approval_id"].(string)
	check.Must(t, second != first.ID && !b.exists("docs/n") && !strings.Contains(refused.Str("suggestion"), "same call again"), "%s", refused.Text)
	r := check.Value(b.inbox().Get(second))(t)
	check.That(t, r.Asked != nil && r.Asked.Digest == first.Digest && len(r.Checks) == 2, "%+v", r)
	b.edits(second, patch("*** Add File: docs/n", "+made in the end", "*** Add File: .envrc", "+made too"))
	got := b.OK("resume_approval", args{"session": s, "approval_id": second})
	check.That(t, b.read("docs/n") == "made in the end\n" && b.exists(".envrc"), "not made")
	diff, _ := told(got)["diff"].(string)
	check.That(t, strings.Contains(diff, "-asked\n+made in the end\n") && strings.Contains(diff, "+made too"), "%s", diff)
	b.wantRecord(`"kind":"mutation"`, `"edited":{"asked":"`+first.Digest, `"request":"`+second)
	check.That(t, b.inbox().Spent(first.ID), "the answer of the first can still be used")
}

// A call that waits goes on waiting for what its edit needs besides.
func TestWaitingCallIsAskedAboutAnew(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks, waits).under("INT-001")
	done := make(chan reply, 1)
	go func() {
		done <- b.Call("apply_patch", args{"session": s, "patch": patch("*** Add File: docs/n", "+asked")})
	}()
	first := b.edits(b.pending(), patch("*** Add File: docs/n", "+made", "*** Add File: .envrc", "+made too"))
	second := b.pending()
	b.answers(second, approval.Once, "")
	got := <-done
	check.Must(t, !got.Error && second != first.ID && b.read("docs/n") == "made\n" && b.exists(".envrc"), "%s", got.Text)
	check.That(t, strings.Contains(fmt.Sprint(told(got)["diff"]), "+made too"), "%v", told(got))
	b.wantRecord(`"kind":"mutation"`, `"type":"mixed"`, `"edited":{"asked":"`+first.Digest, second)
}

// A command that the operator has made another one runs as that, and its record is the agent's.
func TestEditedCommandRuns(t *testing.T) {
	t.Parallel()
	for way, arrives := range ways() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b, s := start(t, newWorkspace(t), waiting(way), func(o *server.Options) {
				o.Settings.Commands.Ask = []settings.CommandRule{{Prefix: "echo"}}
			}).under("INT-001")
			call := args{"session": s, "command": "echo asked > src/x"}
			got, r := arrives(b, "execute_command", call, "printf made > src/x")
			check.Must(t, !got.Error && b.read("src/x") == "made", "%s", got.Text)
			check.That(t, strings.Contains(fmt.Sprint(told(got)["diff"]), "-echo asked > src/x\n+printf made > src/x\n"), "%v", told(got))
			b.wantRecord(`"kind":"command"`, `"command":"printf made > src/x"`, `"type":"ai"`, `"asked":"`+r.Digest)
			again := b.Call("resume_approval", args{"session": s, "approval_id": r.ID})
			check.That(t, again.Error && again.Object["error_type"] == "FILE_NOT_FOUND", "used twice: %s", again.Text)
		})
	}
}

// A scope that the operator has narrowed stands although the session that asked is gone, once, whoever makes it.
func TestEditedScopeOutlivesTheSession(t *testing.T) {
	t.Parallel()
	for tool, arguments := range map[string]args{
		"request_scope_expansion": {"paths": []string{"lib/**"}, "reason": "needed"},
		"propose_intent":          {"name": "New work", "owned_scope": []string{"lib/**"}, "description": "Because."},
	} {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprint(tool, waits), func(t *testing.T) {
				t.Parallel()
				dir := newWorkspace(t)
				b, s := start(t, dir, waiting(map[bool]string{true: "it waits"}[waits])).under("INT-001")
				call := args{"session": s}
				for name, value := range arguments {
					call[name] = value
				}
				later, done, r := b, make(chan reply, 1), approval.Request{}
				if waits {
					go func() { done <- b.Call(tool, call) }()
					r = b.edits(b.pending(), "lib/a/**\nlib/b\n")
				} else {
					id := b.required(tool, call)
					b.close()
					later = start(t, dir).connect()
					r = later.edits(id, "lib/a/**\nlib/b\n")
				}
				check.Value(later.server.CarryOut(t.Context(), r))(t)
				if !waits { // else the call that waited may have taken the answer away by now
					check.Value(later.server.CarryOut(t.Context(), r))(t) // finds it done
				}
				if waits {
					got := <-done
					check.That(t, !got.Error && told(got) != nil, "the call that waited: %s", got.Text)
				}
				text := later.read(".orchestration/active_intents.yaml")
				check.That(t, strings.Count(text, "lib/a/**") == 1 && !strings.Contains(text, "lib/**"), "%s", text)
				check.Equal(t, len(agenttest.Having(later.ledgerLines(), `"kind":"lifecycle"`, `"call":"`+tool+`"`, `"asked":"`+r.Digest)), 1, "records")
			})
		}
	}
}

// Of several processes one uses an edit.
func TestEditIsUsedOnce(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	one, two := start(t, dir, asks).connect(), start(t, dir, asks).connect()
	call := args{"session": one.Selects("INT-001"), "path": "docs/n", "content": "asked"}
	id := one.required("write_to_file", call)
	one.edits(id, "made")
	var passed atomic.Int32
	var wg sync.WaitGroup
	for _, b := range []*bench{one, two} {
		wg.Go(func() {
			if r := b.Call("write_to_file", call); !r.Error {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	check.Equal(t, passed.Load(), 1, "passed")
	check.Equal(t, one.read("docs/n"), "made")
}

// An answer whose edit was altered, or put to another request, lets nothing pass.
func TestForgedEditIsNone(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-001")
	call := args{"session": s, "path": "docs/n", "content": "asked"}
	id := b.required("write_to_file", call)
	b.edits(id, "made")
	name := filepath.Join(b.dir, ".orchestration/state/approvals", id+".answer.json")
	content := check.Value(os.ReadFile(name))(t)
	check.Must(t, strings.Contains(string(content), `"made"`), "%s", content)
	check.OK(t, os.WriteFile(name, []byte(strings.Replace(string(content), `"made"`, `"evil"`, 1)), 0o600))
	b.Refused("APPROVAL_REQUIRED", "write_to_file", call)
	check.OK(t, os.Rename(name, filepath.Join(filepath.Dir(name), b.required("write_to_file", args{"session": s, "path": "docs/m", "content": "m"})+".answer.json")))
	b.Refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": "docs/m", "content": "m"})
	check.That(t, !b.exists("docs/n") && !b.exists("docs/m"), "written")
}

// The operator's lines count as seen where the result shows all of them; what the agent sent and stands is known.
func TestWhatOfAnEditCountsAsSeen(t *testing.T) {
	t.Parallel()
	long := "one\n" + strings.Repeat("a line of sixteen\n", 1000) + "three\n"
	for name, c := range map[string]struct {
		made       string
		seen, read bool // the operator's lines: by the result, or by read_file afterwards
	}{
		"what is shown":              {made: "one\nby hand\nthree\n", seen: true},
		"what is too long":           {made: long},
		"what is too long, but read": {made: long, read: true},
		"what is not lines":          {made: strings.Repeat("x", 17<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := start(t, newWorkspace(t), asks).under("INT-001")
			call := args{"session": s, "path": "docs/n", "content": "one\ntwo\nthree\n"}
			b.edits(b.required("write_to_file", call), c.made)
			got := b.OK("write_to_file", call)
			check.Equal(t, told(got)["complete"], any(c.seen))
			s = b.OK("select_active_intent", args{"intent_id": "INT-002", "session": s}).Str("session")
			put := args{"session": s, "path": "docs/n", "content": "over\n"}
			if c.read { // all but the lines that the agent sent
				b.OK("read_file", args{"session": s, "path": "docs/n", "offset": 2, "limit": 1000})
			}
			if c.seen || c.read {
				b.OK("write_to_file", put)
				return
			}
			r := b.Refused("READ_REQUIRED", "write_to_file", put)
			check.That(t, r.Details()["content"] == c.made, "the refusal does not carry what is missing")
			b.OK("write_to_file", put)
		})
	}
}

// A preview says what a call would do, and does nothing.
func TestPreviewChangesNothing(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "secret:keys/\n")
	check.Write(t, dir, "keys/k", "hidden\n")
	b, s := start(t, dir, asks).under("INT-001")
	r := check.Value(b.inbox().Get(b.required("edit_file", args{"session": s, "path": "docs/other.md", "old_string": "Other", "new_string": "Asked"})))(t)
	was, records := b.tree(), len(b.ledgerLines())
	p := check.Value(b.server.Preview(t.Context(), r, nil))(t)
	check.Must(t, len(p.Files) == 1, "%+v", p)
	f := p.Files[0]
	check.That(t, f.Path == "docs/other.md" && f.Op == "modified" && f.Before.Text == "# Other\n" && f.After.Text == "# Asked\n" && f.Before.Hash == r.Effects[0].Before, "%+v", f)
	edit := check.Value(approval.NewEdit(r, "# Made\n"))(t)
	made := check.Value(b.server.Preview(t.Context(), r, &edit))(t)
	check.Equal(t, made.Files[0].After.Text, "# Made\n")
	check.Write(t, dir, "docs/other.md", "# Changed\n")
	_, err := b.server.Preview(t.Context(), r, nil)
	check.That(t, err != nil && strings.Contains(err.Error(), "DIFF_NOT_APPLIED"), "%v", err)
	check.Write(t, dir, "docs/other.md", "# Other\n")
	secret := approval.Edit{Tool: "write_to_file", Arguments: []byte(`{"path":"keys/k","content":"x"}`)}
	_, err = b.server.Preview(t.Context(), r, &secret)
	check.That(t, err != nil && strings.Contains(err.Error(), "INTENTIGNORE_PATH_BLOCKED"), "%v", err)
	b.hasTree(was)
	check.Equal(t, len(b.ledgerLines()), records, "records")
}

// A server that is killed between the answer and its use leaves the edit to the next one, which makes it once.
func TestEditOutlivesAKilledServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-001\n")
	operator := &bench{t: t, dir: dir}
	first := startChild(t, dir)
	check.OK(t, first.greet())
	selected := check.Value(first.call("select_active_intent", args{"intent_id": "INT-001"}))(t)
	call := args{"session": selected.StructuredContent.Session, "path": "src/n", "content": "asked"}
	gone := make(chan error, 1)
	go func() {
		_, err := first.call("write_to_file", call)
		gone <- err
	}()
	r := check.Value(operator.inbox().Get(operator.pending()))(t)
	first.kill()
	check.Is(t, <-gone, errKilled)
	operator.edits(r.ID, "made")

	next := startChild(t, dir)
	check.OK(t, next.greet())
	made := check.Value(next.call("write_to_file", call))(t)
	check.That(t, !made.IsError && operator.read("src/n") == "made", "%+v", made)
	check.That(t, operator.inbox().Spent(r.ID), "the answer can still be used")
	check.OK(t, next.end())
	operator.verify()
}
