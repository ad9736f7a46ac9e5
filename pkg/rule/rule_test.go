package rule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

func text(s string) func() string       { return func() string { return s } }
func lines(s ...string) func() []string { return func() []string { return s } }

func compile(t *testing.T, when string) *rule.Rule {
	t.Helper()
	r, err := rule.Compile("r", when, rule.Refuse, "")
	check.Must(t, err == nil, "%s: %v", when, err)
	return r
}

func TestFieldsHaveTheirValues(t *testing.T) {
	facts := &rule.Facts{
		Tool: "apply_patch", Paths: []string{"a", "b"},
		Effect: rule.Effect{Kind: "move", Path: "b", From: "a", Before: text("x\ny"), After: text("x\nz"), Added: lines("z"), Removed: lines("y"),
			BeforeSize: 3, AfterSize: 4, Binary: func() bool { return true }},
		Upstream: &rule.Upstream{Server: "files", Tool: "write_file", Arguments: func() map[string]any { return map[string]any{"n": 1.0, "of": []any{"x"}} },
			URLs: []string{"https://x/"}, Commands: []string{"ls"}},
		Command: rule.Command{Line: "go test", Cwd: "sub", Background: true, Programs: [][]string{{"go", "test"}}},
		Intent:  rule.Intent{ID: "INT-1", Name: "n", Status: "IN_PROGRESS", Agent: "ag", OwnedScope: []string{"src/**"}},
		Session: rule.Session{Client: "c", ClientVersion: "1", Model: "m"},
		Class:   rule.Class{Declared: "AST_REFACTOR", Computed: func() string { return "INTENT_EVOLUTION" }, Evidence: func() string { return "unproven" }},
	}
	values := map[string]string{
		"tool": `"apply_patch"`, "paths": `["a", "b"]`,
		"effect.kind": `"move"`, "effect.path": `"b"`, "effect.from": `"a"`, "effect.before": `"x\ny"`, "effect.after": `"x\nz"`,
		"effect.added": `["z"]`, "effect.removed": `["y"]`, "effect.before_size": "3", "effect.after_size": "4", "effect.binary": "true",
		"command.line": `"go test"`, "command.cwd": `"sub"`, "command.background": "true", "command.programs": `[["go", "test"]]`,
		"upstream.server": `"files"`, "upstream.tool": `"write_file"`, "upstream.arguments": `{"n": 1, "of": ["x"]}`, "upstream.urls": `["https://x/"]`, "upstream.commands": `["ls"]`,
		"intent.id": `"INT-1"`, "intent.name": `"n"`, "intent.status": `"IN_PROGRESS"`, "intent.agent": `"ag"`, "intent.owned_scope": `["src/**"]`,
		"session.client": `"c"`, "session.client_version": `"1"`, "session.model": `"m"`,
		"class.declared": `"AST_REFACTOR"`, "class.computed": `"INTENT_EVOLUTION"`, "class.evidence": `"unproven"`,
	}
	for _, f := range rule.Fields() {
		want, ok := values[f.Name]
		if !ok {
			t.Errorf("%s is not in this test", f.Name)
			continue
		}
		delete(values, f.Name)
		if holds, err := compile(t, f.Name+" == "+want).Holds(t.Context(), facts); err != nil || !holds {
			t.Errorf("%s is not %s: %v", f.Name, want, err)
		}
		// Without facts every field is empty, and none is unknown.
		if holds, err := compile(t, f.Name+" == "+want).Holds(t.Context(), &rule.Facts{}); err != nil || holds {
			t.Errorf("%s of nothing: %v %v", f.Name, holds, err)
		}
	}
	for name := range values {
		t.Errorf("there is no field %s", name)
	}
}

// A condition reaches into what another server is given; a member that is missing is no answer.
func TestArgumentsOfOtherServers(t *testing.T) {
	facts := &rule.Facts{Upstream: &rule.Upstream{Arguments: func() map[string]any {
		return map[string]any{"path": "a/b", "edits": []any{map[string]any{"old": "x"}}, "limit": 3.0}
	}}}
	for when, want := range map[string]bool{
		`upstream.arguments.path.startsWith("a/")`: true, `upstream.arguments.limit > 2`: true, `upstream.arguments.limit == 3`: true,
		`upstream.arguments.edits.exists(e, e.old == "x")`: true, `has(upstream.arguments.none)`: false, `"path" in upstream.arguments`: true,
		`has(upstream.arguments.none) && upstream.arguments.none == 1`: false, `upstream.server == "other" && upstream.arguments.none == 1`: false,
	} {
		r := compile(t, when)
		holds, err := r.Holds(t.Context(), facts)
		check.That(t, err == nil && holds == want, "%s: %v %v", when, holds, err)
		check.That(t, r.Reads("upstream.arguments"), "%s: what it reads is not known", when)
	}
	_, err := compile(t, `upstream.arguments.none == 1`).Holds(t.Context(), facts)
	check.That(t, errors.Is(err, rule.ErrFailed), "a member that is missing: %v", err)
}

func TestGlobsAreThoseOfScopes(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"src/**", "src/a/b.go", true}, {"src", "src/a", true}, {"src/", "src/a", true}, {"src/**", "src2/a", false},
		{"**/*.{ts,tsx}", "a.tsx", true}, {"*.go", "a/b.go", false}, {"[!a]*", "b", true},
	} {
		facts := &rule.Facts{Effect: rule.Effect{Path: c.path}}
		got, err := compile(t, fmt.Sprintf("effect.path.glob(%q)", c.glob)).Holds(t.Context(), facts)
		check.That(t, err == nil && got == c.want, "%s over %s: %v %v", c.glob, c.path, got, err)
	}
}

