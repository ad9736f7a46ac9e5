package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A handle outlives the program, however that ends; what was seen may be lost with it, which costs a READ_REQUIRED.
func TestHandleSurvivesKill(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	a := p.agent()
	session := a.Selects("INT-001")
	a.OK("read_file", args{"path": "src/a.txt", "session": session})
	p.kill()

	a = w.initialized().agent()
	check.Equal(t, a.OK("get_active_intent", args{"session": session}).Str("intent_id"), "INT-001", "state")
	change := args{"path": "src/a.txt", "content": "after the kill\n", "session": session}
	if r := a.Call("write_to_file", change); r.Error {
		check.Must(t, r.Object["error_type"] == "READ_REQUIRED", "after a restart: %s", r.Text)
		a.OK("write_to_file", change)
	}
	w.want("src/a.txt", "after the kill\n")
}

// Killed at any moment, the program has recorded every change that it
// answered, and the next one goes on with the same ledger.
func TestKillWhileWriting(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	var session string
	// A kill can tear the last line, where it goes over a page of memory: the next append puts its part aside.
	appending := func(round int) *process {
		p := w.initialized()
		if session == "" {
			session = p.agent().Selects("INT-001")
		}
		p.agent().OK("write_to_file", args{"path": fmt.Sprintf("src/first%d.txt", round), "content": "x\n", "session": session})
		w.verify()
		return p
	}
	rounds := check.Rounds(4, 20)
	for round := range rounds {
		p := appending(round)
		var lines []string
		for i := range 200 {
			lines = append(lines, callLine(i, "write_to_file", args{"path": fmt.Sprintf("src/r%d-%d.txt", round, i), "content": "x\n", "session": session}))
		}
		p.send(lines...)
		answered := 5 + rand.IntN(40)
		var records []string
		for range answered {
			m, ok := p.next()
			check.Must(t, ok, "the program ended by itself")
			records = append(records, m.result(t).Str("record_id"))
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		p.kill()
		for _, id := range records {
			w.wantRecord(`"kind":"mutation"`, id)
		}
	}
	appending(rounds)
}

// Two programs on one workspace, as two clients start them, lose nothing of
// each other: neither records nor lines of a file that both edit.
func TestTwoServersOnOneWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	rounds := check.Rounds(20, 40)
	w.write("src/shared.txt", strings.Repeat("-\n", 2))
	var both sync.WaitGroup
	records := make([][]string, 2)
	for i := range 2 {
		p := w.initialized()
		both.Go(func() { records[i] = writeBeside(p.agent(), i, rounds) })
	}
	both.Wait()
	for i := range records {
		check.Equal(t, len(records[i]), 2*rounds, "server %d", i)
		for _, id := range records[i] {
			w.wantRecord(`"kind":"mutation"`, id)
		}
	}
	check.Equal(t, strings.Count(w.read("src/shared.txt"), "\n"), 2+2*rounds, "the shared file has")
}

// writeBeside writes files of its own and adds lines to the shared one.
func writeBeside(a agent, server, rounds int) (records []string) {
	session := a.Selects("INT-001")
	for i := range rounds {
		own := a.OK("write_to_file", args{"path": fmt.Sprintf("src/own%d/%d.txt", server, i), "content": "x\n", "session": session})
		records = append(records, own.Str("record_id"))
		for try := 0; ; try++ {
			r := a.Call("apply_diff", args{"path": "src/shared.txt", "session": session,
				"diff": fmt.Sprintf("<<<<<<< SEARCH\n:start_line:%d\n-------\n-\n=======\n-\n%d-%d\n>>>>>>> REPLACE", 1, server, i)})
			if !r.Error {
				records = append(records, r.Str("record_id"))
				break
			}
			// Refusals carry what is new in the file, so the next try knows it.
			if code := r.Object["error_type"]; code != "STALE_FILE" && code != "BUSY" || try == 100 {
				a.T.Errorf("after %d tries: %s", try, r.Text)
				return records
			}
		}
	}
	return records
}
