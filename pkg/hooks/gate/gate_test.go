package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const intents = `active_intents:
  - {id: INT-001, name: Weather, status: IN_PROGRESS, owned_scope: ["src/**", go.mod]}
  - {id: INT-002, name: Docs, status: TODO, owned_scope: ["docs/**"]}
  - {id: INT-003, name: Finished, status: DONE}
  - {id: INT-004, name: Stuck, status: BLOCKED}
  - {id: INT-005, name: Everything, status: IN_PROGRESS, owned_scope: ["**"]}
  - {id: OPEN, name: Open, status: IN_PROGRESS}
  - {id: RULES, name: Rules, status: IN_PROGRESS, owned_scope: ["src/**"], rules: [{name: r, when: 'effect.path == "src/ruled"', action: refuse}], commands: {ask: ["npm publish"], deny: ["git push"], allow: [rm]}}
  - {id: OFFLINE, name: Offline, status: IN_PROGRESS, commands: {network: deny}}
`

// passed is what a call gets that nothing has stopped.
const passed = "The gate let it pass."

// probe is a tool whose effects stand in the test's row. What reaches it has passed the gate.
type probe struct{ effects hooks.Effects }

func (probe) Spec() hooks.Spec                                 { return hooks.Spec{Name: "probe"} }
func (p *probe) Decode(hooks.Arguments) (hooks.Decoded, error) { return p, nil }
func (p *probe) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	return p, nil
}
func (p *probe) Effects() hooks.Effects                      { return p.effects }
func (p *probe) Close() error                                { return nil }
func (p *probe) Plan(context.Context) (hooks.Planned, error) { return p, nil }
func (p *probe) Result(*hooks.Outcome) (hooks.Result, error) { return hooks.Result{}, nil }
func (p *probe) Prepare(context.Context) (hooks.Prepared, error) {
	return nil, refusal.New(refusal.Busy, passed)
}

// effectsOf reads what a call does: "create a", "modify a", "delete a", "move a b", "read a", and a command line after "$".
// A "!" behind a path is content that the change does not quote.
func effectsOf(does string) hooks.Effects {
	var e hooks.Effects
	for _, part := range strings.Split(does, "; ") {
		word := strings.Fields(part)
		if line, ok := strings.CutPrefix(part, "$ "); ok {
			reading := shell.Read(line, shell.Bash)
			e.Command = &hooks.CommandEffect{Line: line, Cwd: ".", Reading: &reading}
			continue
		}
		if word[0] == "other" { // "other POLICY": a secret that goes out; "other run LINE"
			u := &hooks.UpstreamEffect{Server: "s", Tool: "t", Arguments: json.RawMessage("{}"), Digest: func() string { return "" }}
			if line, ok := strings.CutPrefix(part, "other run "); ok {
				reading := shell.Read(line, shell.Bash)
				u.Commands = []hooks.UpstreamCommand{{Line: line, Reading: &reading}}
			} else {
				u.Secrets, u.OnSecrets = []string{"a secret in x: a token"}, hooks.Policy(strings.TrimPrefix(word[1], "warn"))
			}
			e.Upstream = u
			continue
		}
		name, blind := strings.CutSuffix(word[1], "!")
		f := &hooks.FileEffect{Requested: name, Knowledge: hooks.KnowsBySearch, Protection: workspace.Protect(name)}
		f.Path, f.Op = name, map[string]change.Op{"create": change.Created, "modify": change.Modified, "delete": change.Deleted, "move": change.Moved, "read": change.Read}[word[0]]
		if f.Op == change.Moved {
			f.From, f.Path = name, word[2]
			f.Protection = max(f.Protection, workspace.Protect(f.Path))
		}
		if blind {
			f.Knowledge = hooks.KnowsNothing
		}
		if f.Op != change.Created {
			f.Exists, f.Before = true, change.Version{Bytes: []byte("old\n"), Hash: workspace.HashOf([]byte("old\n"))}
		}
		if strings.HasPrefix(name, "..") {
			f.Problem = refusal.Newf(refusal.PathOutsideWorkspace, "%s is outside.", name)
		}
		e.Files = append(e.Files, f)
	}
	return e
}

