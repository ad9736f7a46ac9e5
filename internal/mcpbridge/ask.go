package mcpbridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
)

// maxQuestions bounds the questions that are open at a time on one connection (stdio, SSE), or for one client
// (Streamable HTTP).
const maxQuestions = 64

var (
	// ErrTooManyQuestions is what [Call.Elicit] returns where as many questions are open as may be: the client was
	// not asked.
	ErrTooManyQuestions = errors.New("too many questions to the client are open")
	// ErrCannotAnswer is what [Call.Elicit] returns where no answer can come any more: the client has closed its end,
	// or the call is over.
	ErrCannotAnswer = errors.New("the client can no longer answer")
)

// elicitor asks the client's user on behalf of one call.
type elicitor struct {
	peer     *peer
	to       sink
	held     place
	flight   context.Context
	revision string

	over   chan struct{} // closed when the call has ended
	asking sync.Mutex    // held while a question is open: one at a time for each call
}

// newElicitor returns nil if the call's client cannot be asked while the call runs: it has not declared that it can,
// its revision has questions only as results, or it reads nothing but the answer.
func newElicitor(r *request, from *peer, to sink, f *flight, held place) *elicitor {
	if from == nil || r.caller.Modern || !r.caller.CanElicit || !to.carriesRequests() {
		return nil
	}
	return &elicitor{
		peer: from, to: to, held: held, flight: f.ctx, revision: r.caller.ProtocolVersion,
		over: make(chan struct{}),
	}
}

// elicit implements Call.Elicit.
func (e *elicitor) elicit(ctx context.Context, form Form) (Answer, error) {
	if err := form.check(); err != nil {
		return Answer{}, fmt.Errorf("mcpbridge: %w", err)
	}
	e.asking.Lock()
	defer e.asking.Unlock()
	if err := e.ended(ctx); err != nil {
		return Answer{}, err
	}
	if !e.held.leave() {
		return Answer{}, ErrTooManyQuestions
	}
	defer e.held.comeBack(e.flight)
	id := "elicit-" + rand.Text()
	q, ok := e.peer.open(id)
	if !ok {
		return Answer{}, ErrCannotAnswer
	}
	defer e.peer.forget(id)
	if !e.to.request(encodeRequest(id, "elicitation/create", form.params(e.revision))) {
		return Answer{}, ErrCannotAnswer
	}
	reply, err := e.wait(ctx, q)
	if err != nil {
		e.withdraw(id)
		return Answer{}, err
	}
	return reply.answerTo(form)
}

// wait returns the response to a question.
func (e *elicitor) wait(ctx context.Context, q <-chan message) (message, error) {
	select {
	case reply, answered := <-q:
		if !answered {
			return message{}, ErrCannotAnswer
		}
		return reply, nil
	case <-ctx.Done():
	case <-e.flight.Done():
	case <-e.over:
	}
	return message{}, e.ended(ctx)
}

// ended tells why there is nothing to wait for.
func (e *elicitor) ended(ctx context.Context) error {
	select {
	case <-e.over:
		return ErrCannotAnswer
	default:
	}
	if err := e.flight.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

// withdraw has the client close a form that nobody waits for any more.
func (e *elicitor) withdraw(id string) {
	e.to.request(encodeNotification("notifications/cancelled", map[string]string{
		"requestId": id, "reason": "the question has lapsed",
	}))
}

// close ends what is open, and lets nothing further be asked. A nil elicitor has nothing.
func (e *elicitor) close() {
	if e == nil {
		return
	}
	close(e.over)
	// A question that a handler left behind holds the call's place.
	e.asking.Lock()
	defer e.asking.Unlock()
}

// answerTo reads what the client sent in reply to a form.
func (m message) answerTo(form Form) (Answer, error) {
	switch {
	case m.failure == nil:
		return form.Read(m.result)
	case m.result != nil:
		return Answer{}, fmt.Errorf("%w: it has a result and an error", ErrBadAnswer)
	}
	// It could not, or would not, show the form. Why is a hostile text.
	text := "no reason given"
	if failure, err := readMembers(m.failure); err == nil {
		if said, ok := failure.text("message"); ok {
			text = fmt.Sprintf("%.200q", said)
		}
	}
	return Answer{}, fmt.Errorf("%w: it sent an error: %s", ErrBadAnswer, text)
}

// open enters a question. It is not ok when the peer can no longer answer.
func (p *peer) open(id string) (<-chan message, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute {
		return nil, false
	}
	q := make(chan message, 1) // its one answer, so that the reader never waits
	p.questions[id] = q
	return q, true
}

// forget takes a question out: an answer that comes later is dropped.
func (p *peer) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.questions, id)
}

// answered passes a response on to the question of this peer that it answers. What answers none, or answers it again,
// is dropped.
func (p *peer) answered(m message) {
	id, ok := unquote(m.id)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if q, isOpen := p.questions[id]; isOpen {
		delete(p.questions, id)
		q <- m
	}
}

// silence ends all questions: no answer can come any more.
func (p *peer) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
	for id, q := range p.questions {
		delete(p.questions, id)
		close(q)
	}
}

// encodeRequest makes a request of ours.
func encodeRequest(id, method string, params any) []byte {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
}
