package settings_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// machine has directories for the three tiers.
type machine struct {
	*testing.T
	system, user, workspace string
	environ                 []string
	flags                   map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{T: t, system: t.TempDir(), user: t.TempDir(), workspace: t.TempDir()}
}

func (m *machine) write(path, content string) {
	m.Helper()
	check.OK(m, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(m, os.WriteFile(path, []byte(content), 0o644))
}

func (m *machine) setSystem(content string) { m.write(filepath.Join(m.system, "config.yaml"), content) }
func (m *machine) setUser(content string)   { m.write(filepath.Join(m.user, "config.yaml"), content) }
func (m *machine) setWorkspace(content string) {
	m.write(filepath.Join(m.workspace, ".orchestration/config.yaml"), content)
}

// trust does what the operator does with the workspace's file as it is.
func (m *machine) trust() {
	m.Helper()
	content := check.Value(os.ReadFile(filepath.Join(m.workspace, ".orchestration/config.yaml")))(m)
	list := settings.TrustList{UserDir: m.user}
	check.OK(m, list.Trust(m.workspace, settings.ContentHash(content)))
}

func (m *machine) tryLoad() (settings.Loaded, error) {
	m.Helper()
	root := check.Value(os.OpenRoot(m.workspace))(m)
	defer root.Close()
	return settings.Load(settings.LoadOptions{
		WorkspaceRoot: root, WorkspaceDir: m.workspace, SystemDir: m.system, UserDir: m.user, Environ: m.environ, Flags: m.flags,
	})
}

func (m *machine) load() settings.Loaded {
	m.Helper()
	return check.Value(m.tryLoad())(m)
}

func withheld(loaded settings.Loaded) string {
	var keys []string
	for _, w := range loaded.Withheld {
		keys = append(keys, w.Key)
	}
	return strings.Join(keys, " ")
}

func TestNothingSet(t *testing.T) {
	loaded := newMachine(t).load()
	if !reflect.DeepEqual(loaded.Settings, settings.Defaults()) || len(loaded.Origins)+len(loaded.Withheld)+len(loaded.Warnings) > 0 || loaded.WorkspaceHash != "" {
		t.Errorf("%+v", loaded)
	}
}

func TestOrderOfSources(t *testing.T) {
	m := newMachine(t)
	steps := []struct {
		set  func()
		want time.Duration
		from string
	}{
		{func() { m.setSystem("approvals.wait: 1s") }, time.Second, filepath.Join(m.system, "config.yaml:1")},
		{func() { m.setUser("# comment\napprovals:\n  wait: 2s\n") }, 2 * time.Second, filepath.Join(m.user, "config.yaml:3")},
		{func() { m.setWorkspace("approvals: {wait: 3}") }, 3 * time.Second, ".orchestration/config.yaml:1"},
		{func() { m.environ = []string{"ORCHESTRA_APPROVALS_WAIT=4s"} }, 4 * time.Second, "environment variable ORCHESTRA_APPROVALS_WAIT"},
		{func() { m.flags = map[string]string{"approvals.wait": "5s"} }, 5 * time.Second, "command line"},
	}
	for _, step := range steps {
		step.set()
		loaded := m.load()
		got := loaded.Settings.Approvals.Wait
		check.That(t, got == step.want && loaded.Origins["approvals.wait"] == step.from,
			"%v from %q, want %v from %q", got, loaded.Origins["approvals.wait"], step.want, step.from)
	}
}

func TestListsAddUp(t *testing.T) {
	m := newMachine(t)
	m.setUser("commands.deny: [git push]\n")
	m.setWorkspace("commands.deny:\n  - rm\n  - {prefix: npm publish, match: [npm publish x], not_match: [npm run x]}\n")
	m.environ = []string{"ORCHESTRA_COMMANDS_DENY=curl, wget -q"}
	m.flags = map[string]string{"commands.deny": `["a, b"]`}
	var got []string
	for _, rule := range m.load().Settings.Commands.Deny {
		got = append(got, rule.Prefix)
	}
	want := "git push|rm|npm publish|curl|wget -q|a, b"
	check.That(t, strings.Join(got, "|") == want, "%s, want %s", strings.Join(got, "|"), want)
}

func TestStructuredValues(t *testing.T) {
	m := newMachine(t)
	m.setUser(`
rules:
  - {name: no-eval, when: 'effect.after.contains("eval(")', action: refuse, message: Do not.}
checks: [{paths: "**/*.go", command: go vet ./...}]
hooks: [{event: pre, command: ./guard.sh, tools: [write_to_file], timeout: 10s}]
approvals.notify: [{command: notify-send x}, {url: "http://[::1]:8080/x"}, {url: "https://example.com/x"}]
limits: {file_size: 1MiB, rate: 5}
diff.threshold: 0.9
sandbox: off
`)
	got := m.load().Settings
	want := settings.Defaults()
	want.Rules = []settings.Rule{{Name: "no-eval", When: `effect.after.contains("eval(")`, Action: settings.Refuse, Message: "Do not."}}
	want.Checks = []settings.Check{{Paths: "**/*.go", Command: "go vet ./..."}}
	want.Hooks = []settings.Hook{{Event: settings.EventPre, Command: "./guard.sh", Tools: []string{"write_to_file"}, Timeout: 10 * time.Second}}
	want.Approvals.Notify = []settings.Notice{{Command: "notify-send x"}, {URL: "http://[::1]:8080/x"}, {URL: "https://example.com/x"}}
	want.Limits.FileSize, want.Limits.Rate = 1<<20, 5
	want.Diff.Threshold = 0.9
	want.Sandbox = settings.Off
	check.That(t, reflect.DeepEqual(got, want), "\n got %+v\nwant %+v", got, want)
	m.setUser("rules: [{name: r, when: 'true'}]")
	rules := m.load().Settings.Rules
	check.That(t, len(rules) == 1 && rules[0].Action == settings.Refuse, "a rule without action: %+v", rules)
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct{ content, want string }{
		{"sandbx: off", `:1:1: unknown key "sandbx"; did you mean sandbox?`},
		{"\napprovals:\n  waitt: 3s", `:3:3: unknown key "approvals.waitt"; did you mean approvals.wait?`},
		{"roo_aliases: true", `:1:1: unknown key "roo_aliases"; did you mean tools.roo_aliases?`},
		{"completely_else: 1", `:1:1: unknown key "completely_else"`},
		{"scope:\n  required: yes", `:2:13: scope.required: want true or false, not "yes"`},
		{"tools.enabled: []", `:1:16: tools.enabled: names no tool`},
		{"sandbox: false", `:1:10: sandbox: want text, not the boolean false (quote it if it is meant as text)`},
		{"sandbox: of", `:1:10: sandbox: "of" is not one of off, best, require-landlock, require; did you mean off?`},
		{"approvals: [wait]", `:1:12: want a mapping of settings, not a list`},
		{"approvals.wait: soon", `:1:17: approvals.wait: "soon" is not a duration; write it as 30s, 5m or 24h`},
		{"approvals.wait: -1", `:1:17: approvals.wait: "-1" is out of range`},
		{"approvals.wait: 2h", `:1:17: approvals.wait: 2h is not between 0s and 1h`},
		{"approvals.wait: 99999999999999999999", `:1:17: approvals.wait: want a duration such as 30s, 5m or 24h, not the number`},
		{"approvals.wait:", `:1:16: approvals.wait: want a duration such as 30s, 5m or 24h, not nothing`},
		{"limits.file_size: 1MB", `:1:19: limits.file_size: "1MB" is not a size`},
		{"limits.file_size: 9223372036854775807GiB", `:1:19: limits.file_size: "9223372036854775807GiB" is not a size`},
		{"limits.rate: 0", `:1:14: limits.rate: must be at least 1`},
		{"limits.rate: 1.5", `:1:14: limits.rate: want a whole number, not the number 1.5`},
		{"diff.threshold: 0.4", `:1:17: diff.threshold: 0.4 is not between 0.5 and 1`},
		{"diff.threshold: .nan", `:1:17: diff.threshold: ".nan" is not a number`},
		{"commands.deny: rm", `:1:16: commands.deny: want a list, not "rm"`},
		{"commands.deny: [1]", `:1:17: commands.deny: want text, not the number 1`},
		{"commands.deny: [{prefx: rm}]", `:1:18: commands.deny: unknown key "prefx"; did you mean prefix?`},
		{"commands.deny: ['']", `:1:16: commands.deny: a rule names no program`},
		{"hooks: [{event: pre, command: x, event: post}]", `:1:34: hooks: "event" stands here twice`},
		{"rules:\n  - name: r\n    when: tol == 3", `:3:11: rules: rule "r": in the expression at 1:1: undeclared reference to 'tol'`},
		{"rules: [{name: r, when: 'true', action: warn}]", `:1:8: rules: rule r: action must be refuse or ask`},
		{"rules: [{name: r}]", `:1:9: rules: a rule needs name and when`},
		{"rules: [" + strings.Repeat("{name: r, when: 'true'},", 257) + "]", `:1:8: rules: more than 256 rules`},
		{"hooks: [{event: pre, command: x, tools: ['(']}]", `:1:8: hooks: the tools of a hook are names or patterns of names: error parsing regexp`},
		{"checks: [{paths: '[', command: x}]", `:1:9: checks: the paths of a check are a scope glob: `},
		{"hooks: [{event: before, command: x}]", `:1:8: hooks: the event of a hook must be pre or post`},
		{"approvals.notify: [{}]", `:1:19: approvals.notify: want one of command and url`},
		{"approvals.notify: [{command: x, url: 'https://h/s3cret'}]", `:1:19: approvals.notify: want one of command and url`},
		{"approvals.notify: [{url: 'http://example.com/s3cret'}]", `:1:19: approvals.notify: the url must be https, or http on this machine`},
		{"approvals.notify: [{url: 'https:/h'}]", `:1:19: approvals.notify: the url is no address`},
		{"sandbox: off\nsandbox: best", `:2:1: "sandbox" stands here twice`},
		{"scope: {required: true}\nscope.required: false", `:2:1: "scope.required" stands here twice`},
		{"a: &x {}\nb: *x", `:1:1: unknown key "a"`},
		{"sandbox: &x off\nmutation_class: *x", `:2:17: mutation_class: want text, not an alias`},
		{"sandbox: [", `:1: not valid YAML: `},
		{"sandbox: off\n\tx: y", `:2: not valid YAML: `},
		{"sandbox: off\n---\nsandbox: best", `: a second YAML document; settings are one`},
		{"- x", `:1:1: want a mapping of settings, not a list`},
		{"text", `:1:1: want a mapping of settings, not "text"`},
		{"sandbox: \xff", `not valid YAML`},
		{"telemetry.endpoint: http://example.com/s3cret", `:1:21: telemetry.endpoint: the url must be https, or http on this machine`},
		{"telemetry.endpoint: localhost:4318", `:1:21: telemetry.endpoint: the url is no address`},
		{"auth.token: short", `:1:13: auth.token: has less than 16 characters`},
		{"http.listen: localhost", `:1:14: http.listen: want ADDRESS:PORT`},
		{"brain.file: ../x.md", `:1:13: brain.file: want a path relative to the workspace`},
		{"brain.file: .GIT/x.md", `:1:13: brain.file: must not be below .git`},
		{"brain.file: src/main.go", `:1:13: brain.file: want a Markdown file`},
		{"lock: [sandbox]", `:1:1: lock has no effect in a workspace`},
		{strings.Repeat("#", 2<<20), `has more than 1MiB`},
	} {
		m := newMachine(t)
		m.setWorkspace(test.content)
		loaded, err := m.tryLoad()
		if !errors.Is(err, settings.ErrInvalid) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), ".orchestration/config.yaml") {
			t.Errorf("%.60q: %v, want %s", test.content, err, test.want)
		}
		check.That(t, reflect.DeepEqual(loaded, settings.Loaded{}), "%.60q: something was loaded", test.content)
	}
}

