package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// Commands of two sessions, of one server and of two, run at the same time on a
// workspace without a repository: each is charged with what is in its scope, what is in nobody's
// stands as a violation, and each can be undone by itself.
func TestCommandsSideBySide(t *testing.T) {
	for _, m := range machines(t) {
		for _, servers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", m.name, servers), func(t *testing.T) {
				t.Parallel()
				sideBySide(t, m, servers)
			})
		}
	}
}

func sideBySide(t *testing.T, m machine, servers int) {
	w := newWorkspace(t)
	w.remove(".git")
	w.write("other/keep.md", "keep\n")
	p := w.startedOn(m, unjudged)
	q := p
	if servers == 2 {
		q = w.startedOn(m, unjudged)
	}
	first, second := p.agent().selects("INT-001"), q.agent().selects("INT-002")
	p.send(callLine("one", "execute_command", args{"session": first,
		"command": "touch src/began; until [ -e docs/began ]; do sleep 0.05; done; echo 1 >> src/a.txt; echo 1 | tee -a other/keep.md; echo new > src/new.txt; touch src/done"}))
	q.send(callLine("two", "execute_command", args{"session": second,
		"command": "touch docs/began; until [ -e src/done ]; do sleep 0.05; done; echo 2 >> docs/other.md"}))
	answers := map[any]answer{}
	for _, from := range []*process{p, q} {
		for have := len(answers); len(answers) == have; {
			if m, ok := from.next(); ok && m.Method == "" {
				answers[m.ID] = m.result(t)
			}
		}
	}
	r1, r2 := answers["one"], answers["two"]
	got := [][]string{changed(r1.Fields), changed(r2.Fields)}
	for i, want := range [][]string{{"src/a.txt", "src/began", "src/done", "src/new.txt"}, {"docs/began", "docs/other.md"}} {
		own := slices.DeleteFunc(slices.Clone(got[i]), func(path string) bool { return path == "!other/keep.md" })
		check.That(t, slices.Equal(own, want), "command %d: %q, want %q", i, own, want)
	}
	check.Equal(t, slices.Contains(slices.Concat(got...), "!other/keep.md"), (m.level == "none"), "out of both scopes: %q", got)
	if m.level == "none" {
		w.want("other/keep.md", "keep\n1\n")
		w.wantRecord(`"kind":"command"`, `"violations":[`, `"path":"other/keep.md"`)
	} else {
		w.want("other/keep.md", "keep\n")
	}
	w.commands("undo", r1.str("record_id"), "--yes")
	w.want("src/a.txt", "one\ntwo\nthree\n")
	w.want("docs/other.md", "# Other\n2\n")
	_, err := os.Stat(w.path("src/new.txt"))
	check.That(t, os.IsNotExist(err), "src/new.txt: %v", err)
	w.commands("undo", r2.str("record_id"), "--yes")
	w.want("docs/other.md", "# Other\n")
	w.want("other/keep.md", "keep\n")
}

// What builds write into caches and places for it is recorded as build, and is
// no violation.
func TestBuildsThatWriteCaches(t *testing.T) {
	for _, m := range machines(t)[:1] {
		w := newWorkspace(t)
		w.write("src/go.mod", "module example.org/x\n\ngo 1.21\n")
		w.write("src/x.go", "package x\n\nconst X = 1\n")
		w.write("package.json", `{"name": "x", "scripts": {"build": "node build.js"}}`)
		w.write("build.js", `const fs = require("fs"); fs.mkdirSync("node_modules/.cache/x", {recursive: true}); fs.writeFileSync("node_modules/.cache/x/y", "cached")`)
		w.write("node_modules/dep/index.js", "module.exports = 1\n")
		w.write("pyproject.toml", "[project]\nname = \"x\"\n")
		w.write("lib/mod.py", "X = 1\n")
		a := w.startedOn(m, unjudged).agent()
		session := a.selects("INT-001")
		for line, cached := range map[string]string{
			"cd src && go build ./... && test -n \"$(ls $(go env GOCACHE))\"": "",
			"node build.js": "node_modules/.cache/x/y",
			"python3 -c 'import sys; sys.path.insert(0, \"lib\"); import mod'": "",
		} {
			r := a.ok("execute_command", args{"session": session, "command": line})
			check.That(t, r.Fields["exit_code"] == float64(0) && len(violations(r)) == 0, "%s: %v", line, r.Fields)
			var want []string
			if cached != "" {
				want = []string{cached}
				w.wantRecord(`"kind":"build"`, `"path":"`+cached+`"`, r.str("record_id"))
			}
			got := changed(r.Fields)
			check.That(t, slices.Equal(got, want), "%s changed %q, want %q", line, got, want)
		}
		wrong := w.records(`"violations":[`)
		check.That(t, len(wrong) == 0, "violations: %s", wrong)
		w.want("node_modules/.cache/x/y", "cached")
		_, err := os.Stat(w.path("lib/__pycache__"))
		check.That(t, os.IsNotExist(err), "__pycache__: %v", err)
	}
}

// Two commands die with their server. Each is recorded with what is in its
// scope: neither is charged with what the other did.
func TestCommandsKilledSideBySide(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			p := w.startedOn(m, unjudged)
			first, second := p.agent().selects("INT-001"), p.agent().selects("INT-002")
			p.send(callLine("one", "execute_command", args{"session": first,
				"command": "echo 1 >> src/a.txt; touch src/began; sleep 600"}))
			p.send(callLine("two", "execute_command", args{"session": second,
				"command": "until [ -e src/began ]; do sleep 0.05; done; echo 2 >> docs/other.md; touch docs/began; sleep 600"}))
			w.appears("docs/began") // both have changed their files
			p.kill()
			if said, code := w.command("verify"); code != 0 || !strings.Contains(said, "Not settled: 2 changes") || !strings.Contains(said, "execute_command echo 1 >>") {
				t.Errorf("verify before it is settled: %d\n%s", code, said)
			}
			said := w.commands("verify", "--json")
			check.That(t, strings.Count(said, `"command": "`) == 2, "verify --json before it is settled: %s", said)
			if said, _ := w.command("doctor"); !strings.Contains(said, "in the middle of a change (\"execute_command ") {
				t.Errorf("doctor before it is settled: %s", said)
			}
			w.startedOn(m, unjudged).end() // asked for nothing
			if said := w.commands("verify"); strings.Contains(said, "Not settled") {
				t.Errorf("verify afterwards: %s", said)
			}
			settled := w.records(`"kind":"recovered"`)
			check.Must(t, len(settled) == 2, "settled: %q", settled)
			for _, record := range settled {
				own, others := "src/a.txt", "docs/other.md"
				if strings.Contains(record, `"intent_id":"INT-002"`) {
					own, others = others, own
				}
				changes, _, _ := strings.Cut(record[strings.Index(record, `"changes":`):], "]")
				if !strings.Contains(changes, `"path":"`+own+`"`) || strings.Contains(changes, others) || strings.Contains(record, `"violations"`) {
					t.Errorf("settled: %s", record)
				}
			}
		})
	}
}
