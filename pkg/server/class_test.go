package server_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const goBefore = "package a\n\nfunc add(a, b int) int {\n\tsum := a + b\n\treturn sum\n}\n"

// classBench has a Go file that a session has read.
func classBench(t *testing.T, choice settings.Choice) (b *bench, s string) {
	t.Helper()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/a.go", goBefore)
	b = start(t, dir, func(o *server.Options) { o.Settings.MutationClass = choice }).connect()
	s = b.Selects("INT-001")
	b.OK("read_file", args{"session": s, "path": "src/a.go"})
	return b, s
}

// What is declared a refactor and is none: enforce refuses it before anything happens, warn says so, record only records it.
func TestDeclaredRefactors(t *testing.T) {
	t.Parallel()
	edit := func(s, old, replacement string) args {
		return args{"session": s, "path": "src/a.go", "old_string": old, "new_string": replacement, "mutation_class": "AST_REFACTOR"}
	}
	rename := args{"path": "src/a.go", "old_string": "sum", "new_string": "total", "replace_all": true, "mutation_class": "AST_REFACTOR"}
	for _, choice := range []settings.Choice{settings.Record, settings.Warn, settings.Enforce} {
		t.Run(string(choice), func(t *testing.T) {
			b, s := classBench(t, choice)
			rename["session"] = s
			check.Equal(t, b.OK("edit_file", rename).Str("mutation_class"), "AST_REFACTOR")
			b.wantRecord(`"mutation_class":"AST_REFACTOR"`, `"evidence":"proven"`, `"reason":"renamed local variable sum to total in line 4"`)
			if choice == settings.Enforce {
				r := b.Refused("MUTATION_CLASS_MISMATCH", "edit_file", edit(s, "a + b", "a - b"))
				if d := r.Details(); d["declared"] != "AST_REFACTOR" || d["computed"] != "INTENT_EVOLUTION" || d["evidence"] != "unproven" ||
					!strings.Contains(r.Str("error"), `src/a.go:4: "+" became "-"`) {
					t.Errorf("%s", r.Text)
				}
				got := b.read("src/a.go")
				check.That(t, strings.Contains(got, "a + b"), "a refused change was made:\n%s", got)
				return
			}
			r := b.OK("edit_file", edit(s, "a + b", "a - b"))
			warned := strings.Contains(r.Text, "recorded as INTENT_EVOLUTION")
			check.That(t, warned == (choice == settings.Warn) && r.Str("mutation_class") == "INTENT_EVOLUTION", "%s", r.Text)
			b.wantRecord(`"mutation_class":"INTENT_EVOLUTION"`, `"declared":"AST_REFACTOR","computed":"INTENT_EVOLUTION","evidence":"unproven","reason":"src/a.go:4: `)
		})
	}
}

// Every tool that changes files has its class computed, whatever was declared; the files of a patch together.
func TestClassOfEveryTool(t *testing.T) {
	t.Parallel()
	b, s := classBench(t, settings.Warn)
	check.Write(t, b.dir, "src/b.go", "package a\n\nfunc twice(n int) int { return add(n, n) }\n")
	for _, c := range []struct {
		tool      string
		arguments args
		class     string
		evidence  string
	}{
		{"write_to_file", args{"path": "src/a.go", "content": strings.ReplaceAll(goBefore, "\tsum", "\t// The sum.\n\tsum")}, "AST_REFACTOR", "proven"},
		{"apply_diff", args{"path": "src/a.go", "diff": "<<<<<<< SEARCH\nfunc add(a, b int) int {\n=======\nfunc add(\n\ta, b int,\n) int {\n>>>>>>> REPLACE"}, "AST_REFACTOR", "proven"},
		{"apply_patch", args{"patch": patch("*** Update File: src/a.go", "@@", "-func add(", "+func plus(",
			"*** Update File: src/b.go", "@@", "-func twice(n int) int { return add(n, n) }", "+func twice(n int) int { return plus(n, n) }")}, "AST_REFACTOR", `proven","reason":"renamed function add to plus in line 3; no other file names it`},
		{"apply_patch", args{"patch": patch("*** Update File: src/a.go", "@@", "-func plus(", "+func minus(")}, "AST_REFACTOR", `proven-local","reason":"renamed function plus to minus in line 3; src/b.go:3 has the word plus`},
		{"apply_patch", args{"patch": patch("*** Add File: src/c.go", "+package a")}, "INTENT_EVOLUTION", "unproven"},
		{"apply_patch", args{"patch": patch("*** Delete File: src/c.go")}, "INTENT_EVOLUTION", "unproven"},
		{"edit_file", args{"path": "src/a.go", "old_string": "return sum", "new_string": "return 0"}, "INTENT_EVOLUTION", "unproven"},
		{"write_to_file", args{"path": "src/d.zig", "content": "x"}, "INTENT_EVOLUTION", "unsupported"},
	} {
		c.arguments["session"] = s
		check.Equal(t, b.OK(c.tool, c.arguments).Str("mutation_class"), c.class, "%s %v", c.tool, c.arguments)
		lines := b.ledgerLines()
		last := lines[len(lines)-1]
		check.That(t, strings.Contains(last, `"computed":"`+c.class+`","evidence":"`+c.evidence+`"`), "%s: %s", c.tool, last)
	}
}

