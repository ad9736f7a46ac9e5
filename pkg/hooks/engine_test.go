package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestOrderOfACall(t *testing.T) {
	r := newRig(t)
	r.tool.settled = &settlement{log: &r.log}
	r.gate(hooks.AtTargets, "first", hooks.Allow())
	r.gate(hooks.AtPlan, "second", hooks.Allow("a note"))
	r.engine().AddPostHook(hooks.PostFunc("post", func(context.Context, *hooks.Call, *hooks.Outcome) error {
		r.log = append(r.log, "post")
		return nil
	}))
	result := r.do()
	check.That(t, !result.IsError && strings.Contains(string(result.Structured), "rec-1"), "%+v", result)
	r.want("targets", "first", "plan", "second", "prepare", "begin", "commit", "record", "settle", "done", "post", "result", "close")
}

func TestFirstRefusalStops(t *testing.T) {
	r := newRig(t)
	r.gate(hooks.AtTargets, "first", hooks.Refuse(no(refusal.ScopeViolation)))
	r.gate(hooks.AtTargets, "second", hooks.Refuse(no(refusal.CommandBlocked)))
	code := r.code()
	check.That(t, code == "SCOPE_VIOLATION", "%v", code)
	r.want("targets", "first", "close")
	check.That(t, slices.Equal(r.rec.refused, []string{"first:SCOPE_VIOLATION"}), "recorded %v", r.rec.refused)
}

// Whatever a hook does wrong refuses.
func TestFailedHooksRefuse(t *testing.T) {
	cases := map[string]func(context.Context, *hooks.Call) (hooks.Decision, error){
		"error":      func(context.Context, *hooks.Call) (hooks.Decision, error) { return hooks.Allow(), errors.New("broken") },
		"panic":      func(context.Context, *hooks.Call) (hooks.Decision, error) { panic("broken") },
		"zero value": func(context.Context, *hooks.Call) (hooks.Decision, error) { return hooks.Decision{}, nil },
		"no reason":  func(context.Context, *hooks.Call) (hooks.Decision, error) { return hooks.Refuse(nil), nil },
		"ask nobody": func(context.Context, *hooks.Call) (hooks.Decision, error) {
			return hooks.Ask(hooks.PolicyAsk, nil), nil
		},
	}
	for name, fn := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.engine().AddPreHook(hooks.PreFunc("bad", fn))
			code := r.code()
			check.That(t, code == "HOOK_BLOCKED", "%v", code)
			r.want("targets", "plan", "close")
		})
	}
}

func TestHookThatHangsRefuses(t *testing.T) {
	r := newRig(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.opts.HookTimeout = 20 * time.Millisecond
	r.engine().AddPreHook(hooks.PreFunc("slow", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		<-release
		return hooks.Allow(), nil
	}))
	code := r.code()
	check.That(t, code == "HOOK_BLOCKED", "%v", code)
}

func TestAskableFailureIsAskedLast(t *testing.T) {
	r := newRig(t)
	r.ask.can = true
	r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyElicit, no(refusal.ScopeViolation)))
	r.gate(hooks.AtPlan, "fresh", hooks.Allow())
	result := r.do()
	check.That(t, !result.IsError, "%s", result.Text)
	// What was shown is judged anew, from its beginning: it may have changed.
	r.want("targets", "scope", "plan", "fresh", "close", "ask scope",
		"targets", "scope", "plan", "fresh", "prepare", "begin", "commit", "record", "done", "result", "close")
}

// A question that is another one after the answer is put again, and not for ever.
func TestChangedQuestionIsAskedAgain(t *testing.T) {
	r := newRig(t)
	r.ask.can = true
	path := 0
	r.addGate(hooks.AtTargets, hooks.PreFunc("scope", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		path++
		return hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)).About(fmt.Sprint(path)), nil
	}))
	code := r.code()
	check.That(t, code == "BUSY" && !slices.Contains(r.log, "prepare"), "%s %v", code, r.log)
	asked := strings.Count(strings.Join(r.log, ","), "ask scope")
	check.That(t, asked == 3 && r.ask.lapsed == 3, "asked %d times, %d answers lapsed", asked, r.ask.lapsed)
}

