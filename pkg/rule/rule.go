package rule

import (
	"fmt"
	"slices"

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
	Name    string // how the operator calls it
	Action  Action // what happens where the condition holds
	Message string // what the operator has to say to the agent, or ""

	program cel.Program
	when    string
	fields  []string // that the condition names
}

// Reads reports whether the condition names one of the fields.
func (r *Rule) Reads(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(r.fields, name) })
}

// Same reports whether two rules say the same of every call.
func (r *Rule) Same(other *Rule) bool {
	return r.Name == other.Name && r.Action == other.Action && r.when == other.when
}

// SyntaxError says where an expression cannot be understood.
type SyntaxError struct {
	// Line and Column count from 1, within the expression.
	Line, Column int
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("in the expression at %d:%d: %s", e.Line, e.Column, e.Reason)
}
