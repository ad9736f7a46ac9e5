package e2e_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestRolesOfTokens has one client of each role do the same, in both eras: only the operator's is asked, and the auditor
// changes nothing.
func TestRolesOfTokens(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]driver{"typescript1": {SDK: 1}, "typescript2/modern": {SDK: 2, Pin: modern}} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			e, log := w.serveTo("http", `ORCHESTRA_AUTH_TOKENS=[{name: laptop, token: "laptop-laptop-laptop", role: operator}, `+
				`{name: ci, token: "ci-ci-ci-ci-ci-ci-ci"}, {name: eve, token: "eve-eve-eve-eve-eve-eve", role: auditor}, `+
				`{name: old, token: "old-old-old-old-old-old", expires: 2020-01-01}]`, waitsForOperator)
			check.That(t, e.token == "" && strings.Contains(log(), "laptop, ci, eve, old") && !strings.Contains(log(), "-ci-"), "it says: %s", log())
			got := try(t, e.url, "old-old-old-old-old-old")
			check.That(t, got.status == http.StatusUnauthorized && strings.Contains(got.challenge, "expired at 2020-01-01") && strings.Contains(got.text, "expired"), "an expired token: %+v", got)

			asked := 0
			as := func(token string) agent {
				d.Transport, d.URL, d.Token = "http", e.url, token
				d.User = func(context.Context, form) reply { // one call after the other
					asked++
					return accepts(args{"decision": decisionOnce})
				}
				return newAgent(t, w.drive(d))
			}
			operator, ci, auditor := as("laptop-laptop-laptop"), as("ci-ci-ci-ci-ci-ci-ci"), as("eve-eve-eve-eve-eve-eve")
			outside := func(session string) args { return args{"session": session, "path": "docs/new.md", "content": "x\n"} }

			operator.OK("write_to_file", outside(operator.Selects("INT-001")))
			check.Equal(t, asked, 1, "questions to the operator's client")
			w.git("clean", "-fdq", "docs")

			session := ci.Selects("INT-001")
			ci.OK("write_to_file", args{"session": session, "path": "src/ci.txt", "content": "x\n"})
			wait := ci.client.(*typescript).begin("callTool", args{"name": "write_to_file", "arguments": outside(session)})
			id := w.pending(w.inbox(), 1)[0].ID
			w.commands("approvals", "approve", "--yes", id)
			_, err := wait()
			check.OK(t, err)
			check.That(t, asked == 1 && w.content("docs/new.md") == "x\n", "asked %d times, and docs/new.md is %q", asked, w.content("docs/new.md"))

			auditor.OK("read_file", args{"path": "src/a.txt"})
			auditor.OK("list_intents", args{})
			auditor.OK("query_trace", args{"path": "src/ci.txt"})
			for tool, arguments := range map[string]args{
				"select_active_intent": {"intent_id": "INT-001"}, "write_to_file": {"session": session, "path": "src/x.txt", "content": "x\n"},
				"execute_command": {"session": session, "command": "echo x > src/x.txt"}, "record_lesson": {"lesson": "x"},
				"resume_approval": {"approval_id": id}, "propose_intent": {"name": "x"}, "stop_command": {"command_id": "x"}, "edit_file": {},
			} {
				auditor.Refused("ROLE_FORBIDDEN", tool, arguments)
			}
			var same [3]struct{ Tools []any }
			for n, a := range []agent{operator, ci, auditor} {
				a.get("listTools", args{}, &same[n])
				var read struct{ Contents []any }
				a.get("readResource", args{"uri": "orchestra://intents"}, &read)
				check.Equal(t, len(read.Contents), 1, "contents of a resource")
			}
			check.That(t, len(same[0].Tools) > 10 && reflect.DeepEqual(same[0], same[1]) && reflect.DeepEqual(same[0], same[2]), "tools of the roles differ")

			for who, parts := range map[string][]string{
				"laptop": {`"kind":"mutation"`, "docs/new.md"}, "ci": {`"kind":"mutation"`, "src/ci.txt"}, "eve": {`"ROLE_FORBIDDEN"`, "write_to_file"},
			} {
				w.wantRecord(append(parts, `"principal":"`+who+`"`)...)
			}
			out := w.commands("log", "--path", "src/ci.txt")
			check.That(t, strings.Contains(out, "(ci)"), "log: %s", out)
			record := strings.Fields(strings.Split(out, "\n")[1])[2]
			out = w.commands("show", record)
			check.That(t, strings.Contains(out, "principal ci"), "show: %s", out)
		})
	}
}
