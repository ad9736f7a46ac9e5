package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
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
	Observers(caller session.Caller, handle string) []*session.Views
	Untracked(caller session.Caller) *session.Views
}

// DefaultHookTimeout bounds a pre-hook that an embedder added, and all post-hooks that embedders added together.
const DefaultHookTimeout = 10 * time.Second

// Options are what an Engine is made of. Sessions and Recorder are needed.
type Options struct {
	Sessions Sessions
	Recorder Recorder
	// Asker is nil where nobody can be asked: then every askable failure refuses.
	Asker  Asker
	Logger zerolog.Logger
	// Gate are the hooks of the gate, in order. They run on the call's goroutine without a time limit of their own.
	Gate []Step
	// Stale gives a STALE_FILE refusal if one of the effects was planned on content that the session has not seen, else nil:
	// where a plan failed, that may be why. Nil: staleness has no other explanation than the tool's.
	Stale func(call *Call) *refusal.Refusal
	// Workspace is where changes are judged among other files; nil: what these could use is not looked for.
	Workspace *workspace.Workspace
	// QuietClass has declared refactors that are not proven recorded as evolutions without a warning in the result.
	QuietClass bool
	// Observers see each outcome, without a time limit, then those that were added, and then Programs: programs bound their
	// own time each, and end with the call. A client that hangs up and a server that ends do not wait for them.
	Observers, Programs []PostHook
	// OnRefusal sees each refusal before its result is sent; nil for nobody.
	OnRefusal func(ctx context.Context, call *Call, r *refusal.Refusal)
	// AddToRefusal sees each refusal before it is recorded and sent, and may add to it; nil adds nothing. Several calls use
	// it at a time.
	AddToRefusal func(*refusal.Refusal) *refusal.Refusal
	// Watch is told of each call before its first step, and gives what sees the rest of it, in the context that the call has
	// from then on. behind is what saw the call that goes on behind its result; nil for any other. Nil watches nothing.
	Watch func(ctx context.Context, call *Call, behind Watch) (context.Context, Watch)
	// HookTimeout bounds a pre-hook that was added, and all post-hooks that were added together; 0 is DefaultHookTimeout.
	HookTimeout time.Duration
	// Beside finds tools that were not added, by the names under which they are called: those of other servers, which come and
	// go while the engine runs. It is asked where no added tool has the name; several calls use it at a time. Nil: there are none.
	Beside func(name string) (Tool, bool)
	// Missing is the refusal of a call of a tool that there is not; nil has one for all of them, and so has a nil answer.
	Missing func(name string) *refusal.Refusal
	// Limits bound how changes are judged; nil is mutation.DefaultLimits.
	Limits *mutation.Limits
}

// StepRole names what refuses for the role of the caller, before the gate.
const StepRole = "role"

// Step is a pre-hook with the stage at which it stands.
type Step struct {
	Stage Stage
	Hook  PreHook

	timeout time.Duration // 0 runs it on the caller's goroutine, for the gate's own
}

// Engine runs calls. Tools and hooks of embedders are added, Beside and Missing are set, before the first Do; Do is safe for concurrent use.
type Engine struct {
	Options
	limits mutation.Limits
	tools  map[string]Tool
	order  []string
	added  []PostHook
}

// NewEngine makes an engine without tools.
func NewEngine(o Options) *Engine {
	o.HookTimeout = cmp.Or(o.HookTimeout, DefaultHookTimeout)
	o.Gate = slices.Clone(o.Gate)
	e := &Engine{Options: o, tools: map[string]Tool{}, limits: mutation.DefaultLimits()}
	if o.Limits != nil {
		e.limits = *o.Limits
	}
	return e
}

// WithAsker is the same engine with somebody else to ask. Tools and hooks that are added later are added to one of the two.
func (e *Engine) WithAsker(a Asker) *Engine {
	with := *e
	with.Asker = a
	return &with
}

