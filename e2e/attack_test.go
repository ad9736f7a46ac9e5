package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// attack is one way to have a call pass that the operator did not let through, or to have the operator let through what
// they did not see. README.md has the same table.
type attack struct {
	name string
	// does it, and tells what came of it: what became says of the last answer, or what shown says.
	does func(s *siege) string
	// result is what must come of it.
	result string
	// waits has calls wait for the answer to a form.
	waits bool
	// http is for what needs principals, or a clock that can be put on.
	http bool
}

// What can come of an attack. Everything else is the code of a refusal.
const (
	asked      = "asked"              // the operator has a question, and nothing has happened
	passes     = "passes"             // the call took effect
	turnedAway = "turned away"        // no call: an error of the protocol
	escaped    = "shown as escapes"   // the operator sees what it is
	noted      = "said in a row more" // the operator is told what cannot be seen
	hidden     = "hidden"             // the operator does not see it
)

// TestApprovalsUnderAttack makes every attack on a server over the wire, each on a server of its own. A state that
// travels through the client is tried over stdio and over HTTP. With -short it is every fourth attack.
func TestApprovalsUnderAttack(t *testing.T) {
	t.Parallel()
	left := func(i int) bool { return testing.Short() && i%8 != 0 }
	for i, a := range slices.Concat(answerAttacks, resumeAttacks, grantAttacks, fileAttacks, commandAttacks, contentAttacks, displayAttacks) {
		if left(i) {
			continue
		}
		t.Run(a.name, func(t *testing.T) { a.make(besieged(t, a, "stdio")) })
	}
	for i, a := range stateAttacks {
		for _, transport := range []string{"stdio", "HTTP"} {
			if left(i) || a.http && transport == "stdio" {
				continue
			}
			t.Run(a.name+"/"+transport, func(t *testing.T) { a.make(besieged(t, a, transport)) })
		}
	}
}

func (a attack) make(s *siege) {
	s.t.Parallel()
	got := a.does(s)
	if got != a.result {
		s.t.Errorf("the result is %q, want %q\nlast answer: %s", got, a.result, s.last)
	}
	if _, err := os.Stat(s.path(target)); (err == nil) != (got == passes) {
		s.t.Errorf("the result is %q, and the file is there: %v", got, err == nil)
	}
}

// The table has each attack with its result, and no other.
func TestTheTableNamesEveryAttackOnApprovals(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, begun := strings.Cut(string(text), "<!-- attacks on approvals: begin -->")
	table, _, ended := strings.Cut(table, "<!-- attacks on approvals: end -->")
	if !begun || !ended {
		t.Fatal("README.md has no table of attacks on approvals")
	}
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 2 && cells[0] != "| attack" && cells[0] != "| ---" {
			rows[strings.TrimPrefix(cells[0], "| ")] = strings.TrimSuffix(cells[1], " |")
		}
	}
	for _, a := range slices.Concat(stateAttacks, answerAttacks, resumeAttacks, grantAttacks, fileAttacks, commandAttacks, contentAttacks, displayAttacks) {
		row, there := rows[a.name]
		if word, _, _ := strings.Cut(row, ":"); !there || strings.Trim(word, "`") != a.result {
			t.Errorf("it does not say that the result of %q is %q: %q", a.name, a.result, row)
		}
		delete(rows, a.name)
	}
	for name := range rows {
		t.Errorf("it names an attack that is not tried: %q", name)
	}
}
