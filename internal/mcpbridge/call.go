package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"
)

var errPanicked = errors.New("internal error: the server's handler failed; its log says more")

// sink takes what is sent to the client while one of its requests runs.
type sink interface {
	// notify sends a notification, unless the request is no longer wanted.
	notify(notification []byte)
	// carriesRequests tells whether the client reads requests there.
	carriesRequests() bool
	// request sends a request of ours, or takes it back, and tells whether that was written.
	request(message []byte) bool
	// fragile tells whether closing what carries the answer ends the request, and nothing can bring the answer back.
	fragile() bool
}

// pendingCall is a tool call from its arrival to its end.
type pendingCall struct {
	call     Call
	run      func(context.Context) Result
	progress *progress
	elicitor *elicitor // nil where the client cannot be asked

	once   sync.Once
	result Result
	err    error
}

// arrive announces the call to the handler. It is called by the reader.
func (s *Server) arrive(r *request, to sink, f *flight, held place, asking *elicitor) (failure *rpcError) {
	if r.call == nil {
		return nil
	}
	defer func() {
		if value := recover(); value != nil {
			s.logPanic(value, r.call.call.Tool)
			failure = errorf(codeInternal, "%v", errPanicked)
		}
	}()
	r.call.progress = newProgress(r.token, to)
	r.call.call.Progress = r.call.progress.report
	r.call.call.Fragile = to.fragile()
	r.call.call.Behind = func(wait func()) { held.parked(f.ctx, wait) }
	r.call.call.Aside = func(wait func()) error { return held.aside(f.ctx, wait) }
	if asking != nil {
		r.call.elicitor = asking
		r.call.call.Elicit = asking.elicit
	}
	r.call.run = s.config.Handler.Arrive(r.call.call)
	if r.call.run == nil {
		return errorf(codeInternal, "the tool handler refused the call without a reason")
	}
	return nil
}

// finish runs the call if it did not run yet, so that it runs exactly once whatever became of the request.
func (s *Server) finish(ctx context.Context, p *pendingCall) (Result, error) {
	p.once.Do(func() {
		defer p.progress.stop()
		defer p.elicitor.close()
		defer func() {
			if value := recover(); value != nil {
				s.logPanic(value, p.call.Tool)
				p.err = errPanicked
			}
		}()
		p.result = p.run(ctx)
	})
	return p.result, p.err
}

func (s *Server) logPanic(value any, where string) {
	s.log.Error().Str("in", where).Str("panic", fmt.Sprint(value)).
		Str("stack", string(debug.Stack())).Msg("a handler panicked")
}

// progress sends a call's progress notifications. Clients give up on a call that shows none for long, however alive
// the connection is, so one that is silent gets some.
type progress struct {
	token json.RawMessage // nil: the client asked for none
	to    sink
	began time.Time

	mu      sync.Mutex
	beat    *time.Timer
	stopped bool
	last    float64
	total   float64
}

func newProgress(token json.RawMessage, to sink) *progress {
	p := &progress{token: token, to: to, last: math.Inf(-1), began: time.Now()}
	if token != nil {
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
	if p.token == nil || math.IsNaN(done) || math.IsInf(done, 0) || math.IsNaN(total) || math.IsInf(total, 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(message, done, total)
}

func (p *progress) send(message string, done, total float64) {
	if p.stopped {
		return
	}
	if done <= p.last {
		done = math.Nextafter(p.last, math.Inf(1))
	}
	p.last, p.total = done, total
	p.beat.Reset(keepAlive)
	p.to.notify(encodeNotification("notifications/progress", progressParams{p.token, done, total, message}))
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
