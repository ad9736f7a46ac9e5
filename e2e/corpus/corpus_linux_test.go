package corpus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// attack is one way to change, read or reach by a command what the intent does
// not give.
type attack struct {
	name string
	// intent is SRC (src/**) if it is empty, or ALL, or GEN.
	intent string
	// line is run; without one, what sh or python have is put into a file in
	// scope and run from there.
	line, sh, python string
	// before is a line that the same session ran earlier.
	before string
	// prepare makes what the attack needs, in scope.
	prepare func(w *world)
	// then is done when the call has ended.
	then func(w *world)
	// git: a git command stands in the line, so what git's commands need may
	// change.
	git bool
	// alone: in a world of its own; bare: and without a repository.
	alone, bare bool
	// makes is a file that has to be there afterwards, for comparison.
	makes string
	// varies: whether it can be done at all depends on the kernel and on what
	// else confines the test, so held is as good as what the document says.
	varies bool
	// blind says why a lower level need not tell what changed in the workspace.
	blind string
}

// What can come of an attack.
const (
	refused = "refused"    // the line was not run
	held    = "held"       // it ran, and changed nothing that it may not
	removed = "removed"    // what it made was found and taken away again
	found   = "found"      // it changed what it may not, and the result and the ledger name each path
	times   = "times"      // only the times of files changed, which nobody is told
	outside = "outside"    // it changed something outside of the workspace, which nobody looks at
	unseen  = "unseen"     // it changed something in the workspace, and nobody is told
	reached = "reached"    // it reached what it was after: a secret, a socket, a process
	killed  = "killed"     // the server is gone
	broken  = "verify"     // it changed the ledger, which verify finds
	begun   = "begun anew" // it removed the ledger, and another began; only a seal shows it
	stopped = "stopped"    // it took the ledger away, and the call says so; nothing can be changed until it is back
)

// run makes an attack and says what came of it.
func (w *world) run(a attack) (result string, answers []answer) {
	w.t.Helper()
	if a.prepare != nil {
		a.prepare(w)
	}
	line := a.line
	switch {
	case a.sh != "":
		w.put("ws/src/attack.sh", w.fill(a.sh)+"\n")
	case a.python != "":
		w.put("ws/src/attack.py", w.fill(a.python)+"\n")
	}
	if line == "" && a.sh != "" {
		line = "sh src/attack.sh"
	} else if line == "" {
		line = "python3 src/attack.py"
	}
	intent := a.intent
	if intent == "" {
		intent = "SRC"
	}
	before, lines := w.look(), w.ledger()
	for _, each := range []string{a.before, line} {
		if each != "" {
			answers = append(answers, w.server.call("execute_command", args{"session": w.sessions[intent], "command": w.fill(each), "timeout": 50}))
		}
	}
	if a.then != nil {
		a.then(w)
	}
	return w.judge(a, before, lines, answers), answers
}

func (w *world) judge(a attack, before state, lines string, answers []answer) string {
	w.t.Helper()
	last := answers[len(answers)-1]
	if last.Gone {
		return killed
	}
	if now := w.ledger(); !strings.HasPrefix(now, lines) {
		switch {
		case last.text("error_type") == "LEDGER_UNAVAILABLE":
			return stopped
		case now == "":
			return outside // the workspace has another name now
		}
		if len(w.verify()) == 0 {
			return begun
		}
		return broken
	}
	after := w.look()
	if a.makes != "" {
		if _, there := after[a.makes]; !there {
			w.t.Errorf("%s is not there: %v", a.makes, last.Fields)
		}
	}
	changed := slices.DeleteFunc(before.differs(after), a.may)
	for _, each := range answers {
		if out := each.text("output"); strings.Contains(out, secret) || strings.Contains(out, "REACHED") {
			return reached
		}
	}
	if len(changed) == 0 {
		return unchanged(last)
	}
	return w.told(before, after, changed, answers)
}

// unchanged is the result where nothing out of scope is different.
func unchanged(last answer) string {
	if last.text("error_type") != "COMMAND_OUT_OF_SCOPE" {
		if last.IsError {
			return refused
		}
		return held
	}
	for _, each := range last.violations() {
		if each["reverted"] != true {
			return found // and undone by the command itself
		}
	}
	return removed
}

// told is the result where something is different: whether that is told.
func (w *world) told(before, after state, changed []string, answers []answer) string {
	w.t.Helper()
	var named []string
	for _, each := range answers {
		named = append(named, w.violations(each)...)
	}
	result := times
	for _, path := range changed {
		was, wasThere := before[path]
		is, isThere := after[path]
		inside := strings.HasPrefix(path, "ws/")
		name := shown(strings.TrimPrefix(path, "ws/"))
		switch {
		case wasThere && isThere && was.sameButTimes(is):
		case !inside && result != unseen:
			result = outside
		case inside && !tells(named, name):
			result = unseen
			w.t.Logf("nobody is told of %q", path)
		case result == times:
			result = found
		}
	}
	return result
}

