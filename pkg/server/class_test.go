package server_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const goBefore = "package a\n\nfunc add(a, b int) int {\n\tsum := a + b\n\treturn sum\n}\n"

// classBench has a Go file that a session has read.
func classBench(t *testing.T, choice settings.Choice) (b *bench, s string) {
	t.Helper()
	dir := newWorkspace(t)
	write(t, dir, "src/a.go", goBefore)
	b = start(t, dir, func(o *server.Options) { o.Settings.MutationClass = choice }).connect()
	s = b.selects("INT-001")
	b.ok("read_file", args{"session": s, "path": "src/a.go"})
	return b, s
}

// What is declared a refactor and is none: enforce refuses it before anything
// happens, warn says so, record only records it.
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
			if r := b.ok("edit_file", rename); r.str("mutation_class") != "AST_REFACTOR" {
				t.Errorf("%s", r.Text)
			}
			b.wantRecord(`"mutation_class":"AST_REFACTOR"`, `"evidence":"proven"`, `"reason":"renamed local variable sum to total in line 4"`)
			if choice == settings.Enforce {
				r := b.refused("MUTATION_CLASS_MISMATCH", "edit_file", edit(s, "a + b", "a - b"))
				if d := r.details(); d["declared"] != "AST_REFACTOR" || d["computed"] != "INTENT_EVOLUTION" || d["evidence"] != "unproven" ||
					!strings.Contains(r.str("error"), `src/a.go:4: in func add the operator "+" became the operator "-"`) {
					t.Errorf("%s", r.Text)
				}
				if got := b.read("src/a.go"); !strings.Contains(got, "a + b") {
					t.Errorf("a refused change was made:\n%s", got)
				}
				return
			}
			r := b.ok("edit_file", edit(s, "a + b", "a - b"))
			if warned := strings.Contains(r.Text, "recorded as INTENT_EVOLUTION"); warned != (choice == settings.Warn) || r.str("mutation_class") != "INTENT_EVOLUTION" {
				t.Errorf("%s", r.Text)
			}
			b.wantRecord(`"mutation_class":"INTENT_EVOLUTION"`, `"declared":"AST_REFACTOR","computed":"INTENT_EVOLUTION","evidence":"unproven","reason":"src/a.go:4: `)
		})
	}
}

// Every tool that changes files has its class computed, whatever was declared;
// the files of a patch together.
func TestClassOfEveryTool(t *testing.T) {
	t.Parallel()
	b, s := classBench(t, settings.Warn)
	write(t, b.dir, "src/b.go", "package a\n\nfunc twice(n int) int { return add(n, n) }\n")
	for _, c := range []struct {
		tool      string
		arguments args
		class     string
		evidence  string
	}{
		{"write_to_file", args{"path": "src/a.go", "content": strings.ReplaceAll(goBefore, "\tsum", "\t// The sum.\n\tsum")}, "AST_REFACTOR", "proven"},
		{"apply_diff", args{"path": "src/a.go", "diff": "<<<<<<< SEARCH\nfunc add(a, b int) int {\n=======\nfunc add(a int, b int) int {\n>>>>>>> REPLACE"}, "AST_REFACTOR", "proven"},
		{"apply_patch", args{"patch": patch("*** Update File: src/a.go", "@@", "-func add(a int, b int) int {", "+func plus(a int, b int) int {",
			"*** Update File: src/b.go", "@@", "-func twice(n int) int { return add(n, n) }", "+func twice(n int) int { return plus(n, n) }")}, "AST_REFACTOR", `proven","reason":"renamed function add to plus in line 3; no other file names it`},
		{"apply_patch", args{"patch": patch("*** Update File: src/a.go", "@@", "-func plus(a int, b int) int {", "+func minus(a int, b int) int {")}, "AST_REFACTOR", `proven-local","reason":"renamed function plus to minus in line 3; src/b.go:3 has the word plus`},
		{"apply_patch", args{"patch": patch("*** Add File: src/c.go", "+package a")}, "INTENT_EVOLUTION", "unproven"},
		{"apply_patch", args{"patch": patch("*** Delete File: src/c.go")}, "INTENT_EVOLUTION", "unproven"},
		{"edit_file", args{"path": "src/a.go", "old_string": "return sum", "new_string": "return 0"}, "INTENT_EVOLUTION", "unproven"},
		{"write_to_file", args{"path": "src/d.zig", "content": "x"}, "INTENT_EVOLUTION", "unsupported"},
	} {
		c.arguments["session"] = s
		if r := b.ok(c.tool, c.arguments); r.str("mutation_class") != c.class {
			t.Errorf("%s %v: %s", c.tool, c.arguments, r.Text)
		}
		lines := b.ledgerLines()
		if last := lines[len(lines)-1]; !strings.Contains(last, `"computed":"`+c.class+`","evidence":"`+c.evidence+`"`) {
			t.Errorf("%s: %s", c.tool, last)
		}
	}
}

// Rules can ask for the class; it is computed for those that do.
func TestRulesOnClasses(t *testing.T) {
	t.Parallel()
	b := ruledBench(t, `rules:
  - {name: only-refactors, when: 'effect.path.endsWith(".go") && class.computed != "AST_REFACTOR"', message: Refactors only.}
  - {name: proven, when: 'effect.path == "old.go" && class.evidence != "proven"', message: Only what is proven.}`)
	write(t, b.dir, "new.go", goBefore)
	write(t, b.dir, "old.go", goBefore)
	s := b.selects("INT-001")
	b.refused("RULE_VIOLATION", "edit_file", args{"session": s, "path": "new.go", "old_string": "a + b", "new_string": "a * b"})
	b.ok("edit_file", args{"session": s, "path": "new.go", "old_string": "func add", "new_string": "func plus"})
	b.refused("RULE_VIOLATION", "edit_file", args{"session": s, "path": "old.go", "old_string": "func add", "new_string": "func plus"})
	b.ok("edit_file", args{"session": s, "path": "old.go", "old_string": "sum", "new_string": "n", "replace_all": true})
}
