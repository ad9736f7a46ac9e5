package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// others plays servers behind this one, and what they offer.
type others struct {
	mu    sync.Mutex
	tools []catalogue.Tool
	// does is what a tool does, by its own name; without one it answers with its arguments.
	does  map[string]func(ctx context.Context, arguments map[string]any) (string, error)
	calls []string // tool and arguments
}

func (o *others) Tool(name string) (catalogue.Tool, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.tools, func(t catalogue.Tool) bool { return t.Name == name })
	if i < 0 {
		return catalogue.Tool{}, false
	}
	return o.tools[i], true
}

func (o *others) Tools(context.Context) []catalogue.Tool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.tools)
}

func (o *others) Call(ctx context.Context, t catalogue.Tool, arguments json.RawMessage, _ func(string, float64, float64)) (json.RawMessage, error) {
	o.mu.Lock()
	o.calls = append(o.calls, t.Own+" "+string(arguments))
	does := o.does[t.Own]
	o.mu.Unlock()
	if does == nil {
		return said(string(arguments)), nil
	}
	var decoded map[string]any
	if err := json.Unmarshal(arguments, &decoded); err != nil {
		return nil, err
	}
	text, err := does(ctx, decoded)
	if strings.HasPrefix(text, "{") {
		return json.RawMessage(text), err
	}
	return said(text), err
}

func said(text string) json.RawMessage {
	encoded, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
	return encoded
}

// made counts the calls that a server got.
func (o *others) made() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.calls)
}

// offers is a tool with a schema of its input.
func (o *others) offers(server, own, input string, change ...func(*catalogue.Tool)) {
	t := catalogue.Tool{Server: server, Own: own, Name: server + "_" + own, Hash: "sha256:" + strings.Repeat("1", 64), Description: "Does " + own + ".", Input: json.RawMessage(input)}
	for _, c := range change {
		c(&t)
	}
	definition := map[string]any{"name": own, "description": t.Description, "inputSchema": t.Input, "annotations": map[string]any{"readOnlyHint": true}}
	if t.Output != nil {
		definition["outputSchema"] = t.Output
	}
	t.Definition, _ = json.Marshal(definition)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tools = slices.DeleteFunc(o.tools, func(old catalogue.Tool) bool { return old.Name == t.Name })
	o.tools = append(o.tools, t)
}

func safe(t *catalogue.Tool) { t.Safe = true }

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// files is a server with files, of which a test says more.
func files(change ...func(*upstream.Definition)) upstream.Definition {
	d := upstream.Definition{Name: "files", Prefix: "files_", Command: []string{"x"}, Findings: upstream.Ask, Effects: []mapping.Effect{
		{Tool: "read", Reads: []string{"path"}}, {Tool: "write", Writes: []string{"path"}}, {Tool: "remove", Deletes: []string{"path"}},
		{Tool: "run", Commands: []string{"line"}}, {Tool: "open", URLs: []string{"url"}},
	}}
	for _, c := range change {
		c(&d)
	}
	return d
}

// law is a server with others behind it, without a client.
type law struct {
	*bench
	*others
	upstreams *tools.Upstreams
	session   string
}

func behind(t *testing.T, dir string, definitions []upstream.Definition, with func(*tools.UpstreamOptions), changes ...func(*server.Options)) *law {
	t.Helper()
	o := &others{does: map[string]func(context.Context, map[string]any) (string, error){}}
	o.offers("files", "read", pathSchema, safe)
	o.offers("files", "write", pathSchema)
	o.offers("files", "remove", pathSchema)
	o.offers("files", "run", `{"type":"object","properties":{"line":{"type":"string"}}}`)
	o.offers("files", "open", `{"type":"object","properties":{"url":{"type":"string"}}}`, safe)
	o.offers("files", "send", `{"type":"object"}`)
	b := start(t, dir, changes...)
	t.Cleanup(b.close)
	options := tools.UpstreamOptions{Definitions: definitions, Offer: o, Server: o, Secrets: func(arguments json.RawMessage) []catalogue.Finding {
		if bytes.Contains(arguments, []byte("hunter2")) {
			return []catalogue.Finding{{Kind: catalogue.Secret, Where: "x", Text: "a password"}}
		}
		return nil
	}}
	if with != nil {
		with(&options)
	}
	u := check.Value(b.server.Behind(options))(t)
	return &law{bench: b, others: o, upstreams: u}
}

// answer is a result, of ours or of another server.
type answer struct {
	hooks.Result
	Object map[string]any
	texts  []string
	meta   map[string]any
}

