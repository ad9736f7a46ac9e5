package mcpbridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxQuestions bounds the questions that are open at a time on one connection (stdio, SSE), or for one client
// (Streamable HTTP).
const maxQuestions = 64

var (
	// ErrTooManyQuestions is what [Call.Elicit] returns where as many questions are open as may be: the client was not asked.
	ErrTooManyQuestions = errors.New("too many questions to the client are open")
	// ErrCannotAnswer is what [Call.Elicit] returns where no answer can come any more: the client has closed its end,
	// or the call is over.
	ErrCannotAnswer = errors.New("the client can no longer answer")
)

// flight is a request that has no answer yet.
type flight struct {
	*request
	server *Server
	from   *peer
	key    string // of its id
	ctx    context.Context
	cancel context.CancelFunc
	// abandoned: the peer cancelled the request, and must hear no more of it. Guarded by the peer's mutex.
	abandoned bool
	held      place
	// send sends a message to the client while the request runs, and tells whether that was written.
	send func(message []byte) bool
	// asks: the client reads requests there. fragile: closing what carries the answer ends the request, and nothing can
	// bring the answer back.
	asks, fragile bool
	// ending is closed when the connection is to end: no subscription goes on.
	ending <-chan struct{}

	// Of a tool call, and of a request for Beside.
	run      func(context.Context) Result
	progress *progress
	logs     *logs
	over     chan struct{} // closed when the call has ended
	asking   sync.Mutex    // held while a question is open: one at a time for each call

	// Of a call of 2026-07-28: the tool's questions that are open, and the replies that it has. Guarded by asking.
	unanswered mcp.InputRequests
	answered   map[string]json.RawMessage
}

// notify sends a notification, unless the request is no longer wanted.
func (f *flight) notify(method string, params any) {
	if f.from.wants(f) {
		f.send(encodeRequest("", method, params))
	}
}

// arrive announces a call to the handler. It is called by the reader.
func (f *flight) arrive() (failure *rpcError) {
	if f.method == "logging/setLevel" { // what is sent behind it finds it done
		f.from.setLogLevel(f.logLevel)
	}
	if f.call == nil && f.beside == nil {
		return nil
	}
	f.progress, f.logs = newProgress(f), &logs{of: f}
	if f.call == nil {
		return nil
	}
	defer func() {
		if failure != nil {
			f.progress.stop()
		}
	}()
	defer f.server.survive(f.call.Tool, &failure)
	call := *f.call
	call.Progress, call.Fragile, call.Ask = f.progress.report, f.fragile, f.put
	if f.server.config.Beside != nil {
		call.Log, call.LogLevel = f.logger(), f.level()
	}
	call.Behind = func(wait func()) { f.held.parked(f.ctx, wait) }
	call.Aside = func(wait func()) error { return f.held.aside(f.ctx, wait) }
	if f.asks && !f.unasked && f.caller.CanElicit && !f.caller.Modern { // whose questions are results
		call.Elicit = f.elicit
	}
	if f.run = f.incoming.Arrive(call); f.run == nil {
		failure = errorf(codeInternal, "the tool handler refused the call without a reason")
	}
	return failure
}

// serve runs the request to its end and returns its answer; nil where none is wanted.
func (f *flight) serve() []byte {
	answer, failure := f.result()
	if !f.from.end(f) {
		return nil
	}
	if failure == nil {
		return answer
	}
	if uri, _ := f.asked.text("uri"); uri != "" && f.method == "resources/read" && failure.Code == notFoundCode(f.caller) {
		failure.Data = encode(map[string]string{"uri": uri})
	}
	return encodeError(f.id, failure)
}

func (f *flight) result() (answer []byte, failure *rpcError) {
	var err error
	switch {
	case f.call != nil:
		var result Result
		if result, failure = f.runCall(); failure == nil && result.Unanswered {
			answer, err = f.askAgain()
		} else if failure == nil {
			result.InputRequired = f.carried(result.InputRequired)
			answer, err = f.server.toolResult(f.id, result, f.caller)
		}
	case f.beside != nil:
		answer, failure, err = f.askBeside()
	case f.method == listenMethod:
		answer = f.listen()
	default:
		answer, failure, err = f.ours()
	}
	if err != nil {
		failure = errorf(codeInternal, "internal error: %v", err)
	}
	return answer, failure
}

// ours answers a request with what the server itself has, and in lists what it offers beside that.
func (f *flight) ours() (answer []byte, failure *rpcError, err error) {
	result, failure := f.server.result(f.ctx, f.request)
	if failure != nil {
		return nil, failure, nil
	}
	var encoded json.RawMessage
	if encoded, err = json.Marshal(result); err == nil {
		encoded, failure = f.server.withBeside(f.ctx, f.request, encoded)
	}
	return encodeResult(f.id, encoded), failure, err
}

func (f *flight) runCall() (_ Result, failure *rpcError) {
	defer f.server.survive(f.call.Tool, &failure)
	defer f.settle()
	return f.run(f.ctx), nil
}

// settle ends what belongs to a call, or a request for Beside, that is over.
func (f *flight) settle() {
	defer f.progress.stop()
	defer f.logs.stop()
	close(f.over)
	f.asking.Lock() // a question that a handler left behind holds the call's place
	defer f.asking.Unlock()
}

