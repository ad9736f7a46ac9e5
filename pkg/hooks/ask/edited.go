package ask

import (
	"errors"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Edited is the call that the operator has put in the place of a request's, by this answer or, where the request is about
// an edited call already, by the one before; nil where the call is made as it was asked for.
func Edited(r approval.Request, a approval.Answer) *hooks.Edited {
	from := approval.Asked{ID: r.ID, Digest: r.Digest, Edit: approval.Edit{Tool: r.Tool, Arguments: r.Arguments}}
	id, to := r.ID, from.Edit
	if r.Asked != nil {
		from, id = *r.Asked, r.Asked.ID
	}
	switch {
	case a.Edit != nil:
		id, to = r.ID, *a.Edit
	case r.Asked == nil:
		return nil
	}
	e := &hooks.Edited{ID: id, Asked: from.Digest, From: hooks.ToolCall(from.Edit), To: hooks.ToolCall(to)}
	if what, err := approval.EditableOf(r); err == nil && (what.Part == approval.PartCommand || what.Part == approval.PartScope) {
		e.Was, _ = from.Text()
		e.Is, _ = to.Text()
	}
	return e
}

// EditedForNobody is Edited for a call that has no session; see ForNobody.
func EditedForNobody(r approval.Request, a approval.Answer) (*hooks.Edited, error) {
	e := Edited(r, a)
	if e == nil || r.Tool != "request_scope_expansion" {
		return e, nil
	}
	arguments, err := storedWith(e.To.Arguments, "intent_id", r.IntentID)
	e.To.Arguments = arguments.Raw()
	return e, err
}

// instead is what a call goes on with whose answer has an edit.
func instead(call *hooks.Call, r approval.Request, a approval.Answer) error {
	if call.ByClient {
		return refusal.Newf(refusal.ApprovalRequired, "The operator has approved an edited call in the place of this one (%s), which the client's own tool cannot make.", a.ID).
			With("approval_id", a.ID).Suggest("Call resume_approval of the MCP server orchestra with approval_id: %q.", a.ID)
	}
	return Edited(r, a)
}

// edited lets pass what the operator has put in the place of another call, by the answer that has the edit: every question
// must be one that the operator was asked, or that grants let through, and what the operator saw must stand. use uses the
// answer up. Without an error, a call that has not passed is asked about as one of its own.
func (s *Service) edited(call *hooks.Call, questions []hooks.Question, use func(approval.Answer) (bool, error)) (notes []string, passed bool, err error) {
	made := requestOf(call, questions)
	made.Digest = made.ComputeDigest()
	call.Edited.Made = made.Digest
	if governs(call) && len(questions) == 0 && len(call.Effects.Files) == 0 {
		return nil, true, nil // it has been made
	}
	r, a, err := s.editOf(call.Edited.ID)
	if err != nil {
		return nil, false, err
	}
	switch {
	case a == nil:
		return nil, false, s.answered(made)
	case !s.Store.Valid(*a):
		return nil, false, usedByAnother()
	case !stands(r, made) && len(questions) == 0:
		return nil, false, refusal.New(refusal.StaleFile, "What the operator saw has changed since. Nothing was changed.").
			Suggest("Make your call again to have the operator asked.")
	case !stands(r, made):
		return nil, false, nil
	}
	if rest := notAsked(r, questions); len(rest) > 0 {
		_, granted, err := s.Store.Covered(requestOf(call, rest))
		if err != nil || !granted {
			return nil, false, err
		}
	}
	used, err := use(*a)
	if err == nil && !used {
		err = usedByAnother()
	}
	return []string{approvedOnce(*a) + ", edited"}, err == nil, err
}

// isEdited: what stopped a call has another made in its place.
func isEdited(err error) bool {
	_, is := errors.AsType[*hooks.Edited](err)
	return is
}

// governs: the call changes the intents, and nothing else.
func governs(call *hooks.Call) bool { return ForNobody(approval.Request{Tool: call.Tool}) }

// editOf finds the answer of a request that has an edit, used or not; nil where there is none, or it was taken back.
func (s *Service) editOf(id string) (approval.Request, *approval.Answer, error) {
	r, err := s.Store.Get(id)
	if errors.Is(err, approval.ErrUnknown) {
		return r, nil, nil
	}
	if err != nil {
		return r, nil, err
	}
	a, err := s.Store.AnswerOf(id)
	if err != nil || a.Edit == nil {
		return r, nil, nil
	}
	return r, &a, nil
}

// answered refuses a call whose edit was taken back, unless the operator was asked about it anew, and has answered.
func (s *Service) answered(made approval.Request) error {
	_, granted, err := s.Store.Covered(made)
	if err != nil || granted {
		return err
	}
	standing, err := s.Store.Standing(made.Digest)
	if err != nil || standing.Approved != nil || standing.Denied != nil {
		return err
	}
	return usedByAnother()
}

// notAsked are the questions that the operator was not asked with the request.
func notAsked(r approval.Request, questions []hooks.Question) []hooks.Question {
	return slices.DeleteFunc(slices.Clone(questions), func(q hooks.Question) bool { return asked(r, q) })
}

func asked(r approval.Request, q hooks.Question) bool {
	return slices.ContainsFunc(r.Checks, func(c approval.Check) bool {
		return c.Hook == q.Hook && c.ErrorType == string(q.Refusal.Code())
	})
}

// stands: what the request was about is as it was, as far as the call that is made of it has to do with it.
func stands(r, made approval.Request) bool {
	if r.IntentVersion != made.IntentVersion || r.IntentVersion != "" && r.IntentID != made.IntentID {
		return false
	}
	for _, now := range made.Effects {
		for _, was := range r.Effects {
			same := now.Path == was.Path && (now.Kind == approval.KindContent) == (was.Kind == approval.KindContent)
			if same && now.Path != "" && now.Before != was.Before {
				return false
			}
		}
	}
	return true
}

func usedByAnother() *refusal.Refusal {
	return refusal.New(refusal.Busy, "The answer to this call was used by another, or taken back. Nothing was changed.").
		Suggest("Make the call again to have the operator asked.")
}

// again names the call that an agent has to make where the operator's answer lets an edited one pass.
func again(r approval.Request) string {
	if r.Asked != nil {
		return fmt.Sprintf("Then call resume_approval with approval_id: %q; the call as you sent it would be asked about anew.", r.ID)
	}
	return fmt.Sprintf("Then call resume_approval with approval_id: %q, or make the same call again.", r.ID)
}
