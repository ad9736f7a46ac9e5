package external

import "github.com/intentgov/orchestra-mcp/pkg/command"

var Stretch = stretch

// Interpreted is an answer for tests: the verdict is "allow", "ask" or "deny".
func Interpreted(r command.Result) (verdict, reason string, notes []string, err error) {
	a, err := interpret(r, preToolUse)
	return [...]string{"allow", "ask", "deny"}[a.verdict], a.reason, a.notes, err
}
