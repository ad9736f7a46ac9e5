package backtest

import (
	"cmp"
	"encoding/json"
	"path"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// made is the call of a record, as it came to the gate.
func (w *worker) made(files []*hooks.FileEffect, command *hooks.CommandEffect) *hooks.Call {
	e, j := w.entry, w.entry.Judged
	if j == nil {
		j = &record.Judged{}
	}
	call := &hooks.Call{
		ID: e.ID, Tool: e.Call, Class: cmp.Or(hooks.Class(j.Class), hooks.Destructive), Declared: mutation.Class(j.Declared),
		Caller:  session.Caller{ClientName: e.Client.Name, ClientVersion: e.Client.Version, ModelID: e.Contributor.ModelID, ModelSource: session.ModelSource(e.Contributor.ModelSource)},
		Ways:    hooks.Ways{Asks: j.Elicit},
		Effects: hooks.Effects{Files: files, Command: command, Upstream: w.upstream(j.Upstream), Selects: j.Selects, Answered: j.Answered},
	}
	if e.Kind == record.KindSelection {
		call.Effects.Selects = cmp.Or(j.Selects, e.IntentID)
	}
	if j.Asks {
		call.Effects.Asks = refusal.New(cmp.Or(refusal.Code(w.recorded.ErrorType), refusal.ApprovalRequired), cmp.Or(w.recorded.Reason, "The tool has each such call put to the operator."))
	}
	switch {
	case e.Class != nil:
		call.Declared = mutation.Class(e.Class.Declared)
		call.Known = &mutation.Verdict{Evidence: mutation.Evidence(e.Class.Evidence), Reason: e.Class.Reason}
	case w.recorded.Decision == Refused && (w.recorded.Check == "class" || of(w.behind()) == "class"):
		call.Known = &mutation.Verdict{Evidence: mutation.Unproven, Reason: w.recorded.Reason}
	}
	w.selection(call, j)
	return call
}

// selection gives the call the selection that it had.
func (w *worker) selection(call *hooks.Call, j *record.Judged) {
	switch {
	case w.entry.Session != "":
		call.Session = session.Selected(w.entry.IntentID)
	case j.Selection == record.SelectionExpired:
		call.Handle, call.SessionErr = "expired", session.ErrExpired
	case j.Selection == record.SelectionMismatch:
		call.SessionErr = &session.MismatchError{}
	case j.Selection == record.SelectionEnded:
		call.SessionErr = &session.EndedError{IntentID: w.entry.IntentID}
	default:
		call.SessionErr = session.ErrNone
	}
}

// effects are what the call meant to touch; false where the record does not say.
func (w *worker) effects() (files []*hooks.FileEffect, command *hooks.CommandEffect, ok bool) {
	e := w.entry
	named := e.Judged.Implied(e.Record)
	if e.Judged != nil && e.Judged.Files != nil {
		named = e.Judged.Files
	}
	if e.Policy == "" && (e.Kind == record.KindDecision || e.Command != nil || len(named) == 0) {
		return nil, nil, false
	}
	for _, f := range named {
		files = append(files, effectOf(f))
	}
	return files, w.command(), true
}

func effectOf(f record.JudgedFile) *hooks.FileEffect {
	op := change.OpOf(f.Kind)
	effect := &hooks.FileEffect{
		Change: change.Change{Op: op, Path: f.Path, From: f.From}, Requested: f.Path, Exists: op != change.Created, Directory: f.Directory,
		Rehearsed: f.Rehearsed, Reproduced: f.Reproduced, Cleared: f.Cleared,
		Protection: max(workspace.Protect(f.Path), workspace.Protect(f.From)),
	}
	if f.Protection != "" {
		effect.Protection = workspace.ProtectionOf(f.Protection)
	}
	for _, dir := range f.Repositories {
		effect.GitParts = append(effect.GitParts, workspace.Repository(dir))
	}
	if f.Problem != "" {
		effect.Problem = refusal.AtPath(refusal.Code(f.Problem), f.Path, "%s: as it was recorded.", f.Path)
	}
	return effect
}

// command is the command of the call, nil for none.
func (w *worker) command() *hooks.CommandEffect {
	j := &record.JudgedCommand{}
	if w.entry.Judged != nil && w.entry.Judged.Upstream != nil {
		w.redacted = w.entry.Judged.Upstream.Redacted
		return nil
	}
	if w.entry.Judged != nil && w.entry.Judged.Command != nil {
		j = w.entry.Judged.Command
	} else if w.entry.Command == nil {
		return nil
	}
	c := &hooks.CommandEffect{Line: j.Line, Cwd: j.Cwd, Background: j.Background, Dialect: shell.Bash}
	w.redacted = j.Redacted
	w.ability = sandbox.Ability{Level: sandbox.Level(j.Sandbox), Sockets: j.Network}
	if made := w.entry.Command; made != nil {
		c.Line, c.Cwd, w.redacted = made.Command, made.Cwd, made.Redacted
		w.ability.Level = cmp.Or(w.ability.Level, sandbox.Level(made.Sandbox))
	}
	if j.Dialect != "" {
		c.Dialect = shell.Dialect(j.Dialect)
	}
	if j.Unread {
		c.Reading = unread(j)
	} else {
		c.Reading = w.read(c.Line, c.Dialect)
	}
	return c
}

// upstream is the call of another server, nil for none. What it was given is not on record.
func (w *worker) upstream(j *record.JudgedUpstream) *hooks.UpstreamEffect {
	if j == nil {
		return nil
	}
	u := &hooks.UpstreamEffect{
		Server: j.Server, Tool: j.Tool, URLs: j.URLs, Secrets: j.Secrets, OnSecrets: hooks.Policy(j.OnSecrets),
		Arguments: json.RawMessage("{}"), Digest: func() string { return "" }, Names: hooks.CommonNames(),
	}
	for _, line := range j.Commands {
		u.Commands = append(u.Commands, hooks.UpstreamCommand{Line: line, Reading: w.read(line, shell.Bash)})
	}
	return u
}

// unread is what a line was read to be that cannot be read again.
func unread(j *record.JudgedCommand) *shell.Reading {
	reading := &shell.Reading{Unjudged: j.Unjudged}
	for _, p := range j.Programs {
		program := shell.Program{Name: path.Base(p.Path), Path: p.Path, In: p.In}
		for _, a := range p.Args {
			program.Args = append(program.Args, shell.Arg{Text: a.Text, Exact: a.Exact, Many: a.Many, Open: a.Open})
		}
		reading.Programs = append(reading.Programs, program)
	}
	return reading
}

// maxLines bounds the readings that are kept.
const maxLines = 10_000

func (w *worker) read(line string, dialect shell.Dialect) *shell.Reading {
	key := string(dialect) + "\x00" + line
	reading, known := w.lines[key]
	if !known {
		if len(w.lines) >= maxLines {
			clear(w.lines)
		}
		text := line
		if w.redacted {
			text = redact.Readable(line)
		}
		reading = shell.Read(text, dialect)
		w.lines[key] = reading
	}
	return &reading
}

// maxPaths bounds the paths that a Change names.
const maxPaths = 20

func pathsOf(files []*hooks.FileEffect) (paths []string) {
	for _, f := range files {
		if f.Mutates() || f.Problem != nil || len(files) == 1 && !f.Directory {
			paths = append(paths, f.Paths()...)
		}
	}
	return paths[:min(len(paths), maxPaths)]
}

func lineOf(command *hooks.CommandEffect) string {
	if command == nil {
		return ""
	}
	return command.Line
}