func (l *law) call(tool string, a args) answer {
	l.t.Helper()
	raw := check.Value(json.Marshal(a))(l.t)
	r := l.server.Do(l.t.Context(), hooks.Request{Tool: tool, Arguments: hooks.ReadArguments(raw), Caller: session.Caller{Connection: "c", ClientName: "t"}})
	got := answer{Result: r}
	if r.Raw != nil {
		var sent struct {
			Content           []struct{ Text string }
			StructuredContent map[string]any
			IsError           bool
			Meta              map[string]any `json:"_meta"`
		}
		check.OK(l.t, json.Unmarshal(r.Raw, &sent))
		check.Equal(l.t, sent.IsError, r.IsError)
		for _, c := range sent.Content {
			got.texts = append(got.texts, c.Text)
		}
		got.Object, got.meta = sent.StructuredContent, sent.Meta
		return got
	}
	check.OK(l.t, json.Unmarshal(r.Structured, &got.Object))
	return got
}

func (l *law) passes(tool string, a args) answer {
	l.t.Helper()
	r := l.call(tool, a)
	check.Must(l.t, r.Raw != nil && !r.IsError, "%s %v: %s %s", tool, a, r.Text, r.Raw)
	return r
}

func (l *law) stopped(code, tool string, a args) answer {
	l.t.Helper()
	before := l.made()
	r := l.call(tool, a)
	check.Must(l.t, r.IsError && r.Object["error_type"] == code, "%s %v: want %s, got %s %s", tool, a, code, r.Text, r.Raw)
	check.Equal(l.t, l.made(), before, "the server was asked")
	return r
}

func (l *law) selects(id string) string {
	l.t.Helper()
	r := l.call("select_active_intent", args{"intent_id": id})
	handle, _ := r.Object["session"].(string)
	check.Must(l.t, handle != "", "%s", r.Text)
	return handle
}

// last is the newest record of a kind, with what it says of another server.
func (l *law) last(kind record.Kind) (record.Entry, record.Upstream) {
	l.t.Helper()
	e := l.lastRecord(kind)
	u, _ := e.Upstream()
	return e, u
}

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

// Each end of a call is told, and recorded as what is known of it.
func TestWhatBecomesOfCalls(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	l := behind(t, dir, []upstream.Definition{files(func(d *upstream.Definition) { d.Keep = true })}, nil, func(o *server.Options) { o.Settings.Ledger.RecordReads = true })
	s := l.selects("INT-005")
	do := func(tool string, does func(ctx context.Context, a map[string]any) (string, error)) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.does[tool] = does
	}
	do("send", func(context.Context, map[string]any) (string, error) {
		return `{"content":[],"isError":true,"x":[1]}`, nil
	})
	r := l.call("files_send", args{"session": s})
	check.That(t, r.IsError && strings.Contains(string(r.Raw), `"x":[1]`), "%s", r.Raw)
	_, u := l.last(record.KindMutation)
	check.That(t, u.IsError && u.Problem == "" && u.Result != "" && u.ResultArtifact != "" && u.ArgumentsArtifact != "", "%+v", u)
	read := l.call("read_command_output", args{"artifact_id": u.ResultArtifact})
	check.That(t, strings.Contains(read.Text, `"x":[1]`), "%s", read.Text)

	records := len(l.ledgerLines())
	do("send", func(context.Context, map[string]any) (string, error) {
		return "", fmt.Errorf("no program: %w", tools.ErrNotSent)
	})
	r = l.call("files_send", args{"session": s})
	check.That(t, r.Object["error_type"] == "UPSTREAM_UNAVAILABLE", "%s", r.Text)
	check.Equal(t, len(l.ledgerLines()), records, "a record of a call that was not made")

	for name, does := range map[string]func(context.Context, map[string]any) (string, error){
		"died \u202e": func(context.Context, map[string]any) (string, error) { return "", errors.New("it died \u202e") },
		"no JSON":     func(context.Context, map[string]any) (string, error) { return "{\"isError\"", nil },
	} {
		do("send", does)
		r = l.call("files_send", args{"session": s})
		_, u = l.last(record.KindMutation)
		check.That(t, r.IsError && strings.Contains(r.texts[0], "Whether it did what it was asked is not known") && !strings.Contains(string(r.Raw), "\u202e") && u.IsError && u.Problem != "" && u.Result == "", "%s: %s %+v", name, r.Raw, u)
	}

	do("write", func(_ context.Context, a map[string]any) (string, error) {
		return "done", os.WriteFile(filepath.Join(dir, a["path"].(string)), []byte("new\n"), 0o644)
	})
	l.passes("files_write", args{"session": s, "path": "src/a.txt"})
	e, u := l.last(record.KindMutation)
	check.That(t, len(e.Changes) == 1 && e.Changes[0].Path == "src/a.txt" && e.Changes[0].After.Hash != "" && u.Tool == "write" && e.MutationClass != "", "%+v", e.Record)
	l.passes("files_read", args{"path": "src/a.txt"})
	e, u = l.last(record.KindRead)
	check.That(t, u.Server == "files" && u.Tool == "read" && e.Call == "files_read" && u.ResultArtifact != "", "%+v", u)
	ctx, cancel := context.WithCancel(t.Context())
	do("send", func(context.Context, map[string]any) (string, error) { cancel(); return "", ctx.Err() })
	gone := l.server.Do(ctx, hooks.Request{Tool: "files_send", Arguments: check.Value(hooks.MakeArguments(args{"session": s}))(t), Caller: session.Caller{Connection: "c"}})
	_, u = l.last(record.KindMutation)
	check.That(t, gone.IsError && u.Problem == "the call was cancelled meanwhile", "%+v", u)
}

