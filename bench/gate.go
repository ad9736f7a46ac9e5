package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const gateRow = "the gate: p50 of a governed probe less that of an echo tool of the same server"

// measureGate compares two tools of one server: one is safe and touches nothing; the other is destructive, names a
// file in scope, reads and hashes it, passes the whole gate, and changes nothing, so that no flush is in it.
func measureGate(s *suite) {
	dir := s.workspace(1)
	writeFile(filepath.Join(dir, "src", "probe.txt"), content(fileSize, 0))
	srv := must(server.New(server.Options{Dir: dir, Settings: settings.Defaults(), Logger: zerolog.Nop()}))
	check(srv.AddTool(probeTool{files: srv.Workspace(), class: hooks.Destructive, name: "probe"}))
	check(srv.AddTool(probeTool{class: hooks.Safe, name: "echo"}))
	p := s.servedHere(srv)
	a := args{"path": "src/probe.txt", "session": p.selects(intentID(0))}
	taken := s.interleave(pick(s.short, 300, 10_000), p.caller("probe", a), p.caller("echo", a), p.caller("read_file", a))
	probe, echo := taken[0], taken[1]
	s.add(atMost(gateRow, float64(probe.p50()-echo.p50())/1000, 100, microseconds,
		fmt.Sprintf("probe %s; echo %s; read_file of the same 4 KiB %s; in one process, without the ledger's flush", probe, echo, taken[2])))
}

// servedHere is a client of a server in this process, until the end of the group.
func (s *suite) servedHere(srv *server.Server) *peer {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	p := newPeer(fromClient, toClient)
	served := make(chan error, 1)
	go func() {
		served <- srv.ServeStdio(s.ctx, toServer, fromServer)
		fromServer.Close()
	}()
	p.ended = func() error {
		<-served
		return srv.Close()
	}
	s.atEnd(p.close)
	p.initialize()
	return p
}

// probeTool goes the way of a call and leaves everything as it is. Without files it has no effects: it is the echo.
type probeTool struct {
	name  string
	class hooks.Class
	files *workspace.Workspace
}

func (t probeTool) Spec() hooks.Spec {
	return hooks.Spec{
		Name: t.name, Class: t.class, Description: "Measure the way of a call.",
		InputSchema: hooks.SchemaText(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"session":{"type":"string"}}}`),
	}
}

func (t probeTool) Decode(args hooks.Arguments) (hooks.Decoded, error) {
	call := probeCall{probeTool: t}
	if err := json.Unmarshal(args.Raw(), &call); err != nil {
		return nil, refusal.Newf(refusal.InvalidArguments, "%v.", err)
	}
	return call, nil
}

type probeCall struct {
	probeTool
	Path string
}

func (t probeCall) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	call := &probing{path: t.Path}
	if t.files == nil {
		return call, nil
	}
	target, err := t.files.Resolve(t.Path)
	if err != nil {
		return nil, err
	}
	call.target = target
	call.effects.Files = []*hooks.FileEffect{{
		Change:    change.Change{Op: change.Modified, Path: target.Path()},
		Requested: t.Path, Protection: target.Protection(), Knowledge: hooks.KnowsBySearch,
	}}
	return call, nil
}

type probing struct {
	path    string
	target  *workspace.Target
	effects hooks.Effects
}

func (p *probing) Effects() hooks.Effects { return p.effects }

func (p *probing) Close() error {
	if p.target == nil {
		return nil
	}
	return p.target.Close()
}

func (p *probing) Plan(context.Context) (hooks.Planned, error) {
	if p.target == nil {
		return p, nil
	}
	read, err := p.target.Read(1 << 20)
	if err != nil {
		return nil, err
	}
	e := p.effects.Files[0]
	e.Before.Bytes, e.After.Bytes = read.Bytes, read.Bytes
	e.Before.Hash, e.After.Hash = string(read.Hash), string(read.Hash)
	return p, nil
}

func (p *probing) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(p.run), nil
}

func (p *probing) run(context.Context) (*hooks.Outcome, error) {
	outcome := &hooks.Outcome{}
	for _, e := range p.effects.Files {
		outcome.Files = append(outcome.Files, hooks.FileOutcome{
			Change: change.Change{
				Op: change.Unchanged, Path: e.Path, Before: change.Version{Hash: e.Before.Hash}, After: change.Version{Hash: e.After.Hash},
			},
			InScope: true,
		})
	}
	return outcome, nil
}

func (p *probing) Result(*hooks.Outcome) (hooks.Result, error) {
	object, err := hooks.EncodeJSON(map[string]string{"path": p.path})
	return hooks.Result{Text: p.path, Structured: object}, err
}
