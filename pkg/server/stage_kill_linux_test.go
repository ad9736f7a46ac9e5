package server_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// turning takes the files of one state to the other: each kind of change, there and back.
const turning = `#!/bin/sh
cd src
if [ -e b ]; then
	mv b a; rm -r new; echo gone > gone; chmod 644 run; sed -i s/TWO/two/ m; rm t; mkdir t; echo in > t/in
else
	mv a b; mkdir -p new/deep; echo 1 > new/1; echo 2 > new/deep/2; rm gone; chmod 755 run; sed -i s/two/TWO/ m; rm -r t; echo file > t
fi
`

// TestKilledTakeOverIsAllOrNothing kills a server at random moments while commands work on layers and are taken over. What the disk
// shows is then what the ledger tells, and one of the two states. Each ledger is read whole after each kill, so none grows long.
func TestKilledTakeOverIsAllOrNothing(t *testing.T) {
	t.Setenv(stagedEnv, "1")
	var all takeOvers
	for range check.Rounds(1, 10) {
		all.kill(t, check.Rounds(12, 100))
	}
	t.Logf("%d and %d times in the two states, %d commands were answered, %d records, %d of them recovered", all.first, all.second, all.answered, all.records, all.recovered)
}

// takeOvers counts what became of them.
type takeOvers struct{ first, second, answered, records, recovered int }

func (n *takeOvers) kill(t *testing.T, times int) {
	b, _ := start(t, newWorkspace(t)).under("INT-005")
	for name, content := range map[string]string{"turn.sh": turning, "a": "a\n", "gone": "gone\n", "run": "#!/bin/sh\n", "m": "one\ntwo\n", "t/in": "in\n"} {
		check.Write(t, b.dir, "src/"+name, content)
	}
	a := newAudit(t, b.dir)
	first := a.files()
	b.OK("execute_command", args{"command": "sh src/turn.sh"})
	second := a.files()
	b.hangUp()
	b.close()
	for kill := range times {
		when := fmt.Sprintf("after kill %d", kill)
		c := startChild(t, b.dir)
		check.OK(t, c.greet())
		answered := turnUntilGone(c, a.selects(c, "INT-005"))
		time.Sleep(rand.N(2 * longestLife)) // the moment of the kill, not a wait for something
		c.kill()
		n.answered += <-answered
		settleOnce(t, b.dir)
		a.check(when)
		now := a.files()
		isFirst, isSecond := maps.Equal(now, first), maps.Equal(now, second)
		check.Must(t, isFirst != isSecond, "%s: neither the one nor the other: %s", when, now)
		if isFirst {
			n.first++
		} else {
			n.second++
		}
	}
	n.records, n.recovered = n.records+a.records, n.recovered+a.recovered
}

// turnUntilGone lets a child run the script again and again, and tells how often it was taken over once the child is gone.
func turnUntilGone(c *child, session string) <-chan int {
	answered := make(chan int)
	go func() {
		n := 0
		for {
			answer, err := c.call("execute_command", args{"session": session, "command": "sh src/turn.sh"})
			if err != nil {
				answered <- n
				return
			}
			if !answer.IsError {
				n++
			}
		}
	}()
	return answered
}