// recorder takes nothing: no call of the table gets so far.
type recorder struct{ writable error }

func (recorder) Settle(context.Context) error { return nil }
func (recorder) Begin(context.Context, *hooks.Call, *hooks.Pending) (hooks.Inflight, error) {
	return nil, errors.New("nothing is recorded here")
}
func (recorder) Record(context.Context, *hooks.Call, *hooks.Outcome) (string, error) { return "", nil }
func (recorder) Refused(*hooks.Call, string, *refusal.Refusal)                       {}
func (r recorder) Writable(context.Context) error                                    { return r.writable }

// operator can be asked in the inbox, and not in line. What is asked is written down.
type operator struct{ asked []string }

func (*operator) CanAsk(_ *hooks.Call, q hooks.Question) bool { return q.Policy == hooks.PolicyAsk }
func (*operator) Pass(context.Context, *hooks.Call, []hooks.Question) ([]string, bool, error) {
	return nil, false, nil
}
func (*operator) Lapse(string) {}
func (o *operator) Ask(_ context.Context, _ *hooks.Call, q []hooks.Question) (string, error) {
	for _, one := range q {
		o.asked = append(o.asked, one.Hook)
	}
	return "", refusal.New(refusal.ApprovalRequired, "asked")
}

// row is a call and what the gate decides.
type row struct {
	under string // the intent that is selected, "" for none, and "ses_x" for a handle that is nobody's
	does  string
	want  string // a code; "PASSED"; "ask scope" is what the operator is asked about
	says  string // stands in the refusal
	with  func(*world)
}

// world is what a row can change.
type world struct {
	p          gate.Policy
	intents    string
	ignore     string
	arguments  map[string]string
	writable   error
	unprepared bool
	also       string // a second intent that is selected
	then       string // the intents after the selection
}

func decide(t *testing.T, r row) {
	t.Helper()
	none := sandbox.Want{Ability: func() sandbox.Ability {
		return sandbox.Ability{NoFull: errors.New("no"), NoLandlock: errors.New("no")}
	}}
	w := world{intents: intents, arguments: map[string]string{}, p: gate.Policy{
		Sandbox: none, UnjudgedAuto: true, ProgramConfig: hooks.PolicyAsk, Commands: policy.Policy{Unjudged: policy.Ask},
		MissingIntent: hooks.PolicyElicit, ScopeViolation: hooks.PolicyElicit, IgnoredPath: hooks.PolicyElicit,
	}}
	if r.with != nil {
		r.with(&w)
	}
	dir := t.TempDir()
	if !w.unprepared {
		check.Write(t, dir, ".orchestration/active_intents.yaml", w.intents)
	}
	check.Write(t, dir, ".intentignore", w.ignore)
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	sessions := session.Open(nil, session.Options{})
	defer sessions.Close()
	caller := session.Caller{Connection: "c"}
	for _, id := range []string{r.under, w.also} {
		if id != "" && !strings.HasPrefix(id, "ses_") {
			_, handle, err := sessions.Select(t.Context(), caller, "", id, "")
			check.OK(t, err)
			if w.also == "" {
				w.arguments["session"] = handle
			}
		}
	}
	if strings.HasPrefix(r.under, "ses_") {
		w.arguments["session"] = r.under
	}
	if w.then != "" {
		check.Write(t, dir, ".orchestration/active_intents.yaml", w.then)
	}
	asks, records := &operator{}, recorder{w.writable}
	g := &gate.Gate{Intents: intent.Open(root), Fresh: gate.NewFreshness(false), Ledger: records, Policy: w.p}
	engine := hooks.NewEngine(hooks.Options{
		Sessions: sessions, Recorder: records, Asker: asks, Logger: zerolog.Nop(), Gate: g.Hooks(false), Stale: g.Fresh.Stale,
	})
	check.OK(t, engine.AddTool(&probe{effectsOf(r.does)}))
	result := engine.Do(t.Context(), hooks.Request{Tool: "probe", Caller: caller, Arguments: check.Value(hooks.MakeArguments(w.arguments))(t)})
	var o refusal.Object
	check.OK(t, json.Unmarshal(result.Structured, &o))
	got := string(o.ErrorType)
	switch {
	case o.Error == passed:
		got = "PASSED"
	case len(asks.asked) > 0:
		got = "ask " + strings.Join(asks.asked, ", ")
	}
	check.Equal(t, got, r.want, "under %q: %s: %s", r.under, r.does, result.Text)
	check.That(t, strings.Contains(result.Text, r.says), "under %q: %s: it does not say %q: %s", r.under, r.does, r.says, result.Text)
}