// Afterwards is the same engine for calls that were judged and made elsewhere: what stands against one is a note of its record.
func (e *Engine) Afterwards() *Engine {
	after := *e
	after.Gate = slices.Clone(e.Gate)
	for i, step := range after.Gate {
		after.Gate[i].Hook = PreFunc(step.Hook.Name(), func(ctx context.Context, call *Call) (Decision, error) {
			d, err := step.Hook.Before(ctx, call)
			return d.Noted(), err
		})
	}
	return &after
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

// AddPreHook appends a hook that runs after PLAN, behind the gate's own, and
// refuses when it takes longer than Options.HookTimeout.
func (e *Engine) AddPreHook(h PreHook) {
	e.Gate = append(e.Gate, Step{AtPlan, h, e.HookTimeout})
}

// AddPostHook appends a post-hook.
func (e *Engine) AddPostHook(h PostHook) { e.added = append(e.added, h) }

// Specs returns the tools in the order in which they were added.
func (e *Engine) Specs() []Spec {
	specs := make([]Spec, 0, len(e.order))
	for _, name := range e.order {
		specs = append(specs, e.tools[name].Spec())
	}
	return specs
}

// Spec returns the spec of one tool, added or beside.
func (e *Engine) Spec(name string) (spec Spec, ok bool) {
	t, ok := e.tool(name)
	if ok {
		spec = t.Spec()
	}
	return spec, ok
}

// tool finds a tool by the name that a call has.
func (e *Engine) tool(name string) (Tool, bool) {
	if t, ok := e.tools[name]; ok || e.Beside == nil {
		return t, ok
	}
	return e.Beside(name)
}

func (e *Engine) missing(name string) *refusal.Refusal {
	if e.Missing != nil {
		if r := e.Missing(name); r != nil {
			return r
		}
	}
	return refusal.Newf(refusal.InvalidArguments, "There is no tool %q.", name).Suggest("tools/list names those that exist.")
}

// Do runs one call to its result. It never panics and never returns an empty
// result; whatever goes wrong is a refusal in the result.
func (e *Engine) Do(ctx context.Context, req Request) Result {
	tool, ok := e.tool(req.Tool)
	if !ok {
		call := &Call{Tool: req.Tool, Class: Destructive, Caller: req.Caller}
		e.watch(ctx, call)
		result := refuse(Destructive, e.missing(req.Tool))
		call.ended(result, nil)
		return result
	}
	return e.Run(ctx, tool, req)
}

// Run is Do with a tool that no client can name: what the server does by itself goes the way of every call.
func (e *Engine) Run(ctx context.Context, tool Tool, req Request) Result {
	call := e.newCall(tool.Spec(), req)
	ctx = e.watch(ctx, call)
	result, err := e.run(ctx, tool, call, req)
	if err != nil {
		result = e.refused(ctx, call, err)
	}
	call.ended(result, err)
	return result
}

func (e *Engine) run(ctx context.Context, tool Tool, call *Call, req Request) (_ Result, err error) {
	defer e.survive(call, &err)
	if !req.Caller.Role.Changes() && !(call.Class == Safe && tool.Spec().ReadOnly) {
		return Result{}, &hookRefusal{StepRole, refusal.Newf(refusal.RoleForbidden,
			"%s can change something, and a caller with the role %s may only read. Nothing was run.", call.Tool, req.Caller.Role).With("role", string(req.Caller.Role))}
	}
	decoded, err := tool.Decode(req.Arguments)
	if err != nil {
		return Result{}, err
	}
	if resumption, ok := decoded.(Resumption); ok {
		stored, err := resumption.Stored(ctx, call)
		if err != nil {
			return Result{}, err
		}
		return e.resume(ctx, call, req, stored)
	}
	return e.judge(ctx, tool, decoded, call, req)
}

// survive turns a panic of a tool into a refusal. It is to be deferred.
func (e *Engine) survive(call *Call, err *error) {
	if p := recover(); p != nil {
		e.Logger.Error().Str("tool", call.Tool).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("tool panicked")
		*err = refusal.Newf(refusal.InternalError, "The tool %s failed inside the server; see its log.", call.Tool)
	}
}

func (e *Engine) after(ctx context.Context, call *Call, outcome *Outcome) {
	call.enter(PartAfter)
	whole := context.WithoutCancel(ctx)
	e.observe(whole, e.Observers, call, outcome)
	if len(e.added) > 0 { // a timer wakes the thread that waits for the network
		bounded, cancel := context.WithTimeout(whole, e.HookTimeout)
		defer cancel()
		e.observe(bounded, e.added, call, outcome)
	}
	e.observe(ctx, e.Programs, call, outcome)
}

func (e *Engine) observe(ctx context.Context, observers []PostHook, call *Call, outcome *Outcome) {
	for _, h := range observers {
		if err := runPost(ctx, h, call, outcome); err != nil {
			e.Logger.Warn().Err(err).Str("hook", h.Name()).Str("tool", call.Tool).Msg("post-hook failed")
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
	var observers []*session.Views
	if call.Handle != "" && call.Session != nil {
		observers = []*session.Views{call.Session.Views} // which the call found already
	} else {
		observers = e.Sessions.Observers(call.Caller, call.Handle)
	}
	for _, views := range observers {
		for _, d := range delivered {
			if d.Gone {
				views.Forgot(d.Path)
			} else {
				views.Saw(d.Path, d.Hash, d.Total, d.From, d.To)
			}
		}
	}
}

func (e *Engine) newCall(spec Spec, req Request) *Call {
	call := &Call{
		ID: uuid.NewString(), Tool: spec.Name, Class: cmp.Or(spec.Class, Destructive), Caller: req.Caller, Fragile: req.Fragile, Operator: req.Operator, ByClient: req.ByClient, Edited: req.edited,
		Arguments: req.Arguments.Raw(), Ways: req.Ways, workspace: e.Workspace, limits: e.limits, progress: req.Progress, leave: req.Leave, request: req,
	}
	common := req.Arguments.CommonAs(spec.CommonNames())
	call.Handle, call.IntentID = common.Session, common.IntentID
	// An intent_id names the selection that is meant only where a call works
	// under one; governance tools name the intent that they are about.
	if call.Class != Destructive {
		common.IntentID = ""
	}
	call.Session, call.SessionErr = e.Sessions.Resolve(req.Caller, common.Session, common.IntentID)
	switch {
	case call.Session != nil:
		call.Views = call.Session.Views
	case errors.Is(call.SessionErr, session.ErrNone):
		call.Views = e.Sessions.Untracked(req.Caller)
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
		e.Logger.Error().Err(err).Str("tool", call.Tool).Msg("call failed")
	}
	if call.Edited != nil {
		r = e.refusedEdited(call.Edited, r)
	}
	if e.AddToRefusal != nil {
		r = e.AddToRefusal(r)
	}
	e.Recorder.Refused(call, refusedBy(err), r)
	if e.OnRefusal != nil {
		e.OnRefusal(ctx, call, r)
	}
	e.deliver(call, r.Delivered())
	return refuse(call.Class, r)
}