// What fails after the answer fails, whatever was answered.
func TestChecksHoldAfterTheAnswer(t *testing.T) {
	r := newRig(t)
	r.ask.can = true
	r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)))
	var later hooks.Decision = hooks.Allow()
	r.addGate(hooks.AtPlan, hooks.PreFunc("fresh", func(context.Context, *hooks.Call) (hooks.Decision, error) { return later, nil }))
	r.ask.before = func() { later = hooks.Refuse(no(refusal.StaleFile)) }
	result := r.do()
	if result.Refusal == nil || result.Refusal.Code() != refusal.StaleFile || !strings.Contains(result.Text, "approved_before") || slices.Contains(r.log, "prepare") {
		t.Errorf("%s %v", result.Text, r.log)
	}
}

// A question that no longer arises needs no answer; the one given is taken back.
func TestAnswerThatIsNotNeededLapses(t *testing.T) {
	r := newRig(t)
	r.ask.can = true
	scope := hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation))
	r.addGate(hooks.AtTargets, hooks.PreFunc("scope", func(context.Context, *hooks.Call) (hooks.Decision, error) { return scope, nil }))
	r.ask.before = func() { scope = hooks.Allow() }
	result := r.do()
	check.That(t, !result.IsError && r.ask.lapsed == 1, "%s, %d lapsed", result.Text, r.ask.lapsed)
}

// An answer that the operator's own command used after the call was planned is
// not asked for again: what it was about has been done.
func TestAnswerThatWasUsedMeanwhileIsNotAskedForAgain(t *testing.T) {
	r := newRig(t)
	r.ask.can = true
	judged := 0
	r.addGate(hooks.AtTargets, hooks.PreFunc("scope", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		if judged++; judged > 2 {
			return hooks.Allow(), nil
		}
		return hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)), nil
	}))
	r.addGate(hooks.AtPlan, hooks.PreFunc("approve", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		r.ask.yes = ""
		return hooks.Allow(), nil
	}))
	result := r.do()
	check.That(t, !result.IsError && strings.Count(strings.Join(r.log, ","), "ask scope") == 1, "%s %v", result.Text, r.log)
}

// A question for the client's result ends the call, with nothing done.
func TestQuestionInTheResult(t *testing.T) {
	r := newRig(t)
	r.ask.can = true
	r.ask.answer = &hooks.InLine{State: "s"}
	r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)))
	result := r.do()
	check.That(t, result.InLine != nil && result.InLine.State == "s" && !slices.Contains(r.log, "prepare"), "%+v %v", result, r.log)
}

func TestNobodyToAskRefusesAtOnce(t *testing.T) {
	r := newRig(t)
	r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyElicit, no(refusal.ScopeViolation)))
	r.gate(hooks.AtTargets, "later", hooks.Allow())
	code := r.code()
	check.That(t, code == "SCOPE_VIOLATION", "%v", code)
	r.want("targets", "scope", "close")
}

// A later failure means that nobody is asked: the failure put aside is the
// answer, and the later one is named without its content.
func TestLaterFailureAsksNobody(t *testing.T) {
	for _, later := range []string{"plan", "hook"} {
		t.Run(later, func(t *testing.T) {
			r := newRig(t)
			r.ask.can = true
			r.gate(hooks.AtTargets, "scope", hooks.Ask(hooks.PolicyAsk, no(refusal.ScopeViolation)))
			secret := refusal.New(refusal.DiffNotApplied, "the file says: top secret")
			if later == "plan" {
				r.tool.planErr = secret
			} else {
				r.gate(hooks.AtPlan, "rules", hooks.Refuse(secret))
			}
			result := r.do()
			if !strings.Contains(result.Text, "SCOPE_VIOLATION") || !strings.Contains(result.Text, "DIFF_NOT_APPLIED") || strings.Contains(result.Text, "top secret") {
				t.Error(result.Text)
			}
			check.That(t, !slices.Contains(r.log, "ask scope") && !slices.Contains(r.log, "prepare"), "%v", r.log)
		})
	}
}

func TestDeniedQuestionDoesNotRun(t *testing.T) {
	r := newRig(t)
	r.ask.can, r.ask.answer = true, no(refusal.ApprovalRejected)
	r.gate(hooks.AtPlan, "rule", hooks.Ask(hooks.PolicyAsk, no(refusal.RuleViolation)))
	code := r.code()
	check.That(t, code == "APPROVAL_REJECTED", "%v", code)
	r.want("targets", "plan", "rule", "close", "ask rule")
}

