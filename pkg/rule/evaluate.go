package rule

import (
	"context"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/interpreter"
)

// Errors of an evaluation. In each case nothing is known about the condition.
var (
	// ErrTooExpensive: the evaluation cost more than Budget.
	ErrTooExpensive = errors.New("it costs too much to evaluate")
	// ErrNoAnswer: the context ended first.
	ErrNoAnswer = errors.New("it was not evaluated in time")
	// ErrFailed: the evaluation came to an error of its own.
	ErrFailed = errors.New("it failed")
)

// Holds evaluates the condition. With an error the answer is not known.
func (r *Rule) Holds(ctx context.Context, facts *Facts) (bool, error) {
	if ctx.Err() != nil {
		return false, ErrNoAnswer
	}
	type answer struct {
		holds bool
		err   error
	}
	// In a goroutine, because one search in a long text does not look at ctx.
	done := make(chan answer, 1)
	go func() {
		holds, err := r.evaluate(ctx, facts)
		done <- answer{holds, err}
	}()
	select {
	case a := <-done:
		return a.holds, a.err
	case <-ctx.Done():
		return false, ErrNoAnswer
	}
}

func (r *Rule) evaluate(ctx context.Context, facts *Facts) (holds bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			holds, err = false, fmt.Errorf("%w: %v", ErrFailed, p)
		}
	}()
	value, _, err := r.program.ContextEval(ctx, activation{facts})
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return false, ErrTooExpensive
	case err != nil && ctx.Err() != nil:
		return false, ErrNoAnswer
	case err != nil:
		return false, fmt.Errorf("%w: %v", ErrFailed, err)
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%w: it yields no truth value", ErrFailed)
	}
	return holds, nil
}

// activation looks fields up when a condition asks for them, so that no text is decoded for nothing.
type activation struct{ facts *Facts }

var _ cel.Activation = activation{}

func (a activation) ResolveName(name string) (any, bool) {
	get, known := getters()[name]
	if !known {
		return nil, false
	}
	return get(a.facts), true
}

func (activation) Parent() cel.Activation { return nil }