func table(t *testing.T, with func(*world), rows ...row) {
	t.Helper()
	for _, r := range rows {
		if r.with == nil {
			r.with = with
		}
		decide(t, r)
	}
}

// An intent is selected, is there, can be worked under, and is the one that the call names.
func TestIntentStep(t *testing.T) {
	names := func(id string) func(*world) { return func(w *world) { w.arguments["intent_id"] = id } }
	two := func(id string) func(*world) {
		return func(w *world) { w.also = "INT-005"; w.arguments["intent_id"] = id }
	}
	table(t, nil,
		row{"", "create src/a", "MISSING_OR_INVALID_INTENT", "INT-001 (Weather)", nil},
		row{"INT-001", "create src/a", "PASSED", "", nil},
		row{"INT-003", "create a", "INTENT_NOT_ACTIVE", "Finished", nil},
		row{"INT-004", "create a", "INTENT_NOT_ACTIVE", "BLOCKED", nil},
		row{"INT-999", "create a", "MISSING_OR_INVALID_INTENT", "no longer", nil},
		row{"ses_" + strings.Repeat("a", 32), "create src/a", "SESSION_EXPIRED", "", nil},
		row{"INT-001", "create src/a", "INTENT_MISMATCH", "", names("INT-005")},
		row{"", "create src/a", "MISSING_OR_INVALID_INTENT", "", names("INT-001")}, // naming never selects
		row{"INT-001", "create src/a", "INTENT_MISMATCH", "INT-005", two("")},
		row{"INT-001", "create src/a", "PASSED", "", two("INT-001")},
		row{"INT-001", "create docs/a", "SCOPE_VIOLATION", "INT-002", two("INT-001")},
		row{"INT-001", "create docs/a", "PASSED", "", two("INT-005")},
		row{"INT-001", "create src/a", "INTENT_IGNORED", "", func(w *world) { w.ignore = "intent:INT-001\n" }},
		row{"", "create src/a", "ask intent", "", func(w *world) { w.p.MissingIntent = hooks.PolicyAsk }},
		row{"INT-001", "create src/a", "MISSING_OR_INVALID_INTENT", "INT-009", func(w *world) { w.then = "active_intents:\n  - {id: INT-009, name: n, status: TODO}\n" }},
		row{"OPEN", "create a", "PASSED", "", nil},
		row{"OPEN", "create a", "SCOPE_VIOLATION", "no owned_scope", func(w *world) { w.p.ScopeRequired = true }},
		row{"", "create a", "WORKSPACE_NOT_INITIALIZED", "orchestra-mcp init", func(w *world) { w.unprepared = true }},
		row{"", "create a", "PASSED", "", func(w *world) { w.unprepared, w.p.AllowUninitialized = true, true }},
		row{"", "create .git/config", "PROTECTED_PATH", "", func(w *world) { w.unprepared, w.p.AllowUninitialized = true, true }},
	)
	for _, yaml := range []string{
		"active_intents:\n  - id: [\n", "active_intents:\n  - {id: A, name: a}\n  - {id: A, name: b}\n", "active_intents: 3\n",
		"active_intents:\n  - {id: A, name: a, owned_scope: [\"../x/**\"]}\n", "active_intents:\n  - {id: A, name: a, commands: {deny: [\"git push; rm\"]}}\n",
		`active_intents: [{id: A, name: a, commands: {deny: [{prefix: "git push", match: ["git pull"]}]}}]`,
		`active_intents: [{id: A, name: a, commands: {deny: [{prefix: git, not_match: ["git pull"]}]}}]`,
		`active_intents: [{id: A, name: a, commands: {deny: ["$X"]}}]`, `active_intents: [{id: A, name: a, commands: {deny: [{match: [x]}]}}]`,
		`active_intents: [{id: A, name: a, commands: {deny: [7]}}]`, `active_intents: [{id: A, name: a, rules: [{name: r, when: 'efect == 3'}]}]`,
	} {
		decide(t, row{"INT-001", "create src/a", "INTENTS_UNREADABLE", `"line":`, func(w *world) { w.then = yaml }})
	}
	table(t, nil,
		row{"INT-001", "create src/a", "INTENTS_UNREADABLE", ".intentignore", func(w *world) { w.ignore = "secert:*.key\n" }},
		row{"INT-001", "create src/a", "PASSED", "", func(w *world) { // an unknown key is warned about only
			w.then = `active_intents: [{id: INT-001, name: n, status: IN_PROGRESS, owned_scope: ["src/**"], commands: {deny: [{prefix: git, matches: []}]}}]`
		}},
	)
}

