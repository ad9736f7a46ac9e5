package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// ToolCall is a tool with arguments, without a session handle.
type ToolCall struct {
	Tool      string
	Arguments json.RawMessage
}

// Edited is a call that the operator has put in the place of the one that an agent asked for. As an error of the Asker it
// says that this one is to be made: it is judged from its beginning, as every call is, and the answer lets it pass where the
// operator had been asked.
type Edited struct {
	// ID is the request's that was answered, and Asked the digest of the call as it was asked for.
	ID, Asked string
	From, To  ToolCall
	// Was and Is are what was edited, where it is no content of files: a command line, or globs, one a line.
	Was, Is string
	// Made is the digest of the call as it is made. The Asker sets it when it lets the call pass.
	Made string

	asked *Effects // what was asked for would do now; nil where that is not known, or not compared
	diff  Difference
	lines bool
}

func (*Edited) Error() string { return "the operator has put another call in the place of this one" }

// Difference is what an agent is told of an edit of its call.
type Difference struct {
	ApprovalID string `json:"approval_id"`
	// Diff leads from what was asked for to what was made, and Complete says that it is all of it.
	Diff     string `json:"diff"`
	Complete bool   `json:"complete"`
}

// maxDifference bounds the diff of a Difference, in bytes.
const maxDifference = 16 << 10

// Lines reports whether lines of files are the operator's, from AtPlan on.
func (e *Edited) Lines() bool { return e.lines }

// Told is what the agent is told, from AtPlan on.
func (e *Edited) Told() Difference { return e.diff }

// AskedFor is what the call that was asked for would have made of a file that had the content before; nil if that is not
// known, or it would not have changed it.
func (e *Edited) AskedFor(path, before string) *FileEffect {
	if e.asked == nil {
		return nil
	}
	i := slices.IndexFunc(e.asked.Files, func(f *FileEffect) bool {
		return f.Mutates() && f.Path == path && f.Before.Hash == before
	})
	if i < 0 {
		return nil
	}
	return e.asked.Files[i]
}

// compare finds what differs between the call that was asked for and the one that is planned.
func (e *Edited) compare(made Effects) {
	e.lines, e.diff = false, Difference{ApprovalID: e.ID, Complete: true}
	if e.Was != e.Is {
		e.tell(edit.Unified("asked", "made", e.Was+"\n", e.Is+"\n", 3))
		return
	}
	for _, f := range made.Files {
		if !f.Mutates() || made.Command != nil || made.Proposes != nil {
			continue
		}
		was := e.AskedFor(f.Path, f.Before.Hash)
		switch {
		case was == nil && e.asked == nil:
			e.lines, e.diff.Complete = true, false
		case was == nil:
			e.lines = true
			e.tellContents(f.Path, f.Before.Bytes, f.After.Bytes)
		case was.After.Hash != f.After.Hash:
			e.lines = true
			e.tellContents(f.Path, was.After.Bytes, f.After.Bytes)
		}
	}
	e.tellDropped(made)
}

// tellDropped names the files that were to be changed and are not.
func (e *Edited) tellDropped(made Effects) {
	if e.asked == nil {
		return
	}
	for _, f := range e.asked.Files {
		if f.Mutates() && !slices.ContainsFunc(made.Files, func(m *FileEffect) bool { return m.Path == f.Path }) {
			e.tell(fmt.Sprintf("%q is not changed\n", f.Path))
		}
	}
}

func (e *Edited) tellContents(path string, asked, made []byte) {
	was, is, text := Texts(asked, made)
	if !text {
		e.diff.Complete = false
		return
	}
	e.tell(workspace.Shown(edit.Unified(path, path, was, is, 3)))
}

// tell adds to the diff, as far as there is room.
func (e *Edited) tell(diff string) {
	if room := maxDifference - len(e.diff.Diff); len(diff) > room {
		diff, e.diff.Complete = diff[:strings.LastIndexByte(diff[:room], '\n')+1], false
	}
	e.diff.Diff += diff
}

// inPlace is the request of the call that is made in the place of another. A question in the client's result would be one
// about that other call.
func (e *Engine) inPlace(r Request, edited *Edited) (Request, error) {
	arguments, err := e.under(edited.To, e.handleOf(r))
	r.Tool, r.Arguments, r.edited = edited.To.Tool, arguments, edited
	r.Ways.Return, r.Ways.Resumed = false, nil
	return r, err
}

