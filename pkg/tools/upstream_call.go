package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// upstreamArgs are the arguments of one call, as far as they are for the server.
type upstreamArgs struct {
	*upstreamTool
	own     json.RawMessage
	found   mapping.Targets
	secrets []string
}

// Decode holds the arguments against the server's own schema: a courtesy to the agent, for the server does so again.
func (t *upstreamTool) Decode(args hooks.Arguments) (hooks.Decoded, error) {
	own, err := t.own(args)
	if err != nil {
		return nil, invalid(t.spec.Name, []string{err.Error()})
	}
	if fits := t.fits(); fits != nil {
		if err := fits.Check(own); err != nil {
			return nil, invalid(t.spec.Name, []string{err.Error()})
		}
	}
	a := &upstreamArgs{upstreamTool: t, own: own}
	if a.found, err = t.server.mapping.Targets(t.tool.Own, own); err != nil {
		return nil, invalid(t.spec.Name, []string{err.Error()})
	}
	if t.tool.Safe && len(a.found.Writes)+len(a.found.Deletes) > 0 {
		named := append(a.found.Writes, a.found.Deletes...)[0].Argument
		return nil, refusal.Newf(refusal.InvalidArguments, "%s is classed as a tool that changes nothing, and this call names a file to be changed (%s).", t.spec.Name, printable.Name(named)).
			Suggest("Leave %s out, or ask the user to class the tool as one that changes something (servers: %s: safe).", printable.Name(named), t.tool.Server)
	}
	if t.Secrets != nil {
		for _, finding := range t.Secrets(own) {
			a.secrets = append(a.secrets, finding.String())
		}
	}
	return a, nil
}

// upstreamCall is one call on its way.
type upstreamCall struct {
	*upstreamArgs
	call    *hooks.Call
	effects hooks.Effects
	changes []upstreamChange

	told     record.Upstream // what the record says of it
	sent     upstreamResult
	warnings []string
}

// upstreamChange is a file in the workspace that the call names to be changed.
type upstreamChange struct {
	target *workspace.Target
	effect *hooks.FileEffect
}

// Targets resolves the paths that the arguments name. What the server does with them they do not say.
func (a *upstreamArgs) Targets(_ context.Context, call *hooks.Call) (hooks.Targeted, error) {
	c := &upstreamCall{upstreamArgs: a, call: call}
	effect := &hooks.UpstreamEffect{
		Server: a.tool.Server, Tool: a.tool.Own, Definition: a.tool.Hash, Arguments: a.own, Names: a.names,
		Digest:  sync.OnceValue(func() string { return workspace.HashOf(canonical(a.own)) }),
		Secrets: a.secrets, OnSecrets: onSecrets(a.server.Findings),
	}
	for _, one := range a.found.URLs {
		effect.URLs = append(effect.URLs, one.Value)
	}
	for _, one := range a.found.Commands {
		reading := shell.Read(one.Value, shell.Bash)
		effect.Commands = append(effect.Commands, hooks.UpstreamCommand{Line: one.Value, Reading: &reading})
	}
	c.effects.Upstream = effect
	for _, one := range a.found.Reads {
		c.effects.Files = append(c.effects.Files, a.Commands.reads(one.Value))
	}
	for _, one := range a.found.Writes {
		c.aim(one.Value, change.Modified)
	}
	for _, one := range a.found.Deletes {
		c.aim(one.Value, change.Deleted)
	}
	return c, nil
}

// onSecrets is what the operator wants done about a secret that would go out.
func onSecrets(p upstream.Policy) hooks.Policy {
	switch p {
	case upstream.Warn:
		return ""
	case upstream.Refuse:
		return hooks.PolicyRefuse
	}
	return hooks.PolicyAsk
}

// expanded is a path as servers take it that know of a home: what begins with ~ is there, and not in the workspace.
func expanded(path string) string {
	rest, home := strings.CutPrefix(path, "~")
	if !home {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return "/" + path // somebody else's, or nobody's: outside of every workspace
	}
	return filepath.Join(dir, rest)
}

// globbed is the directory that a glob looks into; a path that is none is itself.
func (f *Files) globbed(path string) string {
	at := strings.IndexAny(path, "*?[{")
	if at < 0 {
		return path
	}
	if t, err := f.Workspace.ResolveDir(path); err == nil {
		defer t.Close()
		if t.Kind() != workspace.Missing {
			return path // a name with such characters in it
		}
	}
	dir := path[:strings.LastIndexByte(path[:at], '/')+1]
	if dir == "" {
		return "."
	}
	return dir
}

