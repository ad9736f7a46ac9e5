package brief_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestLine(t *testing.T) {
	modified := record.Change{
		Change: change.Change{Op: change.Modified, Path: "src/a.ts", Hunks: [][4]int{{10, 2, 10, 5}, {30, 1, 33, 0}}},
	}
	created := record.Change{Change: change.Change{Op: change.Created, Path: "b"}, Ranges: []record.Range{{StartLine: 1, EndLine: 3}}}
	moved := record.Change{Change: change.Change{Op: change.Moved, Path: "new", From: "old"}}
	for want, r := range map[string]record.Record{
		"write_to_file modified src/a.ts +5 -3":                                      {Call: "write_to_file", Changes: []record.Change{modified}},
		"apply_patch created b +3 -0, moved old to new, created b +3 -0 and 1 more":  {Call: "apply_patch", Changes: []record.Change{created, moved, created, created}},
		"apply_patch refused SCOPE_VIOLATION docs/x":                                 {Call: "apply_patch", Decision: &record.Decision{Outcome: "refused", ErrorType: "SCOPE_VIOLATION", Paths: []string{"docs/x"}}},
		"approvals approved apr_1":                                                   {Call: "approvals", Decision: &record.Decision{Outcome: "approved", Approval: "apr_1"}},
		"execute_command [exit 2] npm test modified src/a.ts +5 -3 (1 out of scope)": {Call: "execute_command", Command: &record.Command{Command: "npm test", ExitCode: 2}, Changes: []record.Change{modified}, Violations: []record.Violation{{Path: "x"}}},
		"execute_command [started in the background] npm start":                      {Call: "execute_command", Command: &record.Command{Command: "npm start", ExitCode: -1, Background: true, Started: true}},
		"execute_command [stopped by its session] npm start":                         {Call: "execute_command", Command: &record.Command{Command: "npm start", ExitCode: 143, Background: true, EndedBy: "stopped by its session"}},
		"execute_command [exit 1, in the background] npm start":                      {Call: "execute_command", Command: &record.Command{Command: "npm start", ExitCode: 1, Background: true}},
		"execute_command [timed out] sleep 9":                                        {Call: "execute_command", Command: &record.Command{Command: "sleep 9", ExitCode: -1, TimedOut: true}},
		"undo deleted b +3 -0 (undoes 7d4a7a0e and 1 more)":                          {Call: "undo", Changes: []record.Change{{Change: change.Change{Op: change.Deleted, Path: "b"}, Ranges: created.Ranges}}, Detail: map[string]any{"undoes": []any{"7d4a7a0e-53f5", "x"}}},
		"files_write [files] write_file modified src/a.ts +5 -3":                     {Kind: record.KindMutation, Call: "files_write", Changes: []record.Change{modified}, Detail: map[string]any{"upstream": map[string]any{"server": "files", "tool": "write_file"}}},
		`git_push [git] push\u202e failed`:                                           {Kind: record.KindMutation, Call: "git_push", Detail: map[string]any{"upstream": record.Upstream{Server: "git", Tool: "push\u202e", IsError: true}}},
		"x":                                                                          {Call: "x", Detail: map[string]any{"upstream": 7}},
		"lifecycle":                                                                  {Kind: record.KindLifecycle},
		"[of another tool]":                                                          {},
		`execute_command [exit 0] rm a\n2026 INT-001 fine \x1b[2J\u202e`:             {Call: "execute_command", Command: &record.Command{Command: "rm a\n2026 INT-001 fine \x1b[2J\u202e"}},
		"write_to_file deleted " + strings.Repeat("x", 119) + "…":                    {Call: "write_to_file", Changes: []record.Change{{Change: change.Change{Op: change.Deleted, Path: strings.Repeat("x", 1<<20)}}}},
	} {
		check.Equal(t, brief.Line(record.Entry{Record: r}), want)
	}
	check.Equal(t, brief.Line(record.Entry{Files: []string{"x", "y"}}), "[of another tool] x, y", "a line of another tool is")
}

func FuzzLine(f *testing.F) {
	f.Add("write_to_file", "src/a\x1b[2J", "cmd\n\u202e", "refused")
	f.Fuzz(func(t *testing.T, call, path, command, outcome string) {
		line := brief.Line(record.Entry{Record: record.Record{
			Call: call, Changes: []record.Change{{Change: change.Change{Op: change.Op(outcome), Path: path, From: path}}},
			Command: &record.Command{Command: command}, Decision: &record.Decision{Outcome: outcome, ErrorType: call, Paths: []string{path}},
			Detail: map[string]any{"undoes": path},
		}})
		i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) })
		check.That(t, i < 0 && len(line) <= 8000, "%d bytes, %q at %d", len(line), line, i)
	})
}

func TestLifecycleIsToldByItsStep(t *testing.T) {
	for want, detail := range map[string]map[string]any{
		`update_intent TODO -> IN_PROGRESS (as agreed)`: {"from": "TODO", "status": "IN_PROGRESS", "note": "as agreed"},
		`update_intent "Weather\u202e" TODO a, b`:       {"proposed": "Weather\u202e", "owned_scope": []any{"a", "b"}, "status": "TODO"},
		`update_intent x/** (why\n)`:                    {"scope_added": []string{"x/**"}, "reason": "why\n"},
		`update_intent decision: use UTC`:               {"lesson": "decision", "text": "use UTC"},
		`update_intent name, owned_scope`:               {"edited": []any{"name", "owned_scope"}},
		`update_intent`:                                 {"status": 7},
	} {
		e := record.Entry{Record: record.Record{Kind: record.KindLifecycle, Call: "update_intent", Detail: detail}}
		check.Equal(t, brief.Line(e), want, "%v is told as", detail)
	}
}
