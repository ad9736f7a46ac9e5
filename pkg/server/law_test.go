package server_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// A call of another server passes the gate as every call does: what its arguments name is judged, whatever they are called.
func TestOtherServersStandUnderTheSameLaw(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "secret:*.key\nsrc/frozen/**\n")
	check.Write(t, dir, "src/b.key", "k\n")
	check.Write(t, dir, "src/frozen/a", "a\n")
	l := behind(t, dir, []upstream.Definition{files()}, nil, func(o *server.Options) {
		o.Settings.Commands.Deny = []settings.CommandRule{{Prefix: "rm"}}
	})
	l.stopped("MISSING_OR_INVALID_INTENT", "files_write", args{"path": "src/n.txt"})
	l.passes("files_read", args{"path": "src/a.txt"})
	s := l.selects("INT-001")
	for _, c := range []struct {
		code, tool string
		a          args
	}{
		{"SCOPE_VIOLATION", "files_write", args{"path": "docs/other.md"}},
		{"SCOPE_VIOLATION", "files_write", args{"path": filepath.Join(dir, "docs/other.md")}},
		{"SCOPE_VIOLATION", "files_remove", args{"path": "docs/other.md"}},
		{"SCOPE_VIOLATION", "files_write", args{"path": "docs/new/"}},
		{"PROTECTED_PATH", "files_write", args{"path": ".git/config"}},
		{"INTENTIGNORE_PATH_BLOCKED", "files_remove", args{"path": "src/frozen/a"}},
		{"PATH_OUTSIDE_WORKSPACE", "files_write", args{"path": "../x"}},
		{"PATH_OUTSIDE_WORKSPACE", "files_write", args{"path": "~/x"}},
		{"PATH_OUTSIDE_WORKSPACE", "files_read", args{"path": "/etc/passwd"}},
		{"PATH_OUTSIDE_WORKSPACE", "files_read", args{"path": "~root/x"}},
		{"PATH_OUTSIDE_WORKSPACE", "files_open", args{"url": "file:///etc/passwd"}},
		{"INTENTIGNORE_PATH_BLOCKED", "files_read", args{"path": "src/b.key"}},
		{"INTENTIGNORE_PATH_BLOCKED", "files_open", args{"url": "file://" + dir + "/src/b.key"}},
		{"COMMAND_BLOCKED", "files_run", args{"line": "true && rm -rf src"}},
		{"INVALID_ARGUMENTS", "files_write", args{"path": 1}},
		{"INVALID_ARGUMENTS", "files_write", args{"path": "src/n.txt", "paths": "x"}},
		{"INVALID_ARGUMENTS", "files_write", args{"path": "src/n.txt", "intent_id": 7}},
		{"INTENT_MISMATCH", "files_write", args{"path": "src/n.txt", "intent_id": "INT-005"}},
		{"SESSION_EXPIRED", "files_write", args{"path": "src/n.txt", "session": "ses_" + strings.Repeat("a", 32)}},
		{"INVALID_ARGUMENTS", "files_gone", args{}},
		{"INVALID_ARGUMENTS", "other_read", args{}},
	} {
		if c.a["session"] == nil {
			c.a["session"] = s
		}
		l.stopped(c.code, c.tool, c.a)
	}
	check.That(t, !strings.Contains(strings.Join(l.ledgerLines(), ""), "k\\n"), "the content of a secret is on record")
	l.passes("files_read", args{"path": "src/*.txt"})
	l.passes("files_read", args{"path": "src"})
	l.passes("files_read", args{"path": "src/none"})
	l.passes("files_open", args{"url": "https://example.com/"})
	r := l.passes("files_write", args{"session": s, "intent_id": "INT-001", "path": "src/n.txt", "content": "x"})
	check.Equal(t, strings.Join(r.texts, "|"), `{"content":"x","path":"src/n.txt"}`, "what the server got")
	e, u := l.last(record.KindMutation)
	check.That(t, e.Call == "files_write" && u.Server == "files" && u.Tool == "write" && len(e.Changes) == 0 && e.ID == r.meta["orchestra-mcp/record_id"], "%+v %v", u, r.meta)
	check.That(t, strings.HasPrefix(u.Arguments, "sha256:") && strings.HasPrefix(u.Result, "sha256:") && !u.IsError && slices.Equal(u.Targets, []string{"src/n.txt"}), "%+v", u)
	l.passes("files_run", args{"session": s, "line": "ls src"})
	l.passes("files_send", args{"session": s})
	l.reproduces()
}