// reads is a file or directory that the call names to be read.
func (f *Files) reads(requested string) *hooks.FileEffect {
	effect := &hooks.FileEffect{Change: change.Change{Op: change.Read, Path: requested}, Requested: requested}
	t, err := f.Workspace.ResolveDir(f.globbed(expanded(requested)))
	if err != nil {
		effect.Problem = pathProblem(requested, err)
		return effect
	}
	defer t.Close()
	effect.Path, effect.Protection, effect.Exists = t.Path(), t.Protection(), t.Kind() != workspace.Missing
	effect.Directory = t.Kind() == workspace.Directory
	return effect
}

// aim resolves a file or directory that the call names to be changed.
func (c *upstreamCall) aim(requested string, op change.Op) {
	effect := &hooks.FileEffect{Change: change.Change{Op: op, Path: requested}, Requested: requested, Knowledge: hooks.KnowsBySearch, Unread: op != change.Deleted}
	t, err := c.Commands.Workspace.ResolveDir(expanded(requested))
	if err != nil {
		effect.Problem = pathProblem(requested, err)
	} else {
		effect.Path, effect.Protection, effect.GitParts = t.Path(), t.Protection(), t.GitParts()
		effect.Exists, effect.Directory = t.Kind() != workspace.Missing, t.Kind() == workspace.Directory
		if op == change.Modified && !effect.Exists {
			effect.Op = change.Created
		}
	}
	if len(c.told.Targets) < maxUpstreamTargets {
		c.told.Targets = append(c.told.Targets, effect.Path)
	}
	c.changes, c.effects.Files = append(c.changes, upstreamChange{t, effect}), append(c.effects.Files, effect)
}

// maxUpstreamTargets bounds the paths that a record says were to be changed.
const maxUpstreamTargets = 50

func (c *upstreamCall) Effects() hooks.Effects { return c.effects }

func (c *upstreamCall) Close() error {
	var errs []error
	for _, one := range c.changes {
		errs = append(errs, one.target.Close())
	}
	return errors.Join(errs...)
}

// Plan reads what stands where the call wants something changed. What will stand there nobody knows.
func (c *upstreamCall) Plan(context.Context) (hooks.Planned, error) {
	for _, one := range c.changes {
		if one.effect.Directory {
			continue
		}
		content, err := one.read(c.Commands.Limit)
		if err != nil {
			return nil, err
		}
		one.effect.Before = change.Version{Hash: string(content.Hash), Bytes: content.Bytes}
		one.effect.Exists, one.effect.BeforeSize = content.Hash != "", int64(len(content.Bytes))
	}
	return c, nil
}

// read reads the file; where there is none, nothing.
func (u *upstreamChange) read(limit int64) (*workspace.Content, error) {
	content, err := u.target.Read(limit)
	switch {
	case errors.Is(err, workspace.ErrNotExist):
		return &workspace.Content{}, nil
	case err != nil:
		return nil, readProblem(u.effect.Path, err)
	}
	return content, nil
}

// Prepare takes the server's turn where what it changes is told by when it changes.
func (c *upstreamCall) Prepare(ctx context.Context) (hooks.Prepared, error) {
	if c.call.Class == hooks.Safe {
		return hooks.Immediate(c.look), nil
	}
	c.tell()
	if c.server.Writes {
		return c.prepareWriting(ctx)
	}
	return &preparedUpstream{c}, nil
}

// tell begins what the record says of the call, and keeps the arguments where the operator wants that.
func (c *upstreamCall) tell() {
	c.told.Server, c.told.Tool, c.told.Definition, c.told.Arguments = c.tool.Server, c.tool.Own, c.tool.Hash, c.effects.Upstream.Digest()
	if c.server.Keep {
		c.told.ArgumentsArtifact = c.keep("the arguments", canonical(c.own))
	}
}

// look is a call that changes nothing, by the operator's word.
func (c *upstreamCall) look(ctx context.Context) (*hooks.Outcome, error) {
	end, err := c.server.take(ctx)
	if err != nil {
		return nil, cancelledTurn()
	}
	defer end()
	recorded := c.Commands.RecordReads
	if recorded {
		c.tell()
	}
	if err := c.send(ctx); err != nil {
		return nil, err
	}
	o := &hooks.Outcome{Failed: c.sent.failed, Warnings: c.warnings}
	if recorded {
		o.Record = &hooks.Note{Kind: string(record.KindRead), Detail: map[string]any{record.DetailUpstream: c.told}}
	}
	return o, nil
}

func cancelledTurn() *refusal.Refusal {
	return refusal.New(refusal.Cancelled, "The call was cancelled while it waited for another call of the same server; the server was not asked.")
}

