package hooks

import "context"

// Part is a stretch of a call's way. A call is in one at a time, and can come to one again.
type Part string

// The parts, in the order of the way.
const (
	PartTargets  Part = "targets"
	PartGate     Part = "gate" // before PLAN, and after it
	PartPlan     Part = "plan"
	PartApproval Part = "approval" // the operator is asked, and waited for
	PartPrepare  Part = "prepare"
	PartJournal  Part = "journal" // what is about to happen goes to disk
	PartExecute  Part = "execute"
	PartLedger   Part = "ledger" // what has happened goes to disk
	PartAfter    Part = "post-hooks"
)

// Watch sees one call on its way, on the call's own goroutine and while the call waits: it has to be quick. It decides
// nothing. It may keep the call until End, and reads of it what is known by then.
type Watch interface {
	// Enter begins a part, and ends the one before.
	Enter(p Part)
	// Judged tells what a hook of the gate came to: allow, ask or refuse. The names of hooks that operators and embedders
	// added can hold anything.
	Judged(step, verdict string)
	// End ends the call, in the part in which it was stopped if it was refused; hook is the one that refused, "" for none.
	End(result Result, hook string)
}

// Outcome is what the call did; nil before it has, and for one that did nothing.
func (c *Call) Outcome() *Outcome { return c.outcome }

func (e *Engine) watch(ctx context.Context, call *Call) context.Context {
	if e.Watch != nil {
		ctx, call.watch = e.Watch(ctx, call, call.watch)
	}
	return ctx
}

func (c *Call) enter(p Part) {
	if c.watch != nil {
		c.watch.Enter(p)
	}
}

func (c *Call) judgedBy(step Step, d Decision) {
	if c.watch == nil {
		return
	}
	verdict := "refuse"
	switch d.verdict {
	case allowed:
		verdict = "allow"
	case asked:
		verdict = "ask"
	}
	c.watch.Judged(step.Hook.Name(), verdict)
}

func (c *Call) ended(result Result, err error) {
	if c.watch != nil {
		c.watch.End(result, refusedBy(err))
	}
}
