package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

const (
	// messageLimit bounds what a client's form shows, in bytes.
	messageLimit = 8 << 10
	// tellEvery is how often a waiting call says so.
	tellEvery = 2 * time.Second
)

// question is one request that is being put to the operator.
type question struct {
	service   *Service
	call      *hooks.Call
	request   approval.Request
	questions []hooks.Question
}

// put asks in the ways that there are. The id is that of a request that was answered with yes.
func (q *question) put(ctx context.Context) (string, error) {
	ways := q.call.Ways
	if ways.Resumed != nil {
		a, err := q.redeem(ctx, ways.Resumed)
		if a != nil || err != nil {
			return q.concluded(a, err)
		}
	}
	if ways.Return {
		return "", q.inLine()
	}
	q.call.Leave()
	ctx, cancel := context.WithTimeout(ctx, q.service.Wait)
	defer cancel()
	defer q.tell(ctx)()
	if ways.Elicit != nil {
		a, err := q.elicit(ctx)
		if a != nil || err != nil || !q.inbox() {
			return q.concluded(a, err)
		}
	}
	if !q.service.Store.Shared() {
		return q.concluded(nil, nil)
	}
	a, err := q.wait(ctx)
	return q.concluded(a, err)
}

// inbox: one of the questions may be answered by somebody who is not at the client.
func (q *question) inbox() bool {
	return slices.ContainsFunc(q.questions, func(one hooks.Question) bool { return one.Policy == hooks.PolicyAsk })
}

func (q *question) form() hooks.Form {
	view := approval.ViewOf(q.request)
	return hooks.Form{
		Message:   view.Message(messageLimit),
		ForIntent: slices.ContainsFunc(view.Answers, func(a approval.AnswerView) bool { return a.Decision == approval.ForIntent }),
	}
}

// inLine has the call end with the question.
func (q *question) inLine() error {
	state, err := q.service.Store.SealState(q.request, q.service.Lifetime)
	if err != nil {
		return unavailable(q.request.Checks[0].Reason, err)
	}
	return &hooks.InLine{Form: q.form(), State: state}
}

// redeem takes the answer that a client brought along. Whatever is wrong with it is no answer, and the question is put again.
func (q *question) redeem(ctx context.Context, resumed *hooks.Resumed) (*approval.Answer, error) {
	q.call.Ways.Resumed = nil // it is good once
	asked, err := q.service.Store.RedeemState(resumed.State, q.request.Principal)
	if err != nil || asked.Digest != q.request.Digest {
		return nil, nil
	}
	reply, err := resumed.Read(q.form())
	if err != nil {
		return nil, nil
	}
	if reply.Decision == "" {
		return nil, q.required()
	}
	return q.record(ctx, asked.ID, reply)
}

// elicit shows the form, and takes an answer from the inbox all the same. It
// gives neither answer nor error where the form led to nothing.
func (q *question) elicit(ctx context.Context) (*approval.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type shown struct {
		reply hooks.Reply
		err   error
	}
	done := make(chan shown, 1)
	go func() {
		reply, err := q.call.Ways.Elicit(ctx, q.form())
		done <- shown{reply, err}
	}()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	answered := make(chan *approval.Answer, 1)
	go func() {
		if a, err := q.service.Store.Wait(waiting, q.request.ID); err == nil {
			answered <- &a
		}
	}()
	select {
	case a := <-answered:
		cancel()
		<-done // the form is taken back, and the call has its place again
		return a, nil
	case s := <-done:
		stop()
		switch {
		case s.err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case s.err != nil:
			q.service.Logger.Info().Err(s.err).Str("approval", q.request.ID).Msg("the client could not be asked")
			return nil, nil
		case s.reply.Decision == "":
			return nil, q.required()
		}
		return q.record(ctx, q.request.ID, s.reply)
	}
}