// reproduces holds that every decision that is on record comes out again.
func (l *law) reproduces(unknown ...string) {
	l.t.Helper()
	check.OK(l.t, l.server.Ledger().Flush(l.t.Context()))
	agenttest.Reproduces(l.t, l.dir, unknown...)
}

// The operator's rules see the server, the tool and what it is given, of its safe tools too.
func TestRulesSeeOtherServers(t *testing.T) {
	t.Parallel()
	rules := func(when ...string) func(*server.Options) {
		return func(o *server.Options) {
			for i, w := range when {
				o.Settings.Rules = append(o.Settings.Rules, settings.Rule{Name: fmt.Sprint("r", i), When: w, Action: "refuse"})
			}
		}
	}
	l := behind(t, newWorkspace(t), []upstream.Definition{files()}, nil, rules(
		`upstream.server == "files" && upstream.tool == "send" && has(upstream.arguments.to) && upstream.arguments.to != "me"`,
		`upstream.urls.exists(u, !u.startsWith("https://example.com/"))`, `effect.kind == "upstream" && upstream.commands.exists(c, c.contains("secret"))`,
		`effect.path == "src/rules.txt" && effect.after.contains("x")`,
	))
	s := l.selects("INT-005")
	l.passes("files_send", args{"session": s, "to": "me"})
	l.passes("files_send", args{"session": s})
	l.stopped("RULE_VIOLATION", "files_send", args{"session": s, "to": "you"})
	l.passes("files_open", args{"url": "https://example.com/x"})
	l.stopped("RULE_VIOLATION", "files_open", args{"url": "https://example.org/x"})
	l.stopped("RULE_VIOLATION", "files_run", args{"session": s, "line": "echo secret"})
	l.passes("files_run", args{"session": s, "line": "echo open"})
	l.passes("files_write", args{"session": s, "path": "src/n.txt"})
	r := l.stopped("RULE_VIOLATION", "files_write", args{"session": s, "path": "src/rules.txt"})
	check.That(t, strings.Contains(r.Text, "not known beforehand"), "a rule about a content that nobody knows: %s", r.Text)
	l.reproduces()
}

// What would go out with a secret in it is noted, asked about or refused; the secret is in no answer and no record.
func TestSecretsGoOutAsTheOperatorSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy upstream.Policy
		code   string
	}{{upstream.Warn, ""}, {upstream.Ask, "APPROVAL_REQUIRED"}, {upstream.Refuse, "RULE_VIOLATION"}} {
		t.Run(string(c.policy), func(t *testing.T) {
			l := behind(t, newWorkspace(t), []upstream.Definition{files(func(d *upstream.Definition) { d.Findings = c.policy })}, nil)
			s := l.selects("INT-005")
			for _, tool := range []string{"files_send", "files_open"} {
				a := args{"session": s, "x": "hunter2"}
				var r answer
				if c.code == "" {
					r = l.passes(tool, a)
					check.That(t, len(r.texts) == 2 && strings.Contains(r.texts[1], "looks like a secret: a secret in x: a password"), "%v", r.texts)
					continue
				}
				r = l.stopped(c.code, tool, a)
				check.That(t, strings.Contains(r.Text, "a password") && !strings.Contains(r.Text, "hunter2"), "%s", r.Text)
			}
			check.That(t, !strings.Contains(strings.Join(l.ledgerLines(), ""), "hunter2"), "the secret is on record")
			l.reproduces()
		})
	}
}