// tells reports whether a path is among those named. Of a directory that was
// made or removed the files in it tell, of one of git's work trees or modules
// those that make git run programs.
func tells(named []string, path string) bool {
	for _, of := range []string{".git/worktrees", ".git/modules"} {
		if under(path, of) {
			path = of
		}
	}
	return slices.ContainsFunc(named, func(n string) bool { return under(n, path) })
}

func (a answer) violations() []map[string]any {
	details, _ := a.Fields["details"].(map[string]any)
	return objects(details["violations"])
}

func objects(list any) []map[string]any {
	var found []map[string]any
	all, _ := list.([]any)
	for _, each := range all {
		if object, ok := each.(map[string]any); ok {
			found = append(found, object)
		}
	}
	return found
}

// violations are the paths that an answer and the ledger's record of the
// command both name; of what was moved also where it came from.
func (w *world) violations(a answer) []string {
	w.t.Helper()
	if a.text("error_type") != "COMMAND_OUT_OF_SCOPE" {
		return nil
	}
	record := w.recorded(a.text("record_id"))
	var paths []string
	for _, v := range a.violations() {
		path, _ := v["path"].(string)
		if !slices.ContainsFunc(record.Violations, func(of violation) bool { return of.Path == path }) {
			w.t.Errorf("the record does not have the violation %q: %v", path, record.Violations)
		}
		paths = append(paths, path)
	}
	for _, f := range objects(a.Fields["changed_files"]) {
		from, _ := f["from"].(string)
		if f["in_scope"] == false && slices.ContainsFunc(record.Changes, func(of change) bool { return of.From == from }) {
			paths = append(paths, from)
		}
	}
	return paths
}

type (
	violation struct{ Path string }
	change    struct{ From string }
	record    struct {
		Violations []violation
		Changes    []change
	}
)

// recorded is what a record of the ledger says.
func (w *world) recorded(id string) record {
	w.t.Helper()
	for line := range strings.Lines(w.ledger()) {
		var r struct {
			ID       string
			Metadata map[string]record
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatal(err)
		}
		if r.ID == id {
			return r.Metadata["orchestra-mcp"]
		}
	}
	w.t.Errorf("there is no record %q", id)
	return record{}
}

func (w *world) ledger() string {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.ws, ".orchestration/agent_trace.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(content)
}

// verify says what is wrong with the ledger.
func (w *world) verify() []ledger.Problem {
	w.t.Helper()
	root, err := os.OpenRoot(w.ws)
	check(w.t, err)
	defer root.Close()
	report, err := ledger.Verify(context.Background(), root)
	check(w.t, err)
	return report.Problems
}

// may reports whether the attack's intent lets its command change a path.
func (a attack) may(path string) bool {
	name, inside := strings.CutPrefix(path, "ws/")
	if !inside {
		return path == "ws/src" // its own times
	}
	if under(name, ".git") {
		return a.git && !guarded(name)
	}
	switch a.intent {
	case "ALL":
		return !guarded(name)
	case "GEN":
		return strings.HasPrefix(name, "gen/") && strings.HasSuffix(name, ".pb.go")
	}
	return under(name, "src") && !guarded(name)
}

// guarded reports whether a path is one that no scope gives.
func guarded(path string) bool {
	for _, of := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir", "modules", "worktrees", "info/attributes", "objects/info/alternates"} {
		if under(path, ".git/"+of) {
			return true
		}
	}
	return path == ".git" || slices.ContainsFunc(strings.Split(strings.ToLower(path), "/"), func(name string) bool {
		return slices.Contains([]string{".orchestration", ".intentignore", ".mcp.json", ".cursor", ".envrc", ".vscode"}, name)
	}) || strings.HasPrefix(path, ".GIT") || strings.Contains(path+"/", "/.git/")
}

// shown is a path as records and results have it: what is not UTF-8 is written
// as \xNN.
func shown(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for _, r := range []byte(path) {
		if r < utf8.RuneSelf {
			b.WriteByte(r)
		} else {
			fmt.Fprintf(&b, "\\x%02x", r)
		}
	}
	return b.String()
}

// allowed reports whether a level may have a result at all.
func (a attack) allowed(level sandbox.Level, result string) bool {
	switch level {
	case sandbox.Full:
		return result == refused || result == held || result == removed
	case sandbox.Landlock:
		return result != killed && result != broken && result != begun && result != stopped && (result != unseen || a.blind != "")
	}
	return result != unseen || a.blind != ""
}
