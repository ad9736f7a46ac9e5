// Command embedded is an MCP server of its own that governs its tool with
// orchestra-mcp: the tool stamp_file appends a line to a file, and works, like
// the shipped tools, only under an intent, in its scope, and into the ledger.
//
// It shows the steps of a tool: Targets says what would be touched, Plan
// computes the change, Prepare writes it down unseen, Commit makes it visible.
// The gate decides before anything is written, and the journal has the change
// before it is visible.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults()})
	if err != nil {
		return err
	}
	if err := srv.AddTool(stampFile{srv.Workspace()}); err != nil {
		return errors.Join(err, srv.Close())
	}
	return errors.Join(srv.ServeStdio(context.Background(), os.Stdin, os.Stdout), srv.Close())
}

// stampFile appends a line to an existing file.
type stampFile struct{ files *workspace.Workspace }

func (stampFile) Spec() hooks.Spec {
	return hooks.Spec{
		Name: "stamp_file", Title: "Stamp a file", Class: hooks.Destructive,
		Description: "Append a line to an existing file.",
		InputSchema: json.RawMessage(`{"type":"object","required":["path","stamp"],"additionalProperties":false,
			"properties":{"path":{"type":"string"},"stamp":{"type":"string"},"session":{"type":"string"}}}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`),
	}
}

func (t stampFile) Targets(_ context.Context, _ *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	var args struct{ Path, Stamp string }
	if err := json.Unmarshal(raw, &args); err != nil || args.Path == "" {
		return nil, refusal.New(refusal.InvalidArguments, "stamp_file needs a path and a stamp.")
	}
	target, err := t.files.Resolve(args.Path)
	if err != nil {
		return nil, refusal.Newf(refusal.PathOutsideWorkspace, "%v.", err)
	}
	effect := &hooks.FileEffect{
		Kind: hooks.Modify, Path: target.Path(), Requested: args.Path, Protection: target.Protection(), Knowledge: hooks.KnowsBySearch,
	}
	return &stamping{t.files, target, effect, args.Stamp}, nil
}

// stamping is one call on its way: first targeted, then planned.
type stamping struct {
	files  *workspace.Workspace
	target *workspace.Target
	effect *hooks.FileEffect
	stamp  string
}

func (s *stamping) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{s.effect}}
}
func (s *stamping) Close() error { return s.target.Close() }

func (s *stamping) Plan(context.Context) (hooks.Planned, error) {
	content, err := s.target.Read(1 << 20)
	if err != nil {
		return nil, refusal.Newf(refusal.FileNotFound, "%v.", err)
	}
	e := s.effect
	e.Before, e.BeforeHash = content.Bytes, string(content.Hash)
	e.After = append(append([]byte(nil), content.Bytes...), s.stamp+"\n"...)
	e.AfterHash = string(workspace.HashOf(e.After))
	e.Hunks = edit.Hunks(string(e.Before), string(e.After))
	return s, nil
}

func (s *stamping) Prepare(ctx context.Context) (hooks.Prepared, error) {
	e := s.effect
	prepared, err := s.files.Prepare(ctx, []workspace.Change{{
		Op: workspace.Modify, Target: s.target, Before: workspace.Hash(e.BeforeHash), After: e.After,
	}})
	if err != nil {
		return nil, err
	}
	return &stamped{prepared, &hooks.Outcome{Files: []hooks.FileOutcome{{
		Path: e.Path, Op: hooks.Modified, BeforeHash: e.BeforeHash, AfterHash: e.AfterHash, Before: e.Before, After: e.After, Hunks: e.Hunks, InScope: true,
	}}}}, nil
}

// stamped is written beside the file and held. Pending goes into the journal
// before Commit makes it visible.
type stamped struct {
	*workspace.Prepared
	outcome *hooks.Outcome
}

func (s *stamped) Pending() *hooks.Pending {
	return &hooks.Pending{Outcome: s.outcome, Files: s.Plan()}
}

func (s *stamped) Commit(ctx context.Context) (*hooks.Outcome, error) {
	settlement, err := s.Prepared.Commit(ctx)
	if err != nil {
		return nil, err
	}
	s.outcome.Settlement = settlement
	return s.outcome, nil
}

func (s *stamping) Result(o *hooks.Outcome) (hooks.Result, error) {
	object, err := hooks.EncodeJSON(map[string]string{"path": s.effect.Path, "record_id": o.RecordID})
	return hooks.Result{Text: "stamped " + s.effect.Path, Structured: object}, err
}
