package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Sessions is what the engine needs of the session store.
type Sessions interface {
	Resolve(caller session.Caller, handle, intentID string) (*session.Session, error)
	Observers(caller session.Caller, handle string) session.Observer
	Untracked(caller session.Caller) *session.Views
}

// DefaultHookTimeout bounds a pre-hook that an embedder added, and all
// post-hooks of a call together, but for programs.
const DefaultHookTimeout = 10 * time.Second

// Engine runs calls. Add tools and hooks before the first Do; Do is safe for
// concurrent use.
type Engine struct {
	sessions Sessions
	recorder Recorder
	asker    Asker
	log      zerolog.Logger

	tools map[string]Tool
	order []string
	pre   [stages][]preEntry
	post  []PostHook
	// programs run behind post.
	programs   []PostHook
	onRefusal  func(context.Context, *Call, *refusal.Refusal)
	fresh      Freshness
	quietClass bool
	workspace  *workspace.Workspace // may be nil
	limits     mutation.Limits
	// addToRefusal may be nil.
	addToRefusal func(*refusal.Refusal) *refusal.Refusal
	// timeout is for hooks that are added from now on.
	timeout time.Duration
}

// Freshness explains staleness; the gate's freshness step implements it. The
// engine consults it where a plan or an execution failed because the file is
// no longer what the session saw.
type Freshness interface {
	// Stale returns a STALE_FILE or READ_REQUIRED refusal if one of the
	// effects was planned on content that the session has not seen, else nil.
	Stale(call *Call) *refusal.Refusal
}

// NewEngine makes an engine without tools and hooks. asker may be nil: then
// every askable failure refuses.
func NewEngine(sessions Sessions, recorder Recorder, asker Asker, log zerolog.Logger) *Engine {
	return &Engine{sessions: sessions, recorder: recorder, asker: asker, log: log, tools: make(map[string]Tool), timeout: DefaultHookTimeout, limits: mutation.DefaultLimits()}
}

// WithAsker is the same engine with somebody else to ask. Tools and hooks that are added later are added to one of the two.
func (e *Engine) WithAsker(a Asker) *Engine {
	with := *e
	with.asker = a
	return &with
}

// AddTool adds a tool; a name twice is an error.
func (e *Engine) AddTool(t Tool) error {
	name := t.Spec().Name
	if _, ok := e.tools[name]; ok {
		return fmt.Errorf("tool %q is already registered", name)
	}
	e.tools[name] = t
	e.order = append(e.order, name)
	return nil
}

// AddGate appends a hook of the shipped gate. It runs on the call's goroutine
// without a time limit of its own.
func (e *Engine) AddGate(stage Stage, h PreHook) {
	e.pre[stage] = append(e.pre[stage], preEntry{hook: h})
}

// AddPreHook appends a hook that runs after PLAN, behind the gate's own, and
// refuses when it takes too long (SetHookTimeout).
func (e *Engine) AddPreHook(h PreHook) {
	e.pre[AtPlan] = append(e.pre[AtPlan], preEntry{hook: h, timeout: e.timeout})
}

// AddPostHook appends a post-hook.
func (e *Engine) AddPostHook(h PostHook) { e.post = append(e.post, h) }

// AddProgram appends a post-hook that starts a program. Programs run behind all
// other post-hooks; each bounds its own time, and they end with the call: a
// client that hangs up and a server that ends do not wait for them.
func (e *Engine) AddProgram(h PostHook) { e.programs = append(e.programs, h) }

// OnRefusal has observe see each refusal before its result is sent.
func (e *Engine) OnRefusal(observe func(ctx context.Context, call *Call, r *refusal.Refusal)) {
	e.onRefusal = observe
}

// SetHookTimeout replaces DefaultHookTimeout for the hooks that are added
// after it.
func (e *Engine) SetHookTimeout(d time.Duration) { e.timeout = d }

// SetFreshness names the freshness step.
func (e *Engine) SetFreshness(f Freshness) { e.fresh = f }

// SetAddToRefusal names a function that sees each refusal before it is recorded
// and sent, and may add to it. It is called by several calls at a time.
func (e *Engine) SetAddToRefusal(f func(*refusal.Refusal) *refusal.Refusal) { e.addToRefusal = f }

// Specs returns the tools in the order in which they were added.
func (e *Engine) Specs() []Spec {
	specs := make([]Spec, 0, len(e.order))
	for _, name := range e.order {
		specs = append(specs, e.tools[name].Spec())
	}
	return specs
}

// Spec returns one tool's spec.
func (e *Engine) Spec(name string) (Spec, bool) {
	t, ok := e.tools[name]
	if !ok {
		return Spec{}, false
	}
	return t.Spec(), true
}

// Do runs one call to its result. It never panics and never returns an empty
// result; whatever goes wrong is a refusal in the result.
func (e *Engine) Do(ctx context.Context, req Request) Result {
	tool, ok := e.tools[req.Tool]
	if !ok {
		return refuse(Destructive, refusal.Newf(refusal.InvalidArguments, "There is no tool %q.", req.Tool))
	}
	return e.Run(ctx, tool, req)
}