// A change whose record the ledger refuses is taken back.
func TestUnrecordedChangeIsTakenBack(t *testing.T) {
	for name, stuck := range map[string]bool{"taken back": false, "stuck": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.rec.fail = true
			r.tool.settled = &settlement{log: &r.log, fail: stuck}
			result := r.do()
			check.That(t, strings.Contains(result.Text, "LEDGER_UNAVAILABLE"), "%v", result.Text)
			check.Equal(t, strings.Contains(result.Text, `"changed":true`), stuck, "the refusal says changed")
			end := map[bool]string{false: "aborted", true: "kept"}[stuck]
			r.want("targets", "plan", "prepare", "begin", "commit", "record", "rollback", "settle", end, "close")
		})
	}
}

// What the journal does not take does not happen.
func TestNothingHappensWithoutTheJournal(t *testing.T) {
	r := newRig(t)
	r.rec.begins = []error{errors.New("disk full")}
	if result := r.do(); !strings.Contains(result.Text, "LEDGER_UNAVAILABLE") || !strings.Contains(result.Text, `"changed":false`) {
		t.Error(result.Text)
	}
	r.want("targets", "plan", "prepare", "begin", "discard", "close")
}

// A process that dies while a call is prepared is settled before that call.
func TestPrepareAgainAfterAnotherDied(t *testing.T) {
	r := newRig(t)
	r.rec.begins = []error{hooks.ErrUnsettled}
	result := r.do()
	check.That(t, !result.IsError, "%v", result.Text)
	r.want("targets", "plan", "prepare", "begin", "discard", "prepare", "begin", "commit", "record", "done", "result", "close")
}

func TestFailedCommitEndsItsEntry(t *testing.T) {
	for want, err := range map[string]error{
		"aborted": errors.New("nothing was changed"),
		"kept":    &workspace.RollbackError{Paths: []string{"a"}, Err: errors.New("input/output error")},
	} {
		t.Run(want, func(t *testing.T) {
			r := newRig(t)
			r.tool.runErr = err
			r.do()
			r.want("targets", "plan", "prepare", "begin", "commit", want, "close")
		})
	}
}

func TestPostHookFailureIsAWarning(t *testing.T) {
	for name, fn := range map[string]func(context.Context, *hooks.Call, *hooks.Outcome) error{
		"error": func(context.Context, *hooks.Call, *hooks.Outcome) error { return errors.New("broken") },
		"panic": func(context.Context, *hooks.Call, *hooks.Outcome) error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.engine().AddPostHook(hooks.PostFunc("bad", fn))
			result := r.do()
			check.That(t, !result.IsError && strings.Contains(string(result.Structured), "broken"), "%+v", result)
		})
	}
}

// A call that panics leaves its entry in the journal: what it did is settled as after a crash.
func TestToolPanicIsContained(t *testing.T) {
	r := newRig(t)
	r.tool.panics = true
	code := r.code()
	check.That(t, code == "INTERNAL_ERROR", "%v", code)
	r.want("targets", "plan", "prepare", "begin", "commit", "kept", "close")
}

func TestCancelledCallDoesNotRun(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.addGate(hooks.AtPlan, hooks.PreFunc("cancel", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		cancel()
		return hooks.Allow(), nil
	}))
	result := r.engine().Do(ctx, hooks.Request{Tool: "probe", Arguments: hooks.NoArguments()})
	check.That(t, strings.Contains(result.Text, "CANCELLED") && !slices.Contains(r.log, "prepare"), "%s %v", result.Text, r.log)
}

func TestToolWithoutClassIsDestructive(t *testing.T) {
	r := newRig(t)
	r.tool.class = ""
	r.engine().AddPreHook(hooks.PreFunc("class", func(_ context.Context, c *hooks.Call) (hooks.Decision, error) {
		check.Equal(t, c.Class, hooks.Destructive, "class")
		return hooks.Allow(), nil
	}))
	r.do()
	err := r.engine().AddTool(r.tool)
	check.That(t, err != nil, "a tool could be added twice")
}
