package server_test

import (
	"fmt"
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
// shows is then what the ledger tells, and one of the two states.
func TestKilledTakeOverIsAllOrNothing(t *testing.T) {
	t.Setenv(stagedEnv, "1")
	kills := check.Rounds(12, 1000)
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
	seen, taken := map[bool]int{}, 0
	for kill := range kills {
		when := fmt.Sprintf("after kill %d", kill)
		c := startChild(t, b.dir)
		check.OK(t, c.greet())
		session := a.selects(c, "INT-005")
		gone := make(chan int)
		go func() {
			n := 0
			for {
				answer, err := c.call("execute_command", args{"session": session, "command": "sh src/turn.sh"})
				if err != nil {
					gone <- n
					return
				}
				if !answer.IsError {
					n++
				}
			}
		}()
		time.Sleep(rand.N(2 * longestLife)) // the moment of the kill, not a wait for something
		c.kill()
		taken += <-gone
		settleOnce(t, b.dir)
		a.check(when)
		now := fmt.Sprint(a.files())
		isFirst, isSecond := now == fmt.Sprint(first), now == fmt.Sprint(second)
		check.Must(t, isFirst != isSecond, "%s: neither the one nor the other: %s", when, now)
		seen[isFirst]++
	}
	t.Logf("%d kills: %d and %d times in the two states, %d commands were answered, %d records, %d of them recovered", kills, seen[true], seen[false], taken, a.records, a.recovered)
}
