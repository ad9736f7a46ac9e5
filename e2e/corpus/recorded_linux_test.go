package corpus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

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
		check.That(w.t, slices.ContainsFunc(record.Violations, func(of violation) bool { return of.Path == path }),
			"the record does not have the violation %q: %v", path, record.Violations)
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
		check.OK(w.t, json.Unmarshal([]byte(line), &r))
		if r.ID == id {
			return r.Metadata["orchestra-mcp"]
		}
	}
	w.t.Errorf("there is no record %q", id)
	return record{}
}

func (w *world) ledger() string {
	w.t.Helper()
	content, err := os.ReadFile(ledgertest.File(w.ws))
	check.Must(w.t, err == nil || os.IsNotExist(err), "%v", err)
	return string(content)
}

// verify says what is wrong with the ledger.
func (w *world) verify() []ledger.Problem {
	w.t.Helper()
	root, err := os.OpenRoot(w.ws)
	check.OK(w.t, err)
	defer root.Close()
	report, err := verify.Verify(context.Background(), root)
	check.OK(w.t, err)
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
	for _, of := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir", "modules", "worktrees", "info/attributes", "objects/info/alternates",
		"rebase-merge/git-rebase-todo", "rebase-merge/strategy", "sequencer/todo", "sequencer/opts", "remotes"} {
		if under(path, ".git/"+of) {
			return true
		}
	}
	if way, planted := strings.CutPrefix(path, "src/bare.git/"); planted { // which attacks make a repository of
		first, _, _ := strings.Cut(way, "/")
		return slices.Contains([]string{"HEAD", "config", "hooks", "objects", "refs", "commondir"}, first)
	}
	return path == ".git" || slices.ContainsFunc(strings.Split(strings.ToLower(path), "/"), func(name string) bool {
		return slices.Contains([]string{".orchestration", ".intentignore", ".mcp.json", ".cursor", ".envrc", ".vscode"}, name)
	}) || strings.HasPrefix(path, ".GIT") || strings.Contains(path+"/", "/.git/")
}

// shown is a path as records and results have it: what is not UTF-8 is written as \xNN.
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

// allowed reports whether a level may have a result at all. What a lower level
// lets through is found, but where the attack says why not.
func (a attack) allowed(level sandbox.Level, result string) bool {
	switch {
	case level == sandbox.Full:
		return result == refused || result == held || result == removed
	case result == unseen || result == outside:
		return a.blind != "" && level == sandbox.None
	case level == sandbox.Landlock:
		return result != killed && result != broken && result != begun && result != stopped && result != lost
	}
	return true
}
