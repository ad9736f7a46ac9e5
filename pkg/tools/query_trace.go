package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const defaultTraceLimit = 20

type traceArgs struct {
	Session  string `json:"session"`
	IntentID string `json:"intent_id"`
	located
	Line  int `json:"line"`
	Limit int `json:"limit"`
}

type traceRecord struct {
	RecordID      string   `json:"record_id"`
	Timestamp     string   `json:"timestamp"`
	Kind          string   `json:"kind"`
	IntentID      string   `json:"intent_id"`
	MutationClass string   `json:"mutation_class"`
	ModelID       string   `json:"model_id"`
	Call          string   `json:"call"`
	Files         []string `json:"files"`
	Summary       string   `json:"summary"`
}

func queryTrace(d *Deps) hooks.Tool {
	record := open([]string{"record_id", "timestamp", "kind", "intent_id", "files", "summary"}, schema{
		"record_id": schema{"type": "string"}, "timestamp": text("RFC 3339."), "kind": text("mutation, command, …"),
		"intent_id": schema{"type": "string"}, "mutation_class": schema{"type": "string"}, "model_id": text("Empty if not known."),
		"call": text("The tool."), "files": list("Changed paths.", schema{"type": "string"}), "summary": text("One line."),
	})
	spec := hooks.Spec{
		Name: "query_trace", Title: "Ask the ledger", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "Who changed this, under which intent: the ledger's records of an intent, a file, or one line of a file, newest first.",
		InputSchema: input(nil, schema{
			"intent_id": word("Only records of this intent."),
			"path":      place("Only records that changed this file; with a final slash, anything below it."), "file_path": place("Another name for path."),
			"line":  number("Only records that changed what is this line now; needs path.", 1),
			"limit": schema{"type": "integer", "minimum": 1, "maximum": 200, "default": defaultTraceLimit, "description": "How many records."},
		}),
		OutputSchema: output(open([]string{"records", "certain"}, schema{
			"records": list("Newest first.", record),
			"certain": flag("False where a line was followed across a change that is not in the ledger."),
		})),
	}
	return newSimple(spec, func(ctx context.Context, _ *hooks.Call, a traceArgs) (*reply, error) { return d.runTrace(ctx, a) })
}

// pathFilter is a path argument in the form in which records name files, so
// that every way to name one finds the same records. The file itself may be
// gone. A final slash, which asks for what is below, stays; "" is no filter.
func (d *Deps) pathFilter(l located) (string, error) {
	requested, err := l.optional()
	if err != nil || requested == "" {
		return "", err
	}
	bare := strings.TrimRight(requested, "/")
	t, effect := d.target(cmp.Or(bare, "/"))
	if t == nil {
		return "", effect.Problem
	}
	defer t.Close()
	switch {
	case effect.Path == ".":
		return "", nil
	case bare != requested || t.Kind() == workspace.Directory:
		return effect.Path + "/", nil
	}
	return effect.Path, nil
}

// hashNow is the hash of a file as it is, "" where it cannot be had.
func (d *Deps) hashNow(path string) string {
	t, err := d.Workspace.Resolve(path)
	if err != nil {
		return ""
	}
	defer t.Close()
	content, err := t.Read(d.FileLimit)
	if err != nil {
		return ""
	}
	return string(content.Hash)
}

func (d *Deps) runTrace(ctx context.Context, a traceArgs) (*reply, error) {
	path, err := d.pathFilter(a.located)
	if err != nil {
		return nil, err
	}
	if a.Line > 0 && path == "" {
		return nil, refusal.New(refusal.InvalidArguments, "line needs path.")
	}
	f := ledger.Filter{IntentID: a.IntentID, Path: path, Line: a.Line, Limit: a.Limit, Newest: true}
	if f.Limit == 0 {
		f.Limit = defaultTraceLimit
	}
	if f.Line > 0 {
		f.Content = d.hashNow(path)
	}
	found, err := d.Trace.Query(ctx, f)
	if err != nil {
		return nil, err
	}
	result := struct {
		Records []traceRecord `json:"records"`
		Certain bool          `json:"certain"`
	}{[]traceRecord{}, !found.Gap}
	var b strings.Builder
	for _, e := range found.Entries {
		r := traceRecord{RecordID: e.ID, Timestamp: e.Time.UTC().Format(time.RFC3339Nano), Kind: string(e.Kind), IntentID: e.IntentID,
			MutationClass: e.MutationClass, ModelID: e.Contributor.ModelID, Call: e.Call, Files: []string{}, Summary: summary(e)}
		for _, c := range e.Changes {
			r.Files = append(r.Files, c.Path)
		}
		if e.Kind == "" {
			r.Files = append(r.Files, e.Files...)
		}
		result.Records = append(result.Records, r)
		fmt.Fprintf(&b, "%s %s %s %s\n", r.Timestamp, printable.Text(r.IntentID), printable.Text(r.RecordID), r.Summary)
	}
	if len(result.Records) == 0 {
		b.WriteString("[no records]\n")
	}
	if found.Gap {
		b.WriteString("[the line was followed across a change that is not in the ledger: older records are likely, not certain]\n")
	}
	return &reply{text: strings.TrimRight(b.String(), "\n"), structured: result}, nil
}