// survive turns a panic of a handler into a failure. It is to be deferred.
func (s *Server) survive(where string, failure **rpcError) {
	if value := recover(); value != nil {
		s.log.Error().Str("in", where).Str("panic", fmt.Sprint(value)).
			Str("stack", string(debug.Stack())).Msg("a handler panicked")
		*failure = errorf(codeInternal, "internal error: the server's handler failed; its log says more")
	}
}

// elicit implements Call.Elicit.
func (f *flight) elicit(ctx context.Context, form Form) (Answer, error) {
	result, err := f.elicited(ctx, elicitParams{form.Message, form.schema(f.caller.ProtocolVersion)})
	if err != nil {
		return Answer{}, err
	}
	return form.Read(result)
}

// elicited puts a form to the client, and gives its result.
func (f *flight) elicited(ctx context.Context, params elicitParams) (result json.RawMessage, err error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if err := f.ended(ctx); err != nil {
		return nil, err
	}
	if away := f.held.aside(f.ctx, func() { result, err = f.ask(ctx, params) }); away != nil {
		return nil, away
	}
	return result, err
}

func (f *flight) ask(ctx context.Context, params elicitParams) (json.RawMessage, error) {
	id := "elicit-" + rand.Text()
	q, ok := f.from.open(id)
	if !ok {
		return nil, ErrCannotAnswer
	}
	defer f.from.forget(id)
	if !f.send(encodeRequest(id, "elicitation/create", params)) {
		return nil, ErrCannotAnswer
	}
	err := ErrCannotAnswer
	select {
	case reply, answered := <-q:
		if answered {
			return reply.elicited()
		}
	case <-ctx.Done():
		err = f.ended(ctx)
	case <-f.ctx.Done():
		err = f.ended(ctx)
	case <-f.over:
	}
	// The client is to close a form that nobody waits for any more.
	f.send(encodeRequest("", "notifications/cancelled", map[string]string{"requestId": id, "reason": "the question has lapsed"}))
	return nil, err
}

// ended tells why there is nothing to wait for.
func (f *flight) ended(ctx context.Context) error {
	select {
	case <-f.over:
		return ErrCannotAnswer
	default:
		return cmp.Or(f.ctx.Err(), ctx.Err())
	}
}

// elicited is the result of what the client sent in reply to a form.
func (m message) elicited() (json.RawMessage, error) {
	switch {
	case m.failure == nil:
		return m.result, nil
	case m.result != nil:
		return nil, fmt.Errorf("%w: it has a result and an error", ErrBadAnswer)
	}
	// It could not, or would not, show the form. Why is a hostile text.
	text := "no reason given"
	if failure, err := readMembers(m.failure); err == nil {
		if said, ok := failure.text("message"); ok {
			text = fmt.Sprintf("%.200q", said)
		}
	}
	return nil, fmt.Errorf("%w: it sent an error: %s", ErrBadAnswer, text)
}

// initialize runs the handshake of the initialize era. It is a barrier: the caller reads nothing further from the
// peer until it is done. A further one on the same connection is another client behind the same bridge.
func (s *Server) initialize(ctx context.Context, m message, from *peer, who Identity) (answer []byte, ok bool) {
	declared, failure := readMeta(m.params)
	if failure == nil && declared.modern {
		failure = errorf(codeMethodNotFound, "initialize is not part of revision %s; send requests as they are", declared.version)
	}
	var r *request
	if failure == nil {
		r, failure = s.admit(m, declared, from, who)
	}
	var agreed *mcp.InitializeResult
	if failure == nil {
		r.caller.ShowsApps = declaresApps(m.params.get("capabilities"))
		agreed, failure = s.handshake(r)
	}
	if failure != nil {
		return encodeError(m.id, failure), false
	}
	canElicit, _ := declaresElicitation(m.params.get("capabilities"))
	from.initialize(Caller{
		Client: readClientInfo(m.params.get("clientInfo")), CanElicit: canElicit && agreed.ProtocolVersion >= firstElicitation,
		ShowsApps: r.caller.ShowsApps, ProtocolVersion: agreed.ProtocolVersion,
	})
	return encodeResult(m.id, encode(agreed)), true
}

// progress sends a call's progress notifications. Clients give up on a call that shows none for long, however alive
// the connection is, so one that is silent gets some.
type progress struct {
	of    *flight
	began time.Time

	mu          sync.Mutex
	beat        *time.Timer // nil: the client asked for none
	stopped     bool
	last, total float64
}

func newProgress(f *flight) *progress {
	p := &progress{of: f, last: math.Inf(-1), began: time.Now()}
	if f.token != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.beat = time.AfterFunc(keepAlive, p.stillRuns)
	}
	return p
}

// stillRuns repeats how far the call is.
func (p *progress) stillRuns() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(fmt.Sprintf("still running after %v", time.Since(p.began).Round(time.Second)), max(p.last, 0), p.total)
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

func (p *progress) report(message string, done, total float64) {
	if math.IsNaN(done) || math.IsInf(done, 0) || math.IsNaN(total) || math.IsInf(total, 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(message, done, total)
}

func (p *progress) send(message string, done, total float64) {
	if p.stopped || p.beat == nil {
		return
	}
	if done <= p.last {
		done = math.Nextafter(p.last, math.Inf(1))
	}
	p.last, p.total = done, total
	p.beat.Reset(keepAlive)
	p.of.notify("notifications/progress", progressParams{p.of.token, done, total, message})
}

// stop ends the notifications: the protocol forbids them after the answer.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.beat != nil {
		p.beat.Stop()
	}
}