// Each step of the paths looks at all of them before the next begins: a hard failure of the last path outranks one of the
// first that can be asked about.
func TestPathSteps(t *testing.T) {
	ignore := func(w *world) { w.ignore = "src/frozen/**\nsecret:*.key\nsecret:private/\nunscoped:tmp/**\n" }
	table(t, ignore,
		row{"INT-001", "create src/a/b; modify go.mod", "PASSED", "", nil},
		row{"INT-001", "modify docs/other.md", "SCOPE_VIOLATION", "INT-001 is not authorized to edit [docs/other.md]", nil},
		row{"INT-001", "create src2/a", "SCOPE_VIOLATION", `request_scope_expansion`, nil},
		row{"INT-001", "create srcx", "SCOPE_VIOLATION", "", nil},
		row{"INT-001", "create docs/src/a", "SCOPE_VIOLATION", `"covering_intents":["INT-002","INT-005"`, nil},
		row{"INT-001", "modify src/a; create docs/new.md", "SCOPE_VIOLATION", "", nil},
		row{"INT-001", "move src/a docs/a", "SCOPE_VIOLATION", "", nil},
		row{"INT-001", "move docs/a src/a", "SCOPE_VIOLATION", "", nil},
		row{"INT-001", "create docs/a", "ask scope", "", func(w *world) { w.p.ScopeViolation = hooks.PolicyAsk }},
		row{"INT-001", "create docs/a", "SCOPE_VIOLATION", "", func(w *world) { w.p.ScopeViolation = hooks.PolicyRefuse }},
		row{"INT-001", "create tmp/a", "SCOPE_VIOLATION", "", func(w *world) { w.ignore = "" }},

		row{"INT-001", "create src/frozen/a", "INTENTIGNORE_PATH_BLOCKED", "", nil},
		row{"INT-001", "create src/frozen/a", "ask ignored", "", func(w *world) { ignore(w); w.p.IgnoredPath = hooks.PolicyAsk }},
		row{"INT-001", "read src/frozen/a", "PASSED", "", nil},
		row{"INT-001", "read src/a.key", "INTENTIGNORE_PATH_BLOCKED", "out of reach for every tool", nil},
		row{"INT-001", "modify src/a.key", "INTENTIGNORE_PATH_BLOCKED", "", func(w *world) { ignore(w); w.p.IgnoredPath = hooks.PolicyAsk }},
		row{"INT-005", "read private/deep/x", "INTENTIGNORE_PATH_BLOCKED", "", nil},
		row{"INT-005", "move src/a src/b.key", "INTENTIGNORE_PATH_BLOCKED", "", nil},
		row{"INT-005", "create .envrc; create src/frozen/a", "INTENTIGNORE_PATH_BLOCKED", "", nil},
		row{"INT-005", "create src/frozen/a; create a.key", "INTENTIGNORE_PATH_BLOCKED", "", nil},

		row{"INT-005", "create .git/hooks/pre-commit", "PROTECTED_PATH", "", nil},
		row{"INT-005", "modify .GIT/config", "PROTECTED_PATH", "", nil},
		row{"INT-005", "create sub/.git/config", "PROTECTED_PATH", "", nil},
		row{"INT-005", "modify .orchestration/active_intents.yaml", "PROTECTED_PATH", "", nil},
		row{"INT-005", "modify .orchestration/agent_trace.jsonl", "PROTECTED_PATH", "", nil},
		row{"INT-005", "create .intentignore", "PROTECTED_PATH", "", nil},
		row{"INT-005", "create src/.orchestra-abc.tmp", "PROTECTED_PATH", "", nil},
		row{"INT-005", "create src/.ORCHESTRA-ABC.TMP", "PROTECTED_PATH", "", nil},
		row{"INT-005", "move src/a .git/hooks/pre-commit", "PROTECTED_PATH", "", nil},
		row{"INT-005", "create a.key; create .git/hooks/x", "PROTECTED_PATH", "", nil},
		row{"INT-005", "create .git/x; create ../x", "PATH_OUTSIDE_WORKSPACE", "", nil},

		row{"INT-005", "create .vscode/tasks.json", "ask program-config", "", nil},
		row{"INT-005", "create .EnvRC", "ask program-config", "", nil},
		row{"INT-005", "create .roomodes", "ask program-config", "", nil},
		row{"INT-005", "create .github/agents/a.agent.md", "ask program-config", "", nil},
		row{"INT-005", "move src/a .cursor/x", "ask program-config", "", nil},
		row{"INT-005", "create .mcp.json", "APPROVAL_REQUIRED", "", func(w *world) { w.p.ProgramConfig = hooks.PolicyRefuse }},
		row{"INT-001", "create .mcp.json", "ask scope, program-config", "", func(w *world) { w.p.ScopeViolation = hooks.PolicyAsk }},
		row{"INT-005", "read .mcp.json", "PASSED", "", nil},
	)
}