func TestAllMistakesOfAFile(t *testing.T) {
	m := newMachine(t)
	m.setUser("sandbx: off\nscope.required: 3\nlock: [sandbox, comands]\n")
	_, err := m.tryLoad()
	var position *settings.PositionError
	check.That(t, errors.As(err, &position) && position.Line == 1 && position.Column == 1, "%v", err)
	for _, want := range []string{":1:1: unknown key", ":2:17: scope.required", `:3:17: lock: unknown key "comands"`} {
		check.That(t, strings.Contains(err.Error(), want), "%v does not say %s", err, want)
	}
}

func TestSecretIsNotShown(t *testing.T) {
	for _, content := range []string{"auth.token: 12345678901234567890", "auth.token: [hush-hush-hush-hush]", "auth.token: 'hush hush hush hush'", "auth.token: hush"} {
		m := newMachine(t)
		m.setUser(content)
		_, err := m.tryLoad()
		check.That(t, err != nil && !strings.Contains(err.Error(), "hush") && !strings.Contains(err.Error(), "1234"),
			"%s: %v", content, err)
	}
	m := newMachine(t)
	m.environ = []string{"ORCHESTRA_AUTH_TOKEN=hush"}
	_, err := m.tryLoad()
	check.That(t, err != nil && !strings.Contains(err.Error(), "hush"), "%v", err)
	m = newMachine(t)
	m.setWorkspace("auth.token: hush-hush-hush-hush")
	loaded := m.load()
	check.That(t, len(loaded.Withheld) == 1 && !strings.Contains(loaded.Withheld[0].String(), "hush"), "%v", loaded.Withheld)
}