// The operator is shown the server, its tool and what it is given. A yes is for these very arguments and this very definition.
func TestOperatorIsAskedAboutOtherServers(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-005\n")
	l := behind(t, dir, []upstream.Definition{files()}, nil, asks)
	s := l.selects("INT-005")
	call := args{"session": s, "to": "a\u202eb\n", "n": json.Number("12345678901234567890"), "long": strings.Repeat("y", 2000)}
	id, _ := l.stopped("APPROVAL_REQUIRED", "files_send", call).Object["details"].(map[string]any)["approval_id"].(string)
	r := check.Value(l.inbox().Get(id))(t)
	text := approval.ViewOf(r).Message(8 << 10)
	whole := approval.FullViewOf(r).Message(1 << 20)
	for _, part := range []string{"server: files", "its tool: send", `a\u202eb`, "12345678901234567890", "characters not shown", "exactly this call with these arguments"} {
		check.That(t, strings.Contains(text, part), "the question lacks %q:\n%s", part, text)
	}
	check.That(t, strings.Contains(whole, strings.Repeat("y", 2000)) && !strings.Contains(whole, "\u202e") && !strings.Contains(whole+string(r.Arguments), s), "%s", whole)
	l.answers(id, approval.Once, "")
	other := args{"session": s, "to": "a\u202eb\n", "n": json.Number("12345678901234567891"), "long": strings.Repeat("y", 2000)}
	l.stopped("APPROVAL_REQUIRED", "files_send", other)
	l.offers("files", "send", `{"type":"object"}`, func(t *catalogue.Tool) { t.Hash = "sha256:" + strings.Repeat("2", 64) })
	l.stopped("APPROVAL_REQUIRED", "files_send", call)
	l.offers("files", "send", `{"type":"object"}`)
	l.passes("files_send", call)
	l.stopped("APPROVAL_REQUIRED", "files_send", call)

	id, _ = l.stopped("APPROVAL_REQUIRED", "files_send", other).Object["details"].(map[string]any)["approval_id"].(string)
	l.answers(id, approval.ForIntent, "")
	l.passes("files_send", other)
	l.passes("files_send", other)
	l.stopped("APPROVAL_REQUIRED", "files_send", args{"session": s})

	id, _ = l.stopped("APPROVAL_REQUIRED", "files_write", args{"session": s, "path": "src/n.txt"}).Object["details"].(map[string]any)["approval_id"].(string)
	l.answers(id, approval.Once, "")
	done := l.call("resume_approval", args{"session": s, "approval_id": id})
	check.That(t, done.Object["status"] == "executed" && strings.Contains(done.Text, `{"path":"src/n.txt"}`), "%s", done.Text)
	l.reproduces()
}

// A tool that has arguments of our names keeps them: ours have other names there, in what is listed, sent, asked and resumed.
func TestArgumentsOfOurNames(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-005\n")
	l := behind(t, dir, []upstream.Definition{files()}, nil, asks)
	l.offers("files", "send", `{"type":"object","properties":{"session":{"type":"string"},"mutation_class":{"type":"string"}}}`, func(t *catalogue.Tool) {
		t.Output = json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`)
	})
	s := l.selects("INT-005")
	listed := l.upstreams.Listed(l.Tools(t.Context()))
	var tool struct {
		Name        string
		Annotations map[string]any
		InputSchema struct{ Properties map[string]any }
		Output      json.RawMessage `json:"outputSchema"`
	}
	check.OK(t, json.Unmarshal(listed[len(listed)-1], &tool))
	check.That(t, tool.Name == "files_send" && tool.InputSchema.Properties["orchestra_session"] != nil && tool.InputSchema.Properties["orchestra_intent_id"] != nil && len(tool.InputSchema.Properties) == 4, "%s", listed[len(listed)-1])
	check.That(t, tool.Annotations["readOnlyHint"] == false && tool.Annotations["destructiveHint"] == true, "the server is believed: %v", tool.Annotations)
	check.That(t, strings.Contains(string(tool.Output), `"$defs":{"x":{"type":"string"}}`) && strings.Contains(string(tool.Output), `"error_type"`), "%s", tool.Output)
	a := args{"orchestra_session": s, "session": "theirs", "mutation_class": "AST_REFACTOR"}
	id, _ := l.stopped("APPROVAL_REQUIRED", "files_send", a).Object["details"].(map[string]any)["approval_id"].(string)
	r := check.Value(l.inbox().Get(id))(t)
	check.That(t, strings.Contains(string(r.Arguments), "theirs") && !strings.Contains(string(r.Arguments), s), "%s", r.Arguments)
	l.answers(id, approval.Once, "")
	done := l.call("resume_approval", args{"session": s, "approval_id": id})
	check.That(t, strings.Contains(done.Text, `{"mutation_class":"AST_REFACTOR","session":"theirs"}`), "%s", done.Text)
}