// handleOf is the handle of a session that a call names.
func (e *Engine) handleOf(r Request) string {
	spec, _ := e.Spec(r.Tool)
	return r.Arguments.CommonAs(spec.CommonNames()).Session
}

// under are the arguments of a call with the handle of a session, if there is one.
func (e *Engine) under(t ToolCall, session string) (Arguments, error) {
	spec, _ := e.Spec(t.Tool)
	name := spec.CommonNames().Session
	if session == "" || name == "" {
		return ReadArguments(t.Arguments), nil
	}
	object := map[string]json.RawMessage{}
	err := json.Unmarshal(t.Arguments, &object)
	if err == nil {
		object[name], err = json.Marshal(session)
	}
	if err != nil {
		return Arguments{}, err
	}
	return MakeArguments(object)
}

// Instead makes the call that the operator has put in the place of the one that req asks for.
func (e *Engine) Instead(ctx context.Context, req Request, edited *Edited) Result {
	req, err := e.inPlace(req, edited)
	if err != nil {
		return refuse(Destructive, refusal.From(err))
	}
	return e.Do(ctx, req)
}

// instead is Instead for a call that has been asked about, which becomes the other.
func (e *Engine) instead(ctx context.Context, call *Call, req Request, edited *Edited) (Result, error) {
	req, err := e.inPlace(req, edited)
	if err != nil {
		return Result{}, err
	}
	tool, ok := e.tool(req.Tool)
	if !ok {
		return Result{}, refusal.Newf(refusal.InvalidArguments, "There is no tool %q, which the edited call is for.", req.Tool)
	}
	e.renew(tool, call, req)
	if ctx.Err() != nil {
		e.Asker.Lapse(edited.ID)
		return Result{}, cancelledBefore()
	}
	decoded, err := tool.Decode(req.Arguments)
	if err != nil {
		return Result{}, err
	}
	return e.judge(ctx, tool, decoded, call, req)
}

// askedFor plans the call that was asked for beside the one that is made of it.
func (e *Engine) askedFor(ctx context.Context, req Request) {
	edited := req.edited
	if edited.asked = nil; edited.Was != edited.Is {
		return
	}
	arguments, err := e.under(edited.From, e.handleOf(req))
	if err != nil {
		return
	}
	req.Tool, req.Arguments, req.edited = edited.From.Tool, arguments, nil
	if effects, err := e.Preview(ctx, req, func(Effects) error { return nil }); err == nil {
		edited.asked = &effects
	}
}

// refusedEdited says that what is refused is the operator's call, and takes the answer back unless it can still serve.
func (e *Engine) refusedEdited(edited *Edited, r *refusal.Refusal) *refusal.Refusal {
	if r.Code() != refusal.Busy && r.Code() != refusal.Cancelled {
		e.Asker.Lapse(edited.ID)
	}
	again := r.Reworded("The operator has edited this call before approving it (%s), and what was made of it is stopped: %s", edited.ID, r.Reason()).
		With("edited_by_operator", map[string]string{"approval_id": edited.ID})
	for _, d := range r.Delivered() {
		again = again.Deliver(d)
	}
	return again
}

// Preview plans a call and does nothing else: it judges, asks, records and changes nothing. look sees what it would touch
// before anything is read. A command is not planned: what it writes only running it tells. An error is a refusal.
func (e *Engine) Preview(ctx context.Context, req Request, look func(Effects) error) (_ Effects, err error) {
	tool, ok := e.tool(req.Tool)
	if !ok {
		return Effects{}, refusal.Newf(refusal.InvalidArguments, "There is no tool %q.", req.Tool)
	}
	call := e.newCall(tool.Spec(), req)
	defer e.survive(call, &err)
	decoded, err := tool.Decode(req.Arguments)
	if err != nil {
		return Effects{}, refusal.From(err)
	}
	targeted, err := decoded.Targets(ctx, call)
	if err != nil {
		return Effects{}, refusal.From(err)
	}
	defer targeted.Close()
	for _, f := range targeted.Effects().Files {
		if f.Problem != nil {
			return Effects{}, f.Problem
		}
	}
	if err := look(targeted.Effects()); err != nil || targeted.Effects().Command != nil {
		return targeted.Effects(), err
	}
	if _, err := targeted.Plan(ctx); err != nil {
		return Effects{}, refusal.From(err)
	}
	return targeted.Effects(), nil
}
