package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// judgedBy gives a record what its call was judged by and on. What the agent's gate does not judge has neither.
func (r *Recorder) judgedBy(call *hooks.Call, rec *record.Record) (err error) {
	rec.Policy, rec.Judged, err = r.JudgedBy(call)
	return err
}

// JudgedBy is the digest of what a call is judged by, which is kept then, and what it is judged on, whole. Of an operator's own
// call there is neither, nor where no ledger is.
func (r *Recorder) JudgedBy(call *hooks.Call) (policy string, on *record.Judged, err error) {
	if call.Operator || call.Untracked && r.uninitialized(context.Background()) { // where there is nothing to keep it in
		return "", nil, nil
	}
	if policy, err = r.Policy(call.Intents); err != nil {
		return "", nil, fmt.Errorf("%w: what the call is judged by could not be kept: %w", ledger.ErrUnavailable, err)
	}
	return policy, r.judged(call), nil
}

// policyOf is the digest for the records that stand before a command's own, which does not come into being without one.
func (r *Recorder) policyOf(call *hooks.Call) string {
	if call.Operator {
		return ""
	}
	digest, _ := r.Policy(call.Intents)
	return digest
}

// judged is what a call was judged on, as the record of one that is refused has it.
func (r *Recorder) judged(call *hooks.Call) *record.Judged {
	j := &record.Judged{Elicit: call.CanElicit(), Selection: selectionOf(call.SessionErr), Declared: string(call.Declared), Asks: call.Effects.Asks != nil, Selects: call.Effects.Selects, Answered: call.Effects.Answered}
	if call.Class != hooks.Destructive {
		j.Class = string(call.Class)
	}
	j.Asked, j.Approval = call.Asked()
	left, repositories := maxJudged, repositoriesOf(call.Effects.Files)
	for _, f := range call.Effects.Files {
		judged := judgedFile(f, repositories)
		if left -= len(judged.Path) + len(judged.From); left < 0 {
			j.More++
			continue
		}
		j.Files = append(j.Files, judged)
	}
	if command := call.Effects.Command; command != nil {
		j.Command = r.judgedCommand(command)
	}
	if u := call.Effects.Upstream; u != nil {
		j.Upstream = judgedUpstream(u)
	}
	return j
}

// maxJudgedTexts bounds the addresses, the lines and the findings of a call of another server in a record, and maxJudgedText
// the bytes of each.
const maxJudgedTexts, maxJudgedText = 50, 4 << 10

func judgedUpstream(u *hooks.UpstreamEffect) *record.JudgedUpstream {
	j := &record.JudgedUpstream{Server: u.Server, Tool: asText(cut(u.Tool, maxDecidedPath)), OnSecrets: string(u.OnSecrets)}
	add := func(to *[]string, text string) {
		if len(*to) == maxJudgedTexts || len(text) > maxJudgedText {
			j.Redacted = true
			return
		}
		text, left := redact.Line(asText(text))
		*to, j.Redacted = append(*to, text), j.Redacted || left
	}
	for _, address := range u.URLs {
		add(&j.URLs, address)
	}
	for _, command := range u.Commands {
		add(&j.Commands, command.Line)
	}
	for _, finding := range u.Secrets[:min(len(u.Secrets), maxJudgedTexts)] {
		j.Secrets = append(j.Secrets, cut(asText(finding), maxJudgedText))
	}
	return j
}

// maxJudged bounds the paths of what a call was judged on, in bytes.
const maxJudged = 1 << 20

// compact leaves out what the record says in other words. It may leave nothing.
func compact(rec *record.Record) {
	j := rec.Judged
	if j == nil {
		return
	}
	if rec.Class != nil {
		j.Declared = ""
	}
	if rec.Kind == record.KindSelection && j.Selects == rec.IntentID {
		j.Selects = ""
	}
	implied := j.Implied(*rec)
	if c := j.Command; rec.Command != nil && c != nil {
		c.Line, c.Cwd, c.Redacted = "", "", false
		if c.Sandbox == rec.Command.Sandbox {
			c.Sandbox = ""
		}
		if c.IsZero() {
			j.Command = nil
		}
	}
	if j.More == 0 && slices.EqualFunc(j.Files, implied, record.JudgedFile.Equal) {
		j.Files = nil
	}
	if j.IsZero() {
		rec.Judged = nil
	}
}