func TestWhatDoesNotCompile(t *testing.T) {
	for when, want := range map[string]string{
		"":                                "1:1",
		"effect.pathh == 'x'":             "1:7: undeclared reference",
		"effect.path ==\n  nothing":       "2:3: undeclared reference",
		"effect.path == 3":                "1:13: found no matching overload",
		"effect.path.contains(":           "1:22: Syntax error",
		"effect.path":                     "it yields text, not true or false",
		"intent.owned_scope":              "it yields list of text",
		"effect":                          "undeclared reference",
		`effect.path.matches("(")`:        "1:21: ",
		`effect.path.glob("../x")`:        "1:18: ",
		`effect.path.glob("[")`:           "1:18: ",
		strings.Repeat("(", 200) + "true": "1:",
		strings.Repeat("true || ", 2000):  "at most",
		"[1].all(a,[1].all(b,[1].all(c,[1].all(d, a==b&&c==d))))": "1:",
		"command.programs.exists(p, p.name == 'x')":               "1:",
	} {
		_, err := rule.Compile("r", when, rule.Refuse, "")
		var at *rule.SyntaxError
		if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", when, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 400) {
			t.Errorf("%.60q: no message for one line: %v", when, err)
		}
	}
}

func TestARuleThatGivesNoAnswer(t *testing.T) {
	many := slices.Repeat([]string{"line of text"}, 40_000)
	long := strings.Repeat("abcdefghij", 512<<10/10)
	facts := &rule.Facts{Effect: rule.Effect{Path: "a", Added: lines(many...), After: text(long)}}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		when string
		want error
	}{
		{t.Context(), "effect.added.all(a, effect.added.all(b, a == b))", rule.ErrTooExpensive},
		{t.Context(), `effect.after.matches("` + strings.Repeat("(a|b)+x?", 100) + `zz")`, rule.ErrTooExpensive},
		{ended, "true", rule.ErrNoAnswer},
		{t.Context(), "command.programs[0][0] == 'x'", rule.ErrFailed},
		{t.Context(), "1 / effect.before_size > 0", rule.ErrFailed},
		{t.Context(), "effect.path.matches(effect.path + '(')", rule.ErrFailed},
		{t.Context(), "effect.path.glob(effect.path + '[')", rule.ErrFailed},
	} {
		holds, err := compile(t, c.when).Holds(c.ctx, facts)
		check.That(t, !holds && errors.Is(err, c.want), "%.60s: %v %v, want %v", c.when, holds, err, c.want)
	}
}

// An evaluation that is under way ends with its context.
func TestAnEvaluationIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started, returned := make(chan struct{}), make(chan struct{})
	defer close(returned)
	facts := &rule.Facts{Effect: rule.Effect{After: func() string { close(started); <-returned; return "" }}}
	go func() { <-started; cancel() }()
	holds, err := compile(t, `effect.after == ""`).Holds(ctx, facts)
	check.That(t, !holds && errors.Is(err, rule.ErrNoAnswer), "%v %v", holds, err)
}

// A panic of what the facts are made by is an error, and not the end of the server.
func TestAPanicIsAnError(t *testing.T) {
	facts := &rule.Facts{Effect: rule.Effect{After: func() string { panic("no text") }}}
	holds, err := compile(t, `effect.after == ""`).Holds(t.Context(), facts)
	check.That(t, !holds && errors.Is(err, rule.ErrFailed), "%v %v", holds, err)
}

// What a rule does not ask for is not made.
func TestTextsAreMadeOnDemand(t *testing.T) {
	facts := &rule.Facts{Effect: rule.Effect{Path: "a.go", After: func() string { t.Error("decoded"); return "" }}}
	holds, err := compile(t, `effect.path.endsWith(".ts") && effect.after.contains("x")`).Holds(t.Context(), facts)
	check.That(t, !holds && err == nil, "%v %v", holds, err)
}

func FuzzCompile(f *testing.F) {
	for _, when := range []string{"true", `effect.path.glob("src/**")`, "paths.exists(p, p.matches('a+'))", "((((", "\x00", `"\u202e" == tool`, "1/0 == 1"} {
		f.Add(when)
	}
	f.Fuzz(func(t *testing.T, when string) {
		r, err := rule.Compile("r", when, rule.Ask, "m")
		if err != nil {
			var at *rule.SyntaxError
			check.That(t, errors.As(err, &at) && at.Line >= 1 && at.Column >= 1, "%v", err)
			return
		}
		check.That(t, r.Name == "r" && r.Action == rule.Ask && r.Message == "m", "the rule is not what was compiled")
		_, _ = r.Holds(t.Context(), &rule.Facts{})
	})
}

func BenchmarkHolds(b *testing.B) {
	r := check.Value(rule.Compile("r", `effect.path.endsWith(".go") && effect.after.contains("eval(")`, rule.Refuse, ""))(b)
	facts := &rule.Facts{Effect: rule.Effect{Path: "a.go", After: text(strings.Repeat("x", 4096))}}
	for b.Loop() {
		check.Value(r.Holds(b.Context(), facts))(b)
	}
}
