package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Recorder writes questions and answers down.
type Recorder interface {
	// Asked need not wait for the disk; Answered returns when the record is as durable as the settings ask.
	Asked(call *hooks.Call, d record.Decision, way string)
	Answered(ctx context.Context, call *hooks.Call, d record.Decision, way string) error
}

// Options are what a Service is made of.
type Options struct {
	Store    *approval.Store
	Recorder Recorder
	// Wait is how long a call waits for an answer, approvals.wait.
	Wait time.Duration
	// Lifetime is how long a question that went out as a call's result can be answered, approvals.lifetime.
	Lifetime time.Duration
	// Notify is told of each new request, and returns at once; nil for nobody.
	Notify func(approval.Request)
	Logger zerolog.Logger
}

// Service asks. It is safe for concurrent use.
type Service struct{ Options }

// New makes a Service.
func New(o Options) *Service { return &Service{o} }

// Waiting is the same service for calls that wait no longer than a while for an answer.
func (s *Service) Waiting(wait time.Duration) *Service {
	o := s.Options
	o.Wait = wait
	return &Service{o}
}

var (
	_ hooks.Asker    = (*Service)(nil)
	_ hooks.PostHook = (*Service)(nil)
)

// CanAsk implements hooks.Asker.
func (s *Service) CanAsk(call *hooks.Call, q hooks.Question) bool {
	if call.Edited != nil {
		if r, err := s.Store.Get(call.Edited.ID); err == nil && asked(r, q) {
			return true
		}
	}
	switch q.Policy {
	case hooks.PolicyAsk:
		return true
	case hooks.PolicyElicit:
		if call.Ways.Elicit != nil || call.Ways.Return || call.Ways.Elsewhere {
			return true
		}
		// The operator may have let it through where the client could be asked.
		_, covered, err := s.Store.Covered(requestOf(call, []hooks.Question{q}))
		return err == nil && covered
	}
	return false
}

// Pass implements hooks.Asker.
func (s *Service) Pass(_ context.Context, call *hooks.Call, questions []hooks.Question) (notes []string, passed bool, err error) {
	defer func() {
		if _, said := refusal.As(err); err != nil && !said && !isEdited(err) {
			err = unavailable(reasonOf(questions), err)
		}
	}()
	if err := s.endGrants(call); err != nil {
		return nil, false, err
	}
	if call.Edited != nil {
		if notes, passed, err := s.edited(call, questions, s.Store.Use); passed || err != nil {
			return notes, passed, err
		}
	}
	r := requestOf(call, questions)
	grants, covered, err := s.Store.Covered(r)
	if err != nil {
		return nil, false, err
	}
	if covered {
		for _, g := range grants {
			notes = append(notes, fmt.Sprintf("let through by the operator's grant %s (%s)", g.ID, g.ErrorType))
		}
		return notes, true, nil
	}
	standing, err := s.Store.Standing(r.ComputeDigest())
	switch {
	case err != nil:
		return nil, false, err
	case standing.Denied != nil:
		return nil, false, rejected(*standing.Denied)
	case standing.Approved == nil:
		return nil, false, nil
	}
	a := *standing.Approved
	if a.Edit != nil {
		asked, err := s.Store.Get(a.ID)
		if err == nil {
			err = instead(call, asked, a)
		}
		return nil, false, err
	}
	used, err := s.Store.Use(a)
	if err != nil || !used {
		return nil, false, err // or another process was faster
	}
	call.ApprovedBy(a.ID)
	return []string{approvedOnce(a)}, true, nil
}

// reasonOf is that of the first question, "" where there is none.
func reasonOf(questions []hooks.Question) string {
	if len(questions) == 0 {
		return ""
	}
	return questions[0].Refusal.Reason()
}

func approvedOnce(a approval.Answer) string {
	return fmt.Sprintf("approved once by the operator (%s, %s)", a.ID, a.Via)
}

// endGrants withdraws what was granted for intents that are over. An intent
// that is opened again afterwards has to be granted anew.
func (s *Service) endGrants(call *hooks.Call) error {
	if call.Intents == nil {
		return nil
	}
	grants, err := s.Store.Grants()
	if err != nil {
		return err
	}
	for _, g := range grants {
		in, ok := call.Intents.Get(g.IntentID)
		if ok && in.Status.Selectable() {
			continue
		}
		if _, err := s.Store.EndIntent(g.IntentID); err != nil {
			return err
		}
	}
	return nil
}

// Name implements hooks.PostHook.
func (s *Service) Name() string { return "grants" }

// After withdraws what was granted for an intent that the call ended, before anybody can take the intent up again. An
// intent that is ended by hand is found by the next call that would use a grant.
func (s *Service) After(_ context.Context, _ *hooks.Call, outcome *hooks.Outcome) error {
	if outcome.Record == nil {
		return nil
	}
	status, ok := outcome.Record.Detail["status"].(string)
	if !ok || outcome.Record.IntentID == "" || intent.Status(status).Selectable() {
		return nil
	}
	_, err := s.Store.EndIntent(outcome.Record.IntentID)
	return err
}

// Lapse implements hooks.Asker.
func (s *Service) Lapse(id string) {
	if err := s.Store.Void(id); err != nil && !errors.Is(err, approval.ErrUnknown) {
		s.Logger.Warn().Err(err).Str("approval", id).Msg("an approval that was not used could not be taken back; it lapses by itself")
	}
}

// Ask implements hooks.Asker.
func (s *Service) Ask(ctx context.Context, call *hooks.Call, questions []hooks.Question) (string, error) {
	r := requestOf(call, questions)
	r.Diffs = diffsOf(call)
	call.Release()
	stored, isNew, err := s.Store.Put(r)
	if err != nil {
		return "", unavailable(questions[0].Refusal.Reason(), err)
	}
	q := &question{service: s, call: call, request: stored, questions: questions}
	if isNew {
		s.Recorder.Asked(call, Decision(stored, Asked), q.way())
		if s.Notify != nil {
			s.Notify(stored)
		}
	}
	return q.put(ctx)
}

// unavailable refuses where a request to the operator could not be recorded, or the answers not be read: nothing that
// needs one passes.
func unavailable(reason string, err error) *refusal.Refusal {
	code := refusal.InternalError
	if errors.Is(err, approval.ErrFull) {
		code = refusal.Busy
	}
	if short := refusal.Exhausted(err); short != nil {
		return short
	}
	if reason != "" {
		reason += " "
	}
	return refusal.Newf(code, "%sThe operator could not be asked: %v.", reason, err).WithHint(refusal.HintAskUser).
		Suggest("Ask the user to look at the requests that are pending (orchestra-mcp approvals list), and at the server's log.")
}

// rejected is the operator's no, with the operator's words told apart from ours.
func rejected(a approval.Answer) *refusal.Refusal {
	text := "The operator said no to this call."
	if a.Reason != "" {
		text = fmt.Sprintf("The operator said no to this call, in these words: “%s”", printable.Text(a.Reason))
	}
	r := refusal.New(refusal.ApprovalRejected, text).With("approval_id", a.ID).With("answered_at", a.AnsweredAt).With("stands_until", a.ExpiresAt)
	if a.Reason != "" {
		r = r.With("operator_reason", a.Reason)
	}
	return r
}