// Rules can ask for the class; it is computed for those that do.
func TestRulesOnClasses(t *testing.T) {
	t.Parallel()
	b := ruledBench(t, `rules:
  - {name: only-refactors, when: 'effect.path.endsWith(".go") && class.computed != "AST_REFACTOR"', message: Refactors only.}
  - {name: proven, when: 'effect.path == "old.go" && class.evidence != "proven"', message: Only what is proven.}`)
	check.Write(t, b.dir, "new.go", goBefore)
	check.Write(t, b.dir, "old.go", goBefore)
	s := b.Selects("INT-001")
	b.Refused("RULE_VIOLATION", "edit_file", args{"session": s, "path": "new.go", "old_string": "a + b", "new_string": "a * b"})
	b.OK("edit_file", args{"session": s, "path": "new.go", "old_string": "func add", "new_string": "func plus"})
	b.Refused("RULE_VIOLATION", "edit_file", args{"session": s, "path": "old.go", "old_string": "func add", "new_string": "func plus"})
	b.OK("edit_file", args{"session": s, "path": "old.go", "old_string": "sum", "new_string": "n", "replace_all": true})
}

// renaming is an exported function of three files of a language, "first", and the patch that renames it to "second".
type renaming struct {
	language      string
	second, third string // two of the files, which use it
	files         map[string]string
}

func renamings() []renaming {
	return []renaming{
		{"go", "a/b.go", "a/use.go", map[string]string{
			"go.mod":   "module example.com/m\n",
			"a/a.go":   "package a\n\nfunc First() int { return 1 }\n",
			"a/b.go":   "package a\n\nvar B = First()\n",
			"a/use.go": "package a\n\nfunc Use() { println(First()) }\n",
			"c/c.go":   "package c\n\nvar C = 1\n",
		}},
		{"typescript", "b/b.ts", "cmd/m.ts", map[string]string{
			"a/a.ts":   "export function First(): number { return 1; }\n",
			"b/b.ts":   "import { First } from '../a/a';\nexport const b = First();\n",
			"cmd/m.ts": "import { First } from '../a/a';\nconsole.log(First());\n",
			"c/c.ts":   "export const c = 1;\n",
		}},
		{"python", "m/b.py", "use/run.py", map[string]string{
			"m/a.py":     "def First():\n    return 1\n",
			"m/b.py":     "from .a import First\n\nb = First()\n",
			"use/run.py": "from ..m.a import First\n\nprint(First())\n",
			"c/c.py":     "c = 1\n",
		}},
	}
}

// patch renames in all files that have the name, but for some.
func (r renaming) patch(but ...string) string {
	var lines []string
	for name, content := range r.files {
		if !strings.Contains(content, "First") || strings.Contains(strings.Join(but, " "), name) {
			continue
		}
		lines = append(lines, "*** Update File: "+name)
		for line := range strings.Lines(content) {
			line = strings.TrimSuffix(line, "\n")
			if renamed := strings.ReplaceAll(line, "First", "Second"); renamed != line {
				lines = append(lines, "@@", "-"+line, "+"+renamed)
			}
		}
	}
	return patch(lines...)
}

func (r renaming) command() string {
	return `find . -path ./.orchestration -prune -o -type f -name '*.??' -print -o -type f -name '*.go' -print | xargs sed -i s/First/Second/g`
}

func usesBench(t *testing.T, r renaming, more map[string]string, configure ...func(*server.Options)) (b *bench, s string) {
	t.Helper()
	dir := newWorkspace(t)
	for _, files := range []map[string]string{r.files, more} {
		for name, content := range files {
			check.Write(t, dir, name, content)
		}
	}
	b = start(t, dir, configure...).connect()
	return b, b.Selects("INT-005")
}