func selectionOf(err error) string {
	var mismatch *session.MismatchError
	var ended *session.EndedError
	switch {
	case errors.Is(err, session.ErrExpired):
		return record.SelectionExpired
	case errors.As(err, &mismatch):
		return record.SelectionMismatch
	case errors.As(err, &ended):
		return record.SelectionEnded
	}
	return ""
}

// repositoriesOf are the directories that git takes for repositories when the call has taken effect.
func repositoriesOf(files []*hooks.FileEffect) []string {
	var parts []workspace.GitPart
	for _, f := range files {
		if f.Mutates() {
			parts = append(parts, f.GitParts...)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return workspace.Repositories(parts)
}

// judgedFile cuts paths that no file can have, and makes text of names that are none, for a record is text.
func judgedFile(f *hooks.FileEffect, repositories []string) record.JudgedFile {
	j := record.JudgedFile{
		Kind: f.Op.Verb(), Path: asText(cut(f.Path, maxDecidedPath)), From: asText(cut(f.From, maxDecidedPath)), Directory: f.Directory, Rehearsed: f.Rehearsed, Reproduced: f.Reproduced, Cleared: f.Cleared,
	}
	for _, part := range f.GitParts {
		if slices.Contains(repositories, part.Dir) && !slices.Contains(j.Repositories, part.Dir) {
			j.Repositories = append(j.Repositories, part.Dir)
		}
	}
	if f.Problem != nil {
		j.Problem = string(f.Problem.Code())
	}
	if f.Protection != max(workspace.Protect(f.Path), workspace.Protect(f.From)) {
		j.Protection = f.Protection.String()
	}
	return j
}

func asText(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

// maxLine bounds a line that is read, in bytes; see package shell.
const maxLine = 128 << 10

// judgedCommand leaves secrets out. Where the line cannot be read again without them, as it was read, what it was read to be
// stands beside it.
func (r *Recorder) judgedCommand(c *hooks.CommandEffect) *record.JudgedCommand {
	ability := r.Sandbox()
	j := &record.JudgedCommand{Cwd: c.Cwd, Background: c.Background, Sandbox: string(ability.Level)}
	j.Network = ability.Level == sandbox.Landlock && ability.DeniesNetwork()
	line := cut(c.Line, maxLine)
	j.Line, j.Redacted = redact.Line(line)
	if c.Reading == nil {
		return j
	}
	if c.Dialect != shell.Bash {
		j.Dialect = string(shell.POSIX)
	}
	if line == c.Line && (!j.Redacted || readsAlike(*c.Reading, shell.Read(redact.Readable(j.Line), c.Dialect))) {
		return j
	}
	shown := func(text string) string { // a word that is a secret by what stands before it does not look like one by itself
		if !strings.Contains(j.Line, text) {
			return redact.Word
		}
		return asText(text)
	}
	j.Unread, j.Unjudged = true, redacted(c.Reading.Unjudged)
	for _, p := range c.Reading.Programs {
		program := record.JudgedProgram{Path: redact.Text(asText(p.Path))}
		for _, dir := range p.In {
			program.In = append(program.In, asText(dir))
		}
		for _, a := range p.Args {
			program.Args = append(program.Args, record.JudgedArg{Text: shown(a.Text), Exact: a.Exact, Many: a.Many, Open: a.Open})
		}
		j.Programs = append(j.Programs, program)
	}
	return j
}

// readsAlike: rules come to the same of both, but for one that names what was left out.
func readsAlike(was, is shell.Reading) bool {
	sameArg := func(a, b shell.Arg) bool {
		return a.Exact == b.Exact && a.Many == b.Many && a.Open == b.Open && (a.Text == b.Text || a.Exact && strings.Contains(b.Text, redact.Word))
	}
	return (len(was.Unjudged) > 0) == (len(is.Unjudged) > 0) && slices.EqualFunc(was.Programs, is.Programs, func(a, b shell.Program) bool {
		return a.Path == b.Path && slices.Equal(a.In, b.In) && slices.EqualFunc(a.Args, b.Args, sameArg)
	})
}

// asJudged takes what a client's call was judged by, when it was let through.
func asJudged(rec *record.Record, outcome *hooks.Outcome) {
	switch {
	case outcome.Judged != nil:
		judged := *outcome.Judged
		rec.Policy, rec.Judged = outcome.Policy, &judged
	case outcome.Detail != nil: // nobody was asked about it
		rec.Policy, rec.Judged = "", nil
	}
}