// Run is Do with a tool that no client can name: what the server does by
// itself goes the way of every call.
func (e *Engine) Run(ctx context.Context, tool Tool, req Request) Result {
	call := e.newCall(tool.Spec(), req)
	result, err := e.run(ctx, tool, call, req)
	if err != nil {
		return e.refused(ctx, call, err)
	}
	return result
}

func (e *Engine) run(ctx context.Context, tool Tool, call *Call, req Request) (Result, error) {
	decoded, err := e.decode(tool, call, req.Arguments)
	if err != nil {
		return Result{}, err
	}
	if standIn, ok := decoded.(StandIn); ok {
		stand, err := standIn.Stands(ctx, call)
		if err != nil {
			return Result{}, err
		}
		if stand != nil {
			return e.standFor(ctx, call, req, stand)
		}
	}
	return e.judge(ctx, tool, decoded, call, req)
}

func (e *Engine) decode(tool Tool, call *Call, args Arguments) (_ Decoded, err error) {
	defer e.survive(call, &err)
	return tool.Decode(args)
}

// survive turns a panic of a tool into a refusal. It is to be deferred.
func (e *Engine) survive(call *Call, err *error) {
	if p := recover(); p != nil {
		e.log.Error().Str("tool", call.Tool).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("tool panicked")
		*err = refusal.Newf(refusal.InternalError, "The tool %s failed inside the server; see its log.", call.Tool)
	}
}

func (e *Engine) after(ctx context.Context, call *Call, outcome *Outcome) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.timeout)
	defer cancel()
	e.observe(bounded, e.post, call, outcome)
	e.observe(ctx, e.programs, call, outcome)
}

func (e *Engine) observe(ctx context.Context, observers []PostHook, call *Call, outcome *Outcome) {
	for _, h := range observers {
		if err := runPost(ctx, h, call, outcome); err != nil {
			e.log.Warn().Err(err).Str("hook", h.Name()).Str("tool", call.Tool).Msg("post-hook failed")
			outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("post-hook %s: %v", h.Name(), err))
		}
	}
}

func runPost(ctx context.Context, h PostHook, call *Call, outcome *Outcome) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return h.After(ctx, call, outcome)
}

// deliver marks lines that reach the agent as seen by whoever reads them.
func (e *Engine) deliver(call *Call, delivered []refusal.Delivery) {
	if len(delivered) == 0 {
		return
	}
	observer := e.observer(call)
	for _, d := range delivered {
		if d.Gone {
			observer.Forgot(d.Path)
			continue
		}
		observer.Saw(d.Path, d.Hash, d.Total, d.From, d.To)
	}
}

// observer is told what an agent has seen.
type observer interface {
	Saw(path, hash string, total, from, to int)
	Forgot(path string)
}

// observer notes lines for whom a call's delivery counts. A handle means the
// session that the call found already; without one the store has to look, for
// it may count for several.
func (e *Engine) observer(call *Call) observer {
	if call.Handle != "" && call.Session != nil {
		return call.Session
	}
	return e.sessions.Observers(call.Caller, call.Handle)
}

func (e *Engine) newCall(spec Spec, req Request) *Call {
	call := &Call{ID: uuid.NewString(), Tool: spec.Name, Class: spec.Class, Caller: req.Caller, Fragile: req.Fragile, Operator: req.Operator, Arguments: req.Arguments.Raw(), Ways: req.Ways, workspace: e.workspace, limits: e.limits, progress: req.Progress, leave: req.Leave, request: req}
	if call.Class == "" {
		call.Class = Destructive
	}
	common := req.Arguments.Common()
	call.Handle, call.IntentID = common.Session, common.IntentID
	// An intent_id names the selection that is meant only where a call works
	// under one; governance tools name the intent that they are about.
	if call.Class != Destructive {
		common.IntentID = ""
	}
	call.Session, call.SessionErr = e.sessions.Resolve(req.Caller, common.Session, common.IntentID)
	switch {
	case call.Session != nil:
		call.Views = call.Session.Views
	case errors.Is(call.SessionErr, session.ErrNone):
		call.Views = e.sessions.Untracked(req.Caller)
	}
	call.Declared = mutation.Class(common.MutationClass)
	if call.Declared == "" && call.Session != nil {
		call.Declared = mutation.Class(call.Session.MutationClass())
	}
	return call
}

// refused turns whatever stopped a call into its result and notes it.
func (e *Engine) refused(ctx context.Context, call *Call, err error) Result {
	r := refusal.From(err)
	if short := refusal.Exhausted(err); short != nil && r.Code() == refusal.InternalError {
		r = short
	}
	if errors.Is(err, context.Canceled) {
		r = refusal.New(refusal.Cancelled, "The call was cancelled.")
	}
	if r.Code() == refusal.InternalError {
		e.log.Error().Err(err).Str("tool", call.Tool).Msg("call failed")
	}
	var by *hookRefusal
	hook := ""
	if errors.As(err, &by) {
		hook = by.hook
	}
	if e.addToRefusal != nil {
		r = e.addToRefusal(r)
	}
	e.recorder.Refused(call, hook, r)
	if e.onRefusal != nil {
		e.onRefusal(ctx, call, r)
	}
	e.deliver(call, r.Delivered())
	return refuse(call.Class, r)
}
