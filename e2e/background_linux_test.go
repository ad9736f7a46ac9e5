package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// behind starts a command in the background and returns its id and that of its output.
func (a agent) behind(session, line string) (id, artifact string) {
	a.T.Helper()
	r := a.OK("execute_command", args{"session": session, "command": line, "background": true})
	return r.Str("command_id"), r.Str("artifact_id")
}

// job is a command in the background as list_commands shows it.
func (a agent) job(session, id string) map[string]any {
	a.T.Helper()
	listed, _ := a.OK("list_commands", args{"session": session}).Object["commands"].([]any)
	for _, each := range listed {
		if job, _ := each.(map[string]any); job["command_id"] == id {
			return job
		}
	}
	a.T.Fatalf("no command %s: %v", id, listed)
	return nil
}

// endedJob is the job when it has ended by itself.
func (a agent) endedJob(session, id string) (job map[string]any) {
	a.T.Helper()
	eventually(a.T, "the command in the background ends", func() bool {
		job = a.job(session, id)
		return job["running"] == false
	})
	return job
}

// changed are the paths of changed files, with a mark at those out of scope.
func changed(fields map[string]any) (paths []string) {
	list, _ := fields["changed_files"].([]any)
	for _, each := range list {
		file, _ := each.(map[string]any)
		path, _ := file["path"].(string)
		if file["in_scope"] == false {
			path = "!" + path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// Two commands in the background overlap with each other and with a write of the agent: each change is charged to whom
// it is, what is out of scope cannot be written or is told as a violation when the command ends, and another session
// can neither see nor end them.
func TestBackgroundOutOfScope(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write("src/one/a.txt", "1\n")
			a := w.startedOn(m, unjudged).agent()
			session, docs := a.Selects("INT-001"), a.Selects("INT-002")
			w.write("other/keep.md", "keep\n")
			const wait = "until [ -e src/go ]; do sleep 0.05; done; "
			first, _ := a.behind(session, wait+"echo x >> src/one/a.txt; echo x | tee other/made.md; echo x | tee -a other/keep.md; true")
			second, _ := a.behind(docs, strings.Replace(wait, "src/go", "src/then", 1)+"echo y > docs/second.md")
			a.Refused("FILE_NOT_FOUND", "stop_command", args{"session": docs, "command_id": first})
			seen := fmt.Sprint(a.OK("list_commands", args{"session": docs}).Object["commands"])
			check.That(t, !strings.Contains(seen, first), "another session sees the command: %s", seen)
			a.OK("write_to_file", args{"session": session, "path": "src/mine.txt", "content": "mine\n"})
			w.write("src/go", "") // an editor outside, whom nobody can tell from the commands
			one := a.endedJob(session, first)
			w.write("src/then", "")
			two := a.endedJob(docs, second)
			want := []string{"src/go", "src/one/a.txt"}
			if m.level == "none" {
				want = append([]string{"!other/keep.md", "!other/made.md"}, want...)
				w.wantRecord(`"kind":"command"`, first, `"violations":[`, `"path":"other/keep.md"`)
			} else {
				w.want("other/keep.md", "keep\n")
			}
			got := changed(one)
			check.That(t, slices.Equal(got, want), "the first changed %q, want %q", got, want)
			if got := changed(two); !slices.Contains(got, "docs/second.md") || slices.Contains(got, "src/one/a.txt") {
				t.Errorf("the second changed %q", got)
			}
			_, err := os.Stat(w.path("other/made.md"))
			check.That(t, (err == nil) == (m.level == "none"), "other/made.md: %v", err)
			w.want("src/one/a.txt", "1\nx\n")
			w.want("src/mine.txt", "mine\n")
			w.wantRecord(`"kind":"mutation"`, `"path":"src/mine.txt"`)
			twice := w.records(`"kind":"command"`, `"path":"src/mine.txt"`)
			check.That(t, len(twice) == 0, "the agent's write is charged to a command: %s", twice)
			w.wantRecord(`"kind":"command"`, `"started":true`, first)
			w.wantRecord(`"kind":"command"`, first, `"path":"src/one/a.txt"`)
		})
	}
}

// A command in the background that prints without end is kept up to the cap,
// can be read meanwhile, and is ended by its session, with all that is left.
func TestBackgroundOutput(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			p := w.startedOn(m, unjudged, "ORCHESTRA_COMMANDS_OUTPUT_CAP=3MiB")
			a := p.agent()
			session := a.Selects("INT-001")
			before := peakMemory(t, p)
			id, artifact := a.behind(session, "setsid yes | tr y z")
			eventually(t, "the output is full", func() bool {
				r := a.OK("read_command_output", args{"session": session, "artifact_id": artifact, "tail": 1})
				return r.Object["total_bytes"] == float64(3<<20) && r.Object["running"] == true
			})
			if r := a.OK("read_command_output", args{"session": session, "artifact_id": artifact, "byte_offset": 3<<20 - 4, "limit": 100}); r.Str("content") != "z\nz\n" {
				t.Errorf("the end: %q", r.Str("content"))
			}
			files, _ := filepath.Glob(w.path(".orchestration/cache/output/*"))
			for _, name := range files {
				if info, err := os.Stat(name); err != nil || info.Size() > 3<<20+4096 {
					t.Errorf("%s has %d bytes (%v)", name, info.Size(), err)
				}
			}
			check.Equal(t, a.OK("stop_command", args{"session": session, "command_id": id}).Object["running"], false)
			left := w.left(p)
			check.That(t, len(left) == 0, "left: %q", left)
			grown := peakMemory(t, p) - before
			check.That(t, grown <= 24<<20*slowness(), "it cost %d MiB", grown>>20)
			w.wantRecord(`"kind":"command"`, id, `"ended_by":"stopped by its session"`)
		})
	}
}

