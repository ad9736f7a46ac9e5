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
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type traceArgs struct {
	sessionArg
	IntentID string `json:"intent_id,omitempty" is:"word"`
	Path     string `json:"path,omitempty" alias:"file_path" is:"path" doc:"A file; with a final slash, all below."`
	Line     int    `json:"line,omitempty" min:"1" doc:"As it is now; needs path."`
	Limit    int    `json:"limit,omitempty" min:"1" max:"200" default:"20"`
}

type traceRecord struct {
	RecordID      string   `json:"record_id"`
	Timestamp     string   `json:"timestamp" doc:"RFC 3339."`
	Kind          string   `json:"kind" doc:"mutation, command, …"`
	IntentID      string   `json:"intent_id"`
	MutationClass string   `json:"mutation_class" optional:"true"`
	ModelID       string   `json:"model_id" optional:"true" doc:"Empty if not known."`
	Call          string   `json:"call" optional:"true" doc:"The tool."`
	Files         []string `json:"files" doc:"Changed paths."`
	Summary       string   `json:"summary" doc:"One line."`
}

type traceResult struct {
	Records []traceRecord `json:"records" doc:"Newest first."`
	Certain bool          `json:"certain" doc:"False where a line was followed across a change that is not in the ledger."`
}

func queryTrace(files *Files, from Ledger) hooks.Tool {
	spec := looking("query_trace", "Ask the ledger", "Who changed this, and under which intent: the ledger's records of an intent, a file or a line, newest first.")
	return respond[traceArgs, traceResult](spec, func(ctx context.Context, _ *hooks.Call, a traceArgs) (*reply, error) {
		filter, err := a.filter(files)
		if err != nil {
			return nil, err
		}
		found, err := from.Query(ctx, filter)
		if err != nil {
			return nil, err
		}
		return showTrace(found), nil
	})
}

func (a traceArgs) filter(files *Files) (record.Filter, error) {
	path, err := files.pathFilter(a.Path)
	if err != nil {
		return record.Filter{}, err
	}
	if a.Line > 0 && path == "" {
		return record.Filter{}, refusal.New(refusal.InvalidArguments, "line needs path.")
	}
	f := record.Filter{IntentID: a.IntentID, Path: path, Line: a.Line, Limit: a.Limit, Newest: true}
	if f.Line > 0 {
		if _, now := files.readNow(path); now != nil {
			f.Content = string(now.Hash)
		}
	}
	return f, nil
}

// pathFilter is a path argument in the form in which records name files, so that every way to name one finds the same
// records. The file itself may be gone. A final slash, which asks for what is below, stays; "" is no filter.
func (f *Files) pathFilter(requested string) (string, error) {
	if requested == "" {
		return "", nil
	}
	bare := strings.TrimRight(requested, "/")
	t, effect := f.target(cmp.Or(bare, "/"))
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

// readNow is a file as it is, nil where it cannot be read.
func (f *Files) readNow(name string) (path string, content *workspace.Content) {
	t, err := f.Workspace.Resolve(name)
	if err != nil {
		return name, nil
	}
	defer t.Close()
	if content, err = t.Read(f.Limit); err != nil {
		content = nil
	}
	return t.Path(), content
}

func showTrace(found ledger.Result) *reply {
	result := traceResult{[]traceRecord{}, !found.Gap}
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
	return &reply{text: strings.TrimRight(b.String(), "\n"), structured: result}
}
