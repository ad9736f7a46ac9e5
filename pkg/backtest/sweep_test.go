package backtest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// dice makes files of the operator and calls of an agent.
type dice struct{ *rand.Rand }

func (d dice) of(all ...string) string { return all[d.IntN(len(all))] }

func (d dice) some(most int, all ...string) (picked []string) {
	for range d.IntN(most + 1) {
		picked = append(picked, fmt.Sprintf("%q", d.of(all...)))
	}
	return picked
}

func (d dice) intents() string {
	var b strings.Builder
	b.WriteString("active_intents:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "  - {id: INT-%03d, name: n, status: %s, owned_scope: [%s], commands: {allow: [%s], ask: [%s], deny: [%s]}, rules: [%s]}\n", i+1,
			d.of("IN_PROGRESS", "IN_PROGRESS", "TODO", "BLOCKED", "DONE"),
			strings.Join(d.some(3, "src/**", "src/a/*", "docs/", "**/*.md", "lib/{a,b}.txt"), ", "),
			strings.Join(d.some(2, "true", "git status"), ", "), strings.Join(d.some(1, "git", "echo hi", "true"), ", "),
			strings.Join(d.some(1, "git push", "rm", "true -x"), ", "), d.rules())
	}
	return b.String()
}

func (d dice) rules() string {
	return d.of("", "", `{name: kind, when: 'effect.kind == "delete"', action: refuse}`, `{name: path, when: 'effect.path.endsWith(".md")', action: ask}`,
		`{name: text, when: 'effect.after.contains("eval")', action: refuse}`, `{name: line, when: 'command.line.contains("push")', action: ask}`,
		`{name: size, when: 'effect.after_size > 6', action: ask}`)
}

func (d dice) ignore() string {
	var b strings.Builder
	for range d.IntN(4) {
		b.WriteString(d.of("secret:.env*", "/lib/", "*.lock", "!src/a.lock", "approve:INT-001", "intent:INT-002", "unscoped:docs/**", "INT-003", "secret:src/a/", " wrong:") + "\n")
	}
	return b.String()
}

func (d dice) settings(s *settings.Settings) {
	choice := func(all ...settings.Choice) settings.Choice { return all[d.IntN(len(all))] }
	for _, a := range []*settings.Choice{&s.Approvals.ScopeViolation, &s.Approvals.IgnoredPath, &s.Approvals.MissingIntent, &s.Approvals.ProgramConfig} {
		*a = choice(settings.Refuse, settings.Elicit, settings.Ask)
	}
	s.Approvals.SelectIntent = choice(settings.Never, settings.Ask)
	s.Scope.Required, s.MutationClass, s.Write.Blind = d.IntN(3) == 0, choice(settings.Warn, settings.Enforce), choice(settings.Refuse, settings.Allow)
	s.Commands.Default, s.Commands.Unjudged = choice(settings.Allow, settings.Ask, settings.Deny), choice(settings.Auto, settings.Allow, settings.Ask, settings.Deny)
	s.Commands.Network, s.Sandbox = choice(settings.Allow, settings.Allow, settings.Deny), choice(settings.Off, settings.Best)
	s.Commands.Deny = nil
	if d.IntN(2) == 0 {
		s.Commands.Deny = []settings.CommandRule{{Prefix: d.of("git push", "echo secret", "./run")}}
	}
}

func (d dice) path() string {
	return d.of("src/a.txt", "src/a/b.txt", "src/a.lock", "docs/other.md", "docs/n.md", "lib/a.txt", ".env", "src/.env", ".git/config", ".vscode/x", "../x", "src", "HEAD", "link/x.md", "notes.md")
}

func (d dice) call() (tool string, a args) {
	content := d.of("short\n", "something with eval in it\n", "x\n", "")
	switch d.IntN(10) {
	case 0, 1, 2:
		return "write_to_file", args{"path": d.path(), "content": content}
	case 3:
		return "read_file", args{"path": d.path()}
	case 4:
		return "edit_file", args{"path": d.path(), "old_string": d.of("one", "short"), "new_string": d.of("eval", "1"), "mutation_class": d.of("AST_REFACTOR", "INTENT_EVOLUTION")}
	case 5:
		lines := []string{"*** Begin Patch"}
		for range 1 + d.IntN(3) {
			lines = append(lines, d.of("*** Delete File: ", "*** Add File: ")+d.path())
			if strings.HasPrefix(lines[len(lines)-1], "*** Add") {
				lines = append(lines, "+"+content)
			}
		}
		return "apply_patch", args{"patch": strings.Join(append(lines, "*** End Patch"), "\n")}
	case 6, 7:
		return "execute_command", args{"command": d.of("true", "true -x", "git status", "git push", "echo hi > "+d.path(), "$X y", "echo secret --token=abcdef[12]345678 | cat", "sh -c 'echo hi'", `echo x > $'src/\xff'`, `cd $'src/\xfe'; echo --token "a b$(date)c" > $'docs/\xff'`, "(cd src && ./run)")}
	case 8:
		return "select_active_intent", args{"intent_id": d.of("INT-001", "INT-002", "INT-003", "INT-009")}
	}
	return "request_scope_expansion", args{"paths": []string{d.of("lib/**", "docs/x")}, "reason": "r", "intent_id": "INT-001"}
}

// TestASweep: whatever the operator's files and settings say, and whatever is called under them, is decided again as it was.
func TestASweep(t *testing.T) {
	seed := uint64(check.Rounds(7, 0))
	for round := range check.Rounds(8, 400) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			if seed == 0 {
				t.Parallel()
			}
			d := dice{rand.New(rand.NewPCG(uint64(round), seed))}
			w := newWorld(t, nil)
			check.OK(t, os.Symlink("docs", filepath.Join(w.dir, "link")))
			for range 4 {
				w.write(intent.FilePath, d.intents())
				w.write(ignoreFile, d.ignore())
				w.serve(d.settings)
				w.elicits = d.IntN(2) == 0
				w.session = ""
				for range 12 {
					tool, a := d.call()
					w.call(tool, a)
				}
			}
			w.reproduces("secrets were left out of the command line, and a rule looks at them")
		})
	}
}
