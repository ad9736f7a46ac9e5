package rule

import (
	"fmt"

	"cel.dev/cel-go/cel"
)

// Action is what happens where a condition holds.
type Action string

// The actions.
const (
	Refuse Action = "refuse"
	Ask    Action = "ask"
)

// Rule is a compiled rule. It is immutable and safe for concurrent use.
type Rule struct {
	name, when, message string
	action              Action
	program             cel.Program
}

// Name is how the operator calls the rule.
func (r *Rule) Name() string { return r.name }

// When is the condition as written.
func (r *Rule) When() string { return r.when }

// Action is what happens where the condition holds.
func (r *Rule) Action() Action { return r.action }

// Message is what the operator has to say to the agent, or "".
func (r *Rule) Message() string { return r.message }

// SyntaxError says where an expression cannot be understood.
type SyntaxError struct {
	// Line and Column count from 1, within the expression.
	Line, Column int
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("in the expression at %d:%d: %s", e.Line, e.Column, e.Reason)
}