func TestEnvironment(t *testing.T) {
	m := newMachine(t)
	m.environ = []string{
		"ORCHESTRA_UNINITIALIZED=allow", "ORCHESTRA_SCOPE_REQUIRED=1", "ORCHESTRA_SANDBOX=", "ORCHESTRA_SANDBX=off", "ORCHESTRA_RUN=abc",
		"OTHER=x", "ORCHESTRA_", `ORCHESTRA_HOOKS=[{event: post, command: ./x}]`,
	}
	loaded := m.load()
	s := loaded.Settings
	if s.Uninitialized != settings.Allow || !s.Scope.Required || s.Sandbox != settings.Best || len(s.Hooks) != 1 || s.Hooks[0].Command != "./x" {
		t.Errorf("%+v", s)
	}
	if want := []string{
		"unknown environment variable ORCHESTRA_SANDBX is ignored; did you mean ORCHESTRA_SANDBOX?",
		"unknown environment variable ORCHESTRA_ is ignored",
	}; !reflect.DeepEqual(loaded.Warnings, want) {
		t.Errorf("warnings %q", loaded.Warnings)
	}
	for _, bad := range []string{"ORCHESTRA_SANDBOX=maybe", "ORCHESTRA_SCOPE_REQUIRED=yes", "ORCHESTRA_LIMITS_RATE=many", "ORCHESTRA_HOOKS=[", "ORCHESTRA_HOOKS=./x"} {
		m.environ = []string{bad}
		name, _, _ := strings.Cut(bad, "=")
		_, err := m.tryLoad()
		check.That(t, errors.Is(err, settings.ErrInvalid) && strings.Contains(err.Error(), name), "%s: %v", bad, err)
	}
}