// What another server is given is held to the rules for commands, and looked at for secrets.
func TestOtherServersSteps(t *testing.T) {
	table(t, nil,
		row{"RULES", "other run git push", "COMMAND_BLOCKED", `"server":"s"`, nil},
		row{"RULES", "other run ls && npm publish x", "ask command/1", "", nil},
		row{"RULES", "other run $X push", "ask command/1", "", nil},
		row{"INT-001", "other run ls", "PASSED", "", nil},
		row{"OFFLINE", "other run ls", "COMMAND_BLOCKED", "nothing keeps those from it that s runs", nil},
		row{"INT-001", "other warn", "PASSED", "", nil},
		row{"INT-001", "other ask", "ask secrets", "", nil},
		row{"INT-001", "other elicit", "RULE_VIOLATION", "a token", nil},
		row{"INT-001", "other refuse", "RULE_VIOLATION", "a token", nil},
		row{"INT-001", "create docs/a; other refuse", "SCOPE_VIOLATION", "", nil},
		row{"", "other ask", "MISSING_OR_INVALID_INTENT", "", nil},
	)
}

// What is behind the plan: rules, freshness, the ledger, approvals.
func TestPlanSteps(t *testing.T) {
	busy := func(err error) func(*world) { return func(w *world) { w.writable = err } }
	table(t, nil,
		row{"RULES", "create src/ruled", "RULE_VIOLATION", `"rule":"r"`, nil},
		row{"RULES", "create src/free", "PASSED", "", nil},
		row{"INT-001", "create src/a", "RULE_VIOLATION", "", func(w *world) {
			always, err := rule.Compile("everywhere", "true", rule.Refuse, "")
			if err != nil {
				panic(err)
			}
			w.p.Rules = []*rule.Rule{always}
		}},
		row{"INT-001", "modify src/a", "PASSED", "", nil},
		row{"INT-001", "modify src/a!", "READ_REQUIRED", `"content":"old\n"`, nil},
		row{"INT-001", "delete src/a!", "READ_REQUIRED", "", nil},
		row{"INT-001", "create src/a!", "PASSED", "", nil},
		row{"INT-001", "create src/a", "LEDGER_UNAVAILABLE", "disk full", busy(errors.New("disk full"))},
		row{"INT-001", "create src/a", "BUSY", "", busy(ledger.ErrBusy)},
		row{"INT-001", "create src/a", "ask approval", "", func(w *world) { w.ignore = "approve:INT-001\n" }},
		row{"INT-001", "$ true", "ask approval", "", func(w *world) { w.ignore = "approve:INT-001\n" }},
	)
}
