package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// attack is one way to change, read or reach by a command what the intent does not give.
type attack struct {
	name string
	// intent is SRC (src/**) if it is empty, or ALL, or GEN.
	intent string
	// line is run; without one, what sh or python have is put into a file in scope and run from there.
	line, sh, python string
	// before is a line that the same session ran earlier.
	before string
	// prepare makes what the attack needs, in scope.
	prepare func(w *world)
	// then is done when the call has ended.
	then func(w *world)
	// git: a git command stands in the line, so what git's commands need may change.
	git bool
	// alone: in a world of its own; bare: and without a repository.
	alone, bare bool
	// makes is a file that has to be there afterwards, for comparison.
	makes string
	// varies: whether it can be done at all depends on the kernel and on what
	// else confines the test, so held is as good as what the document says.
	varies bool
	// stops: where it changes what it may not, nothing can be changed afterwards until the user has put it right.
	stops bool
	// blind says why a lower level need not tell what changed.
	blind string
}

// What can come of an attack.
const (
	refused = "refused"    // the line was not run
	held    = "held"       // it ran, and changed nothing that it may not
	removed = "removed"    // what it made was found and taken away again
	found   = "found"      // it changed what it may not, and the result and the ledger name each path
	times   = "times"      // only the times of files changed, which nobody is told
	outside = "outside"    // it changed something outside of the workspace, and nobody is told
	unseen  = "unseen"     // it changed something in the workspace, and nobody is told
	reached = "reached"    // it reached what it was after: a secret, a socket, a process
	killed  = "killed"     // the server is gone
	broken  = "verify"     // it changed the ledger, which verify finds
	begun   = "begun anew" // it removed the ledger, and another began; only a seal shows it
	lost    = "lost"       // it took records away from the ledger: found, and nothing can be changed until they are back
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
			answers = append(answers, w.command(intent, w.fill(each)))
		}
	}
	if a.then != nil {
		a.then(w)
	}
	return w.judge(a, before, lines, answers), answers
}

// command runs a line under an intent.
func (w *world) command(intent, line string) answer {
	w.t.Helper()
	if w.client {
		return w.byClient(intent, line)
	}
	return w.server.call("execute_command", args{"session": w.sessions[intent], "command": line, "timeout": 50})
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
			if all := fmt.Sprint(last.Fields); !w.client && (!strings.Contains(all, "git checkout") || !strings.Contains(all, "renamed or replaced") && !strings.Contains(all, ".git: no such file")) {
				w.t.Errorf("it does not say what happened and what to do: %s", all)
			}
			return stopped
		case slices.Contains(kinds(last), "ledger"):
			return w.stopped(a, lost)
		case now == "" && (slices.Contains(kinds(last), "workspace") || w.client && len(kinds(last)) > 0):
			return w.stopped(a, found) // it has another name now
		case now == "":
			return outside
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
	return w.stopped(a, w.told(before, after, changed, answers))
}

// stopped makes sure, where an attack has changed what it may not and stops everything by that, that it does.
func (w *world) stopped(a attack, result string) string {
	w.t.Helper()
	if a.stops && w.level == sandbox.None && (result == found || result == lost) {
		after := w.server.call("write_to_file", args{"session": w.sessions["ALL"], "path": "src/after.txt", "content": "x\n"})
		if after.text("error_type") != "LEDGER_UNAVAILABLE" || !strings.Contains(fmt.Sprint(after.Fields), "restart") {
			w.t.Errorf("afterwards: %v", after.Fields)
		}
	}
	return result
}

// kinds are those of an answer's violations.
func kinds(a answer) []string {
	var all []string
	for _, v := range a.violations() {
		kind, _ := v["kind"].(string)
		all = append(all, kind)
	}
	return all
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
	result, silent := times, false
	for _, path := range changed {
		was, wasThere := before[path]
		is, isThere := after[path]
		name, inside := strings.CutPrefix(path, "ws/")
		if path == "ws" {
			name, inside = ".", true
		}
		switch {
		case inside && tells(named, shown(name)), !inside && w.tellsOutside(named, before, after, path):
			if result == times {
				result = found
			}
		case wasThere && isThere && was.sameButTimes(is):
		case !inside:
			silent = true
			w.t.Logf("nobody is told of %q", path)
		default:
			result = unseen
			w.t.Logf("nobody is told of %q", path)
		}
	}
	if silent && result != unseen {
		return outside
	}
	return result
}

// tellsOutside reports whether a path outside of the workspace is told of: by its own name, by that of the same file in
// the workspace, or by a directory above it that was made or removed.
func (w *world) tellsOutside(named []string, before, after state, path string) bool {
	for _, n := range named {
		at := n
		if rest, in := strings.CutPrefix(n, "~/"); in {
			at = filepath.Join(w.home, rest)
		}
		way, err := filepath.Rel(w.top, at)
		if err != nil || !filepath.IsAbs(at) {
			continue
		}
		_, was := before[way]
		_, is := after[way]
		if under(way, path) || under(path, way) && was != is {
			return true
		}
	}
	there, err := os.Stat(filepath.Join(w.top, path))
	return err == nil && slices.ContainsFunc(named, func(name string) bool {
		here, err := os.Stat(filepath.Join(w.ws, name))
		return err == nil && os.SameFile(there, here)
	})
}

// tells reports whether a path is among those named. Of a directory that was made or removed the files in it tell, of
// one of git's work trees or modules those that make git run programs, of what git wrote with a commit its branch.
func tells(named []string, path string) bool {
	for _, of := range []string{".git/worktrees", ".git/modules"} {
		if under(path, of) {
			path = of
		}
	}
	if slices.ContainsFunc([]string{".git/objects", ".git/logs", ".git/COMMIT_EDITMSG", ".git/index"}, func(of string) bool { return under(path, of) }) {
		return slices.ContainsFunc(named, func(n string) bool { return under(path, n) || under(n, ".git/refs") || n == ".git/HEAD" })
	}
	return slices.ContainsFunc(named, func(n string) bool { return under(n, path) })
}