// wait waits for the inbox, in nobody's way.
func (q *question) wait(ctx context.Context) (*approval.Answer, error) {
	var a approval.Answer
	var err error
	wait := func() { a, err = q.service.Store.Wait(ctx, q.request.ID) }
	if q.call.Ways.Aside == nil {
		wait()
	} else if aside := q.call.Ways.Aside(wait); aside != nil {
		return nil, nil // too many wait: this one comes back later
	}
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// record keeps an answer that came through the client. If the inbox was faster, that one holds.
func (q *question) record(ctx context.Context, id string, reply hooks.Reply) (*approval.Answer, error) {
	a, _, err := q.service.Store.Answer(id, approval.Answer{
		Decision: approval.Decision(reply.Decision), Reason: reply.Reason, By: "the user of " + cmp.Or(q.request.Client, "the client"), Via: approval.Elicitation,
	})
	switch {
	case errors.Is(err, approval.ErrAnswered):
		a, err = q.service.Store.AnswerOf(id)
		if err != nil {
			return nil, q.required()
		}
		return &a, nil
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, approval.ErrNotGrantable):
		return nil, q.required()
	case err != nil:
		return nil, unavailable("", err)
	}
	if err := q.service.Recorder.Answered(ctx, q.call, AnswerDecision(q.request, a), a.Via); err != nil {
		q.service.Lapse(id)
		return nil, refusal.Newf(refusal.LedgerUnavailable, "The operator's answer could not be recorded (%v), so it does not count. Nothing was changed.", err)
	}
	return &a, nil
}

// concluded turns what came of the question into what the engine does next.
func (q *question) concluded(a *approval.Answer, err error) (string, error) {
	switch {
	case a != nil && a.Decision == approval.Deny:
		return "", rejected(*a)
	case a != nil && a.Edit != nil:
		return "", instead(q.call, q.request, *a)
	case a != nil:
		return a.ID, nil
	case errors.Is(err, context.Canceled):
		return "", refusal.New(refusal.Cancelled, "The call was cancelled while the operator was asked; nothing was changed.")
	case err == nil, errors.Is(err, context.DeadlineExceeded):
		return "", q.required()
	case errors.Is(err, approval.ErrUnknown) && ForNobody(q.request):
		// The operator's command has carried it out: judged again, the call finds nothing left to do.
		return q.request.ID, nil
	case errors.Is(err, approval.ErrUnknown):
		// Somebody else's call was let through by the answer, or it was taken back.
		return "", usedByAnother()
	}
	return "", refusal.From(err)
}

// required is the refusal of a call that has no answer yet.
func (q *question) required() *refusal.Refusal {
	return required(q.questions[0].Refusal.Reason(), q.request, q.service.Store.Shared()).With("check", string(q.questions[0].Refusal.Code()))
}

// required refuses until a request is answered, and says how it can be.
func required(reason string, r approval.Request, shared bool) *refusal.Refusal {
	refused := refusal.New(refusal.ApprovalRequired, reason).
		With("approval_id", r.ID).With("expires_at", r.ExpiresAt)
	if paths := r.About(); len(paths) > 0 {
		refused = refused.With("paths", paths)
	}
	if !shared {
		return refused.WithHint(refusal.HintAskUser).
			Suggest("Nobody could be asked: the server was started without HOME and XDG_CONFIG_HOME, so it shares no requests with the operator's commands. Ask the user to set one of them for the server.")
	}
	command := operatorCommand(r.ID)
	return refused.With("operator_command", command).
		Suggest("Ask the user to look at the request and answer it in the workspace: %s (or deny, or orchestra-mcp approvals watch). %s", command, again(r))
}

// operatorCommand shows and answers a request.
func operatorCommand(id string) string { return "orchestra-mcp approvals approve " + id }

// tell reports progress until the returned function is called.
func (q *question) tell(ctx context.Context) func() {
	wait := q.service.Wait
	text := fmt.Sprintf("waiting for the operator's answer (%s; %s)", q.request.ID, operatorCommand(q.request.ID))
	q.call.Progress(text, 0, wait.Seconds())
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for told := tellEvery; ; told += tellEvery {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				q.call.Progress(text, told.Seconds(), wait.Seconds())
			}
		}
	}()
	return func() { stop(); <-done }
}

// way is how the question is put first.
func (q *question) way() string {
	if q.call.Ways.Return || q.call.Ways.Elicit != nil {
		return approval.Elicitation
	}
	return approval.Inbox
}