// send has the server carry out the call. With an error it was not asked.
func (c *upstreamCall) send(ctx context.Context) error {
	raw, err := c.Server.Call(ctx, c.tool, c.own, c.call.Progress)
	switch {
	case errors.Is(err, ErrNotSent):
		return refusal.Newf(refusal.UpstreamUnavailable, "The server %s was not asked: %s.", c.tool.Server, c.why(err)).
			With("server", c.tool.Server).Suggest("Nothing was done. Ask the user to look at `orchestra-mcp servers list`.")
	case errors.Is(err, ErrUnanswered):
		c.sent = upstreamResult{unanswered: true}
		c.told.Problem = "the user has to be asked first"
		return nil
	case err != nil && ctx.Err() != nil:
		err = errors.New("the call was cancelled meanwhile")
	}
	if err == nil {
		c.sent, err = readUpstream(raw)
	}
	if err != nil {
		c.told.Problem = c.why(err)
		c.sent = c.unanswered()
	}
	c.sent.tell(&c.told)
	if c.sent.raw != nil && c.server.Keep && c.told.Arguments != "" && c.told.Problem == "" {
		c.told.ResultArtifact = c.keep("the result", c.sent.raw)
	}
	return nil
}

// why is an error of the server, whose name stands before it already.
func (c *upstreamCall) why(err error) string {
	text := strings.TrimPrefix(err.Error(), "server "+c.tool.Server+": ")
	return printable.Text(printable.Clip(text, 500))
}

// unanswered is what an agent is told in the place of an answer.
func (c *upstreamCall) unanswered() upstreamResult {
	text := fmt.Sprintf("The server %s gave no answer: %s. Whether it did what it was asked is not known. The user can look at it with `orchestra-mcp servers list`.", c.tool.Server, c.told.Problem)
	if c.call.Class == hooks.Safe {
		text = fmt.Sprintf("The server %s gave no answer: %s. Try once more; the user can look at it with `orchestra-mcp servers list`.", c.tool.Server, c.told.Problem)
	}
	return failedUpstream(text)
}

// keep keeps what was exchanged for whoever made the call.
func (c *upstreamCall) keep(what string, content []byte) (id string) {
	id, err := c.Commands.keepText(c.call, content)
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf("Of %s not all could be kept: %v.", what, err))
	}
	return id
}

// keepText keeps a text as the output of a command is kept. It may keep a part and say so.
func (d *Commands) keepText(call *hooks.Call, content []byte) (id string, err error) {
	w, err := d.Artifacts.For(call.Caller.Principal).Create(max(d.OutputCap, 1))
	if err != nil {
		return "", err
	}
	_, _ = w.Write(content) // Close says why not
	if err = w.Close(); err == nil && w.Kept() < int64(len(content)) {
		err = fmt.Errorf("they are %d bytes, and commands.output_cap is %d", len(content), d.OutputCap)
	}
	return w.ID(), err
}

// preparedUpstream is a call of a server that cannot write the workspace, or is not known to.
type preparedUpstream struct{ *upstreamCall }

func (p *preparedUpstream) Pending() *hooks.Pending {
	return &hooks.Pending{Outcome: p.noted(&hooks.Outcome{})}
}

func (*preparedUpstream) Discard() error { return nil }

// noted has an outcome recorded that changes no file.
func (c *upstreamCall) noted(o *hooks.Outcome) *hooks.Outcome {
	o.Record = &hooks.Note{Kind: string(record.KindMutation), Detail: map[string]any{record.DetailUpstream: c.told}}
	o.Class = mutation.Resolved{Class: mutation.Evolution, Evidence: mutation.Unsupported} // which such a record leaves out
	return o
}

// Commit asks the server. Whatever became of it stands: nothing here can take it back.
func (p *preparedUpstream) Commit(ctx context.Context) (*hooks.Outcome, error) {
	c := p.upstreamCall
	if err := c.send(ctx); err != nil {
		return nil, err
	}
	if held := c.held(); held != "" {
		c.warnings = append(c.warnings, held)
	}
	o := &hooks.Outcome{Sent: true, Failed: c.sent.failed, Warnings: c.warnings}
	for _, one := range c.changes {
		if one.effect.Directory {
			continue
		}
		after, err := one.read(c.Commands.Limit)
		if err != nil {
			o.Warnings = append(o.Warnings, fmt.Sprintf("What became of %s is not known: %v.", printable.Name(one.effect.Path), err))
			continue
		}
		if f := became(one.effect, after); f.Op != change.Unchanged {
			f.Knowledge = hooks.MadeByCommand
			o.Files = append(o.Files, f)
		}
	}
	if len(o.Files) == 0 {
		return c.noted(o), nil
	}
	o.About = map[string]any{record.DetailUpstream: c.told}
	return o, nil
}