func TestFlags(t *testing.T) {
	m := newMachine(t)
	m.flags = map[string]string{"http.listn": ":1"}
	_, err := m.tryLoad()
	check.That(t, errors.Is(err, settings.ErrInvalid) && strings.Contains(err.Error(), "did you mean http.listen?"), "%v", err)
	m.flags = map[string]string{"http.listen": "nowhere"}
	_, err = m.tryLoad()
	check.That(t, errors.Is(err, settings.ErrInvalid) && strings.Contains(err.Error(), "command line: http.listen"), "%v", err)
}

func TestTimeoutStaysUnderTheLongest(t *testing.T) {
	m := newMachine(t)
	m.setUser("commands.max_timeout: 60s")
	loaded := m.load()
	check.That(t, loaded.Settings.Commands.Timeout == time.Minute && len(loaded.Warnings) == 0,
		"%v %v", loaded.Settings.Commands.Timeout, loaded.Warnings)
	m.environ = []string{"ORCHESTRA_COMMANDS_TIMEOUT=90s"}
	loaded = m.load()
	check.That(t, loaded.Settings.Commands.Timeout == time.Minute && len(loaded.Warnings) == 1,
		"%v %v", loaded.Settings.Commands.Timeout, loaded.Warnings)
}

func TestUserDir(t *testing.T) {
	for _, test := range []struct {
		environ []string
		want    string
	}{
		{[]string{"HOME=/home/x"}, "/home/x/.config/orchestra-mcp"},
		{[]string{"HOME=/home/x", "XDG_CONFIG_HOME=/cfg"}, "/cfg/orchestra-mcp"},
		{[]string{"HOME=/home/x", "XDG_CONFIG_HOME=relative"}, "/home/x/.config/orchestra-mcp"},
		{[]string{"HOME=/a", "HOME=/b"}, "/b/.config/orchestra-mcp"},
		{nil, ""},
	} {
		got := settings.UserDir(test.environ)
		check.That(t, got == test.want, "%v: %q, want %q", test.environ, got, test.want)
	}
}

// TestSeatbeltIsTheOperators: what is held by it need not be held as a workspace's file thinks, and without it nothing is held, so no
// such file turns it on or off.
func TestSeatbeltIsTheOperators(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		m := newMachine(t)
		m.setUser(fmt.Sprintf("commands.seatbelt: %v\n", wanted))
		m.setWorkspace(fmt.Sprintf("commands.seatbelt: %v\n", !wanted))
		loaded := m.load()
		check.That(t, loaded.Settings.Commands.Seatbelt == wanted && withheld(loaded) == "commands.seatbelt", "%v: %v %s", wanted, loaded.Settings.Commands.Seatbelt, withheld(loaded))
		m.trust()
		check.That(t, m.load().Settings.Commands.Seatbelt == !wanted, "%v: what is trusted has no effect", wanted)
	}
	given := func() sandbox.Ability { return sandbox.Ability{Level: sandbox.None} }
	for _, c := range []struct{ seatbelt, off bool }{{false, false}, {true, false}, {true, true}} {
		s := settings.Defaults()
		s.Commands.Seatbelt = c.seatbelt
		if c.off {
			s.Sandbox = settings.Off
		}
		check.That(t, s.Ability(given)().NoSeatbelt == nil, "%+v: another's ability is changed", c)
		a := s.Ability(nil)()
		tried := a.Level == sandbox.Seatbelt || a.NoSeatbelt != nil
		check.That(t, tried == (c.seatbelt && !c.off && sandbox.Probe().Level == sandbox.None), "%+v: %+v", c, a)
	}
}
