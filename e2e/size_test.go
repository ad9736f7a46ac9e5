package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// largestAnswer is what clients still read: the TypeScript client gives up a
// stdio connection at 10 MB. Characters that JSON has to escape take six bytes
// each, in text and structured content.
const largestAnswer = 4 << 20

// Whatever is in the workspace, answers stay readable for a client and for a
// model.
func TestAnswersStaySmall(t *testing.T) {
	t.Parallel()
	much, many := 1<<20, 5000
	if testing.Short() {
		much, many = 1<<16, 200
	}
	w := newWorkspace(t)
	p := w.initialized()
	session := p.agent().selects("INT-001")
	w.write("src/long-line.txt", strings.Repeat("needle ", much))
	w.write("src/many-lines.txt", strings.Repeat("needle\n", much))
	w.write("src/control.txt", strings.Repeat("\x01\x02", much))
	w.write("src/binary.bin", strings.Repeat("\x00\xff", 2*much))
	for i := range many {
		w.write(fmt.Sprintf("src/%s/%d.txt", strings.Repeat("d", 200), i), "needle\n")
	}
	for i, c := range []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": "src/long-line.txt"}},
		{"read_file", args{"path": "src/many-lines.txt"}},
		{"read_file", args{"path": "src/many-lines.txt", "limit": 1 << 30}},
		{"read_file", args{"path": "src/control.txt"}},
		{"read_file", args{"path": "src/binary.bin"}},
		{"search_files", args{"path": ".", "regex": "needle"}},
		{"search_files", args{"path": "src", "regex": "."}},
		{"list_files", args{"path": ".", "recursive": true}},
		{"write_to_file", args{"path": "src/many-lines.txt", "content": "x"}},
		{"write_to_file", args{"path": "src/control.txt", "content": "x"}},
		{"write_to_file", args{"path": "src/" + strings.Repeat("y", much), "content": "x"}},
		{"edit_file", args{"path": "src/many-lines.txt", "old_string": strings.Repeat("no", much), "new_string": "x"}},
		{"edit_file", args{"path": "src/many-lines.txt", "old_string": "needle", "new_string": "pin"}},
		{"edit_file", args{"path": "src/many-lines.txt", "old_string": "needle", "new_string": "pin", "replace_all": true}},
		{"apply_diff", args{"path": "src/many-lines.txt", "diff": "<<<<<<< SEARCH\npin\n=======\nx\n>>>>>>> REPLACE"}},
		{"apply_diff", args{"path": "src/long-line.txt", "diff": "<<<<<<< SEARCH\nneedle\n=======\nx\n>>>>>>> REPLACE"}},
		{"apply_diff", args{"path": "src/a.txt", "diff": strings.Repeat("<<<<<<< SEARCH\nnone\n=======\nx\n>>>>>>> REPLACE\n", many)}},
		{"apply_patch", args{"patch": "*** Begin Patch\n" + strings.Repeat("*** Update File: src/none.txt\n@@\n-a\n+b\n", many) + "*** End Patch"}},
		{"execute_command", args{"command": "head -c 20000000 /dev/zero"}},
		{"request_scope_expansion", args{"paths": []string{strings.Repeat("z", much)}, "reason": strings.Repeat("r", much)}},
		{"propose_intent", args{"name": "n", "owned_scope": []string{strings.Repeat("z", much)}, "description": strings.Repeat("d", much)}},
		{"select_active_intent", args{"intent_id": strings.Repeat("I", much)}},
		{"query_trace", args{"path": "src/many-lines.txt", "limit": 200}},
		{"query_lessons", args{}},
	} {
		c.args["session"] = session
		p.send(callLine(i, c.tool, c.args))
		m := p.await(i)
		if m.Error != nil {
			t.Errorf("%s: %+v", c.tool, m.Error)
		}
		if len(m.Result) > largestAnswer {
			t.Errorf("%s answered with %d bytes: %.300s", c.tool, len(m.Result), m.Result)
		}
	}
	for i, uri := range []string{"orchestra://intents", "orchestra://ledger/recent"} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"resources/read","params":{"uri":%q}}`, i, uri))
		if m := p.await(fmt.Sprintf("r%d", i)); len(m.Result) > largestAnswer {
			t.Errorf("%s has %d bytes", uri, len(m.Result))
		}
	}
}