// A result that is too large is kept, and what the agent gets of it says where the rest is.
func TestLargeResultsAreKept(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files()}, nil)
	text := "head\n" + strings.Repeat("line of text\n", 40_000) + "tail"
	l.does["read"] = func(context.Context, map[string]any) (string, error) { return text, nil }
	r := l.passes("files_read", args{"path": "src/a.txt"})
	id, _ := r.Object["artifact_id"].(string)
	check.That(t, len(r.Raw) < 100<<10 && strings.HasPrefix(r.texts[0], "head\n") && strings.HasSuffix(r.texts[0], "tail\n") && strings.Contains(r.texts[1], id), "%d %v", len(r.Raw), r.texts[1:])
	read := l.call("read_command_output", args{"artifact_id": id, "tail": 1})
	check.That(t, strings.Contains(read.Text, "tail"), "%s", read.Text)
	l.does["read"] = func(context.Context, map[string]any) (string, error) {
		return `{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 1<<20) + `"},{"type":"text","text":"below"}],"isError":false}`, nil
	}
	r = l.passes("files_read", args{"path": "src/a.txt"})
	check.That(t, len(r.Raw) < 100<<10 && strings.Contains(r.texts[0], "below"), "an image is cut: %d", len(r.Raw))
}

// What a server that may write changed is found, judged by the scope of the call, and undone as a command's is.
func TestServersThatWriteAreCommands(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	l := behind(t, dir, []upstream.Definition{files(func(d *upstream.Definition) { d.Writes = true })},
		func(o *tools.UpstreamOptions) { o.Level = func(string) sandbox.Level { return sandbox.Full } },
		func(o *server.Options) { o.Settings.Commands.RevertViolations = true })
	s := l.selects("INT-001")
	write := func(name, content string) { check.Write(t, dir, name, content) }
	l.does["send"] = func(context.Context, map[string]any) (string, error) {
		write("src/made.txt", "made\n")
		write("docs/made.txt", "made\n")
		write("docs/other.md", "changed\n")
		// Another call of the same session goes on meanwhile: what it does is its own.
		r := l.call("write_to_file", args{"session": s, "path": "src/beside.txt", "content": "beside\n"})
		check.That(t, !r.IsError, "%s", r.Text)
		return "done", nil
	}
	r := l.passes("files_send", args{"session": s})
	check.That(t, len(r.texts) == 2 && strings.Contains(r.texts[1], "docs/"), "%v", r.texts)
	e, u := l.last(record.KindCommand)
	check.That(t, e.Command.Command == "files send" && u.Tool == "send" && e.Command.OutputHash == u.Result && e.Command.Sandbox == "full", "%+v %+v", e.Command, u)
	var changed []string
	for _, c := range e.Changes {
		changed = append(changed, c.Path)
	}
	check.That(t, slices.Equal(changed, []string{"src/made.txt"}) && len(e.Violations) == 2 && e.Violations[0].Reverted, "%v %+v", changed, e.Violations)
	l.holds(map[string]string{"src/made.txt": "made\n", "docs/made.txt": "", "docs/other.md": "# Other\n", "src/beside.txt": "beside\n"})
	plan := check.Value(l.server.PlanUndo(t.Context(), undo.Request{Records: []string{e.ID}}))(t)
	_, _, err := l.server.Undo(t.Context(), plan)
	check.OK(t, err)
	l.holds(map[string]string{"src/made.txt": "", "src/beside.txt": "beside\n"})
}

