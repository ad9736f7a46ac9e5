package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// maxShown bounds the changed files that a result names.
const maxShown = 200

// changedFiles lists what the agent is told of the changes, those that it should not have made first.
func changedFiles(o *hooks.Outcome, warnings []string) ([]changedFile, []string) {
	files := []changedFile{}
	for _, f := range o.Changed() {
		files = append(files, changedFile{Path: f.Path, Operation: f.Op, From: f.From, InScope: f.InScope})
	}
	for _, f := range o.Build {
		files = append(files, changedFile{Path: f.Path, Operation: f.Op, From: f.From, InScope: true, Build: true})
	}
	slices.SortStableFunc(files, func(a, b changedFile) int {
		switch {
		case a.InScope == b.InScope && a.Build == b.Build:
			return 0
		case !a.InScope || b.InScope && !a.Build:
			return -1
		}
		return 1
	})
	if more := len(files) - maxShown; more > 0 {
		warnings = append(warnings, fmt.Sprintf("The command changed %d files; %d of them are not listed here (query_trace has the record).", len(files), more))
		files = files[:maxShown]
	}
	return files, warnings
}

// inText bounds the changed files in the text of a result.
const inText = 20

func listChanges(b *strings.Builder, files []changedFile) {
	for i, f := range files {
		if i == inText {
			note(b, "[changed: and %d more]", len(files)-inText)
			return
		}
		note(b, "[%s: %s]", f.Operation, printable.Name(f.Path))
	}
}

// violationView is a violation as the agent sees it.
type violationView struct {
	Path      string    `json:"path"`
	Operation change.Op `json:"operation"`
	Reason    string    `json:"reason"`
	Reverted  bool      `json:"reverted"`
	// Kind is "" for a content or a name in the workspace.
	Kind hooks.ViolationKind `json:"kind,omitempty"`
}

// heldText says in a result's text what held the command, and what did not.
func heldText(level string) string {
	switch sandbox.Level(level) {
	case sandbox.None:
		return "none (nothing held it; of what is outside of the workspace only a list of places was looked at)"
	case sandbox.Landlock:
		return "landlock (permissions, times and attributes were not held; reading was only of what is secret)"
	}
	return level
}

// outOfScope is the answer to a command that changed what it should not have:
// a refusal that has the fields of the result too, as the command did run.
func (c *commandCall) outOfScope(o *hooks.Outcome, result commandResult) (hooks.Result, error) {
	r := outOfScope(c.call, o)
	all := map[string]json.RawMessage{}
	for _, part := range []any{result, r.Object(string(c.call.Class))} {
		fields, err := hooks.EncodeJSON(part)
		if err == nil {
			err = json.Unmarshal(fields, &all)
		}
		if err != nil {
			return hooks.Result{}, err
		}
	}
	whole, err := hooks.EncodeJSON(all)
	return hooks.Result{Text: string(whole), Structured: whole, IsError: true, Refusal: r}, err
}

func outOfScope(call *hooks.Call, o *hooks.Outcome) *refusal.Refusal {
	var views []violationView
	var standing, wanted, closed []string
	for _, v := range o.Violations {
		if len(views) < maxShown {
			views = append(views, violationView{v.Path, v.Op, v.Reason, v.Reverted, v.Kind})
		}
		if !v.Reverted {
			standing = append(standing, v.Path)
		}
		if wanted = append(wanted, v.Wanted...); v.Wanted == nil {
			closed = append(closed, v.Path)
		}
	}
	first := o.Violations[0]
	r := refusal.Newf(refusal.CommandOutOfScope, "The command ran and changed %d paths that it may not change, among them [%s]: %s.", len(o.Violations), printable.Name(first.Path), printable.Text(first.Reason)).
		With("violations", views).With("violations_total", len(o.Violations)).With("record_id", o.RecordID)
	if call.Intent != nil {
		r = r.With("intent_id", call.Intent.ID).With("owned_scope", call.Intent.OwnedScope)
	}
	next := "All of these changes were undone. Run the command so that it changes only files in the scope"
	if len(standing) > 0 {
		next = fmt.Sprintf("Tell the user: these changes stand (%d paths, first %q), and the ledger has them as violations. Undo them", len(standing), standing[0])
	}
	if len(wanted) > 0 {
		next += fmt.Sprintf(", or call request_scope_expansion with paths: %s and the reason", gate.WantedScope(wanted))
	} else {
		r = r.WithHint(refusal.HintAskUser)
	}
	next += "."
	if len(closed) > 0 {
		next += fmt.Sprintf(" No scope opens %q; if the work needs it, ask the user.", closed[0])
	}
	return r.Suggest("%s", next)
}
