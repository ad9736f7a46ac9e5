package server_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// renaming is an exported function of three files of a language, "first", and
// the patch that renames it to "second".
type renaming struct {
	language string
	files    map[string]string
}

func renamings() []renaming {
	return []renaming{
		{"go", map[string]string{
			"go.mod":      "module example.com/m\n",
			"a/a.go":      "package a\n\nfunc First() int { return 1 }\n",
			"b/b.go":      "package b\n\nimport \"example.com/m/a\"\n\nvar B = a.First()\n",
			"cmd/main.go": "package main\n\nimport \"example.com/m/a\"\n\nfunc main() { println(a.First()) }\n",
			"c/c.go":      "package c\n\nvar C = 1\n",
		}},
		{"typescript", map[string]string{
			"a/a.ts":   "export function First(): number { return 1; }\n",
			"b/b.ts":   "import { First } from '../a/a';\nexport const b = First();\n",
			"cmd/m.ts": "import { First } from '../a/a.js';\nconsole.log(First());\n",
			"c/c.ts":   "export const c = 1;\n",
		}},
		{"python", map[string]string{
			"m/a.py":     "def First():\n    return 1\n",
			"m/b.py":     "from .a import First\n\nb = First()\n",
			"use/run.py": "from m.a import First\n\nprint(First())\n",
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
			write(t, dir, name, content)
		}
	}
	b = start(t, dir, configure...).connect()
	return b, b.selects("INT-005")
}

// A renaming is proven where all uses in the workspace changed with it, and
// where one did not, the record says which.
func TestRenamingsAndUsesElsewhere(t *testing.T) {
	t.Parallel()
	for _, r := range renamings() {
		use := map[string]string{}
		for name, content := range r.files {
			if strings.HasPrefix(name, "b/") || name == "m/b.py" {
				use[strings.Replace(name, "b", "forgotten", 1)] = content
			}
		}
		forgotten := ""
		for name := range maps.Keys(use) {
			forgotten = name
		}
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
				reply := b.ok("apply_patch", args{"session": s, "patch": r.patch(), "mutation_class": "AST_REFACTOR"})
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
			half := renaming{files: maps.Clone(r.files)}
			use := ""
			for name, content := range r.files {
				if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "use/") {
					use = name
					// One of its uses stays, where it changes all the same.
					half.files[name] = strings.Replace(content, "First())", "First() )", 1)
				}
			}
			p := strings.TrimSuffix(r.patch(use), "\n*** End Patch") + "\n*** Update File: " + use + "\n"
			for line := range strings.Lines(r.files[use]) {
				if strings.Contains(line, "First())") {
					p += "@@\n-" + line + "+" + strings.Replace(line, "First())", "First() )", 1)
				}
			}
			refused := b.refused("MUTATION_CLASS_MISMATCH", "apply_patch", args{"session": s, "patch": p + "*** End Patch", "mutation_class": "AST_REFACTOR"})
			if text := refused.str("error"); !strings.Contains(text, use+":") {
				t.Errorf("%s", text)
			}
			b.holds(r.files)
		})
	}
}

// What a command changed is judged in the same way.
func TestRenamingsByACommand(t *testing.T) {
	t.Parallel()
	for _, r := range renamings() {
		t.Run(r.language, func(t *testing.T) {
			b, s := usesBench(t, r, nil, withoutSandbox)
			b.ok("execute_command", args{"session": s, "command": r.command()})
			lines := b.ledgerLines()
			if last := lines[len(lines)-1]; !strings.Contains(last, `"evidence":"proven"`) || !strings.Contains(last, "; no other file names it") {
				t.Errorf("%s", last)
			}
			b.verify()
		})
	}
}

// Who declares a refactor is told which file has to follow.
func TestTheAgentIsToldOfTheUse(t *testing.T) {
	t.Parallel()
	r := renamings()[0]
	b, s := usesBench(t, r, map[string]string{"README.md": "Call First."}, func(o *server.Options) { o.Settings.MutationClass = settings.Warn })
	reply := b.ok("apply_patch", args{"session": s, "patch": r.patch(), "mutation_class": "AST_REFACTOR"})
	if !strings.Contains(reply.Text, "README.md:1 has the word First") || reply.str("mutation_class") != "AST_REFACTOR" {
		t.Errorf("%s", reply.Text)
	}
}