// The calls of one server that may write run one at a time, and who waits can leave.
func TestServersThatWriteTakeTurns(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files(func(d *upstream.Definition) { d.Writes = true })}, nil)
	s := l.selects("INT-005")
	var mu sync.Mutex
	running, most := 0, 0
	l.does["send"] = func(context.Context, map[string]any) (string, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return "x", nil
	}
	l.does["open"] = l.does["send"]
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if i%2 == 0 {
				l.passes("files_send", args{"session": s})
			} else {
				l.passes("files_open", args{"url": "https://x/"})
			}
		})
	}
	all.Wait()
	check.Equal(t, most, 1, "calls at a time")
	began, end := make(chan bool), make(chan bool)
	l.does["send"] = func(context.Context, map[string]any) (string, error) { close(began); <-end; return "x", nil }
	all.Go(func() { l.passes("files_send", args{"session": s}) })
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := l.server.Do(ctx, hooks.Request{Tool: "files_open", Arguments: check.Value(hooks.MakeArguments(args{"url": "https://x/"}))(t), Caller: session.Caller{Connection: "c"}})
	check.That(t, gone.Refusal != nil && gone.Refusal.Code() == "CANCELLED", "%s", gone.Text)
	close(end)
	all.Wait()
}

// Tools that are searched are found by words and called by their names: the gate, the record and the question are those of the tool.
func TestSearchAndCall(t *testing.T) {
	t.Parallel()
	many := files(func(d *upstream.Definition) { d.Name, d.Prefix, d.Searched = "many", "many_", true })
	l := behind(t, newWorkspace(t), []upstream.Definition{files(), many}, nil)
	for i := range 100 {
		l.offers("many", fmt.Sprint("tool", i), `{"type":"object","properties":{"x":{"type":"string","description":"`+strings.Repeat("d", 500)+`"}}}`)
	}
	l.offers("many", "create_issue", `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`, func(t *catalogue.Tool) { t.Description = "Opens a ticket." })
	l.offers("many", "listTickets", `{"type":"object","properties":{}}`, safe)
	check.Equal(t, len(l.upstreams.Listed(l.Tools(t.Context()))), 6)
	found := func(a args) (names []string) {
		r := l.call("search_tools", a)
		check.That(t, !r.IsError && len(r.Structured) < 40<<10, "%s", r.Text)
		for _, one := range r.Object["tools"].([]any) {
			names = append(names, one.(map[string]any)["name"].(string))
		}
		return names
	}
	check.Equal(t, found(args{"query": "create an issue"})[0], "many_create_issue")
	check.Equal(t, strings.Join(found(args{"query": "tickets", "limit": 1}), "|"), "many_listTickets")
	check.Equal(t, found(args{"query": "ticket"})[0], "many_create_issue")
	check.That(t, len(found(args{"query": "tool", "limit": 50})) > 10, "too few")
	check.Equal(t, len(found(args{"query": "read file"})), 0, "tools of servers that are listed")

	l.stopped("MISSING_OR_INVALID_INTENT", "call_tool", args{"name": "many_create_issue", "arguments": args{"title": "x"}})
	s := l.selects("INT-005")
	l.stopped("INVALID_ARGUMENTS", "call_tool", args{"session": s, "name": "many_create_issue", "arguments": args{}})
	l.stopped("INVALID_ARGUMENTS", "call_tool", args{"session": s, "name": "files_send", "arguments": args{}})
	l.stopped("INVALID_ARGUMENTS", "call_tool", args{"session": s, "name": "write_to_file", "arguments": args{"path": "src/x", "content": ""}})
	r := l.passes("call_tool", args{"session": s, "name": "many_create_issue", "arguments": args{"title": "x"}})
	check.Equal(t, strings.Join(r.texts, "|"), `{"title":"x"}`)
	e, u := l.last(record.KindMutation)
	check.That(t, e.Call == "many_create_issue" && u.Tool == "create_issue" && u.Server == "many", "%+v", e.Record)
	l.passes("call_tool", args{"name": "many_listTickets"})
}

// Without a server that is searched nothing is offered beside, and nothing with any but what they offer.
func TestListsWithoutOtherServers(t *testing.T) {
	t.Parallel()
	l := behind(t, newWorkspace(t), []upstream.Definition{files()}, nil)
	for _, spec := range l.server.Specs() {
		check.That(t, spec.Name != "search_tools" && spec.Name != "call_tool" && !strings.HasPrefix(spec.Name, "files_"), "%s is among our tools", spec.Name)
	}
}