// A command in the background does not outlive its intent or its server, however that ends. Below the level full, what
// a killed server leaves is ended by the next.
func TestBackgroundEnds(t *testing.T) {
	ends := map[string]func(w *workspace, p *process){
		"end of input": func(_ *workspace, p *process) { p.end() },
		"SIGTERM": func(_ *workspace, p *process) {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			p.exits()
		},
		"SIGKILL": func(_ *workspace, p *process) { p.kill() },
		"intent done": func(w *workspace, _ *process) {
			w.write(".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "IN_PROGRESS", "DONE", 1))
		},
	}
	for _, m := range machines(t) {
		for name, end := range ends {
			if m.level != "full" && name != "SIGKILL" && !check.Long() {
				continue
			}
			t.Run(m.name+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				p := w.startedOn(m, unjudged)
				a := p.agent()
				session := a.Selects("INT-001")
				a.behind(session, daemons+"echo x > src/by-command.txt; sleep 300")
				// The daemons, the shell that starts them or what it waits with, and the helper of the level full.
				eventually(t, "the daemons run", func() bool { return strings.Count(readAll(w.path("src/pids")), "\n") == daemonCount })
				eventually(t, "the file is there", func() bool { return readAll(w.path("src/by-command.txt")) == "x\n" })
				left := w.left(p)
				check.Must(t, len(left) > daemonCount, "the test shows nothing: %q", left)
				end(w, p)
				recorded, but := `"kind":"command"`, []*process{p}
				if name == "SIGKILL" {
					recorded = `"kind":"recovered"`
					if m.level == "full" {
						eventually(t, "nothing is left", func() bool { return len(w.left()) == 0 })
					}
					t.Logf("a killed server leaves at the level %s: %q", m.level, w.left())
					next := w.startedOn(m, unjudged)
					next.agent().OK("execute_command", args{"session": session, "command": "true"})
					but = append(but, next)
				}
				eventually(t, "nothing is left", func() bool { return len(w.left(but...)) == 0 })
				eventually(t, "the end is recorded", func() bool { return len(w.records(recorded, `"path":"src/by-command.txt","op":`)) == 1 })
			})
		}
	}
}

func readAll(name string) string {
	content, _ := os.ReadFile(name)
	return string(content)
}

// Commands of two sessions, of one server and of two, run at the same time on a workspace without a repository: each is
// charged with what is in its scope, what is in nobody's stands as a violation, and each can be undone by itself. Without
// ORCHESTRA_LONG=1 each level has one or two servers by turns.
func TestCommandsSideBySide(t *testing.T) {
	for i, m := range machines(t) {
		for _, servers := range []int{1, 2} {
			if !check.Long() && (i+servers)%2 == 0 {
				continue
			}
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
	p := w.startedOn(m, direct, unjudged)
	q := p
	if servers == 2 {
		q = w.startedOn(m, direct, unjudged)
	}
	first, second := p.agent().Selects("INT-001"), q.agent().Selects("INT-002")
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
	got := [][]string{changed(r1.Object), changed(r2.Object)}
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
	w.commands("undo", r1.Str("record_id"), "--yes")
	w.want("src/a.txt", "one\ntwo\nthree\n")
	w.want("docs/other.md", "# Other\n2\n")
	_, err := os.Stat(w.path("src/new.txt"))
	check.That(t, os.IsNotExist(err), "src/new.txt: %v", err)
	w.commands("undo", r2.Str("record_id"), "--yes")
	w.want("docs/other.md", "# Other\n")
	w.want("other/keep.md", "keep\n")
}

// What builds write into caches and places for it is recorded as build, and is no violation.
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
		session := a.Selects("INT-001")
		for line, cached := range map[string]string{
			"cd src && go build ./... && test -n \"$(ls $(go env GOCACHE))\"": "",
			"node build.js": "node_modules/.cache/x/y",
			"python3 -c 'import sys; sys.path.insert(0, \"lib\"); import mod'": "",
		} {
			r := a.OK("execute_command", args{"session": session, "command": line})
			check.That(t, r.Object["exit_code"] == float64(0) && len(violations(r)) == 0, "%s: %v", line, r.Object)
			var want []string
			if cached != "" {
				want = []string{cached}
				w.wantRecord(`"kind":"build"`, `"path":"`+cached+`"`, r.Str("record_id"))
			}
			got := changed(r.Object)
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
			p := w.startedOn(m, direct, unjudged)
			first, second := p.agent().Selects("INT-001"), p.agent().Selects("INT-002")
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
			w.startedOn(m, direct, unjudged).end() // asked for nothing
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