// A renaming is proven where all uses in the workspace changed with it, and where one did not, the record says which.
func TestRenamingsAndUsesElsewhere(t *testing.T) {
	t.Parallel()
	for _, r := range renamings() {
		forgotten := strings.Replace(r.second, "b", "forgotten", 1)
		use := map[string]string{forgotten: r.files[r.second]}
		for _, c := range []struct {
			name     string
			more     map[string]string
			evidence string
			reason   string
		}{
			{"everywhere", nil, "proven", "; no other file names it"},
			{"one use forgotten", use, "proven-local", "; " + forgotten + ":"},
			{"the documentation forgotten", map[string]string{"README.md": "# M\n\nCall `First`.\n"}, "proven-local", "; README.md:3 has the word First"},
			{"a template that will mean another one", map[string]string{"web/x.tmpl": "{{ Second }}"}, "proven-local", "; web/x.tmpl:1 has the word Second"},
			{"what a build made", map[string]string{".gitignore": "dist/\n", "dist/x.js": "First()"}, "proven", "; no other file names it"},
			{"a secret file", map[string]string{".orchestration/.intentignore": "secret:*.key\n", "x.key": "First: TOPSECRET\n"}, "proven-local", "; not all other files were looked at: a secret file is not looked into"},
		} {
			t.Run(r.language+"/"+c.name, func(t *testing.T) {
				b, s := usesBench(t, r, c.more)
				reply := b.OK("apply_patch", args{"session": s, "patch": r.patch(), "mutation_class": "AST_REFACTOR"})
				b.keeps(reply)
				lines := b.ledgerLines()
				last := lines[len(lines)-1]
				if !strings.Contains(last, `"evidence":"`+c.evidence+`"`) || !strings.Contains(last, c.reason) || strings.Contains(last, "TOPSECRET") {
					t.Errorf("want %s: %s\n%s", c.evidence, c.reason, last)
				}
				b.verify()
			})
		}
	}
}

// A use that is forgotten in a file of the call makes the whole call unproven.
func TestRenamingsThatForgetAFileOfTheCall(t *testing.T) {
	t.Parallel()
	for _, r := range renamings() {
		t.Run(r.language, func(t *testing.T) {
			b, s := usesBench(t, r, nil, func(o *server.Options) { o.Settings.MutationClass = settings.Enforce })
			use := r.third // one of its uses stays, where it changes all the same
			p := strings.TrimSuffix(r.patch(use), "\n*** End Patch") + "\n*** Update File: " + use + "\n"
			for line := range strings.Lines(r.files[use]) {
				if strings.Contains(line, "First())") {
					p += "@@\n-" + line + "+" + strings.Replace(line, "First())", "First() )", 1)
				}
			}
			refused := b.Refused("MUTATION_CLASS_MISMATCH", "apply_patch", args{"session": s, "patch": p + "*** End Patch", "mutation_class": "AST_REFACTOR"})
			text := refused.Str("error")
			check.That(t, strings.Contains(text, use+":"), "%s", text)
			b.holds(r.files)
		})
	}
}

// What a command changed is judged in the same way: in one language, and in all with ORCHESTRA_LONG=1.
func TestRenamingsByACommand(t *testing.T) {
	t.Parallel()
	for _, r := range renamings()[:check.Rounds(1, len(renamings()))] {
		t.Run(r.language, func(t *testing.T) {
			b, s := usesBench(t, r, nil, withoutSandbox)
			b.OK("execute_command", args{"session": s, "command": r.command()})
			lines := b.ledgerLines()
			last := lines[len(lines)-1]
			check.That(t, strings.Contains(last, `"evidence":"proven"`) && strings.Contains(last, "; no other file names it"), "%s", last)
			b.verify()
		})
	}
}

// Who declares a refactor is told which file has to follow.
func TestTheAgentIsToldOfTheUse(t *testing.T) {
	t.Parallel()
	r := renamings()[0]
	b, s := usesBench(t, r, map[string]string{"README.md": "Call First."}, func(o *server.Options) { o.Settings.MutationClass = settings.Warn })
	reply := b.OK("apply_patch", args{"session": s, "patch": r.patch(), "mutation_class": "AST_REFACTOR"})
	check.That(t, strings.Contains(reply.Text, "README.md:1 has the word First") && reply.Str("mutation_class") == "AST_REFACTOR", "%s", reply.Text)
}
