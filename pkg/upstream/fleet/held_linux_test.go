package fleet_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A program that may write the workspace does nothing while nobody waits for it.
func TestWritersStandStillBetweenCalls(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprint(held), func(t *testing.T) {
			t.Parallel()
			writes, reads := is("w", "plain"), is("r", "plain")
			writes.Writes = true
			y := newYard(t, writes, reads)
			if held {
				y.held()
			}
			y.open()
			for range 3 {
				check.That(t, strings.Contains(y.said("w_echo", `{"text":"x"}`), "x") && strings.Contains(y.said("r_echo", `{"text":"x"}`), "x"), "no echo")
				check.Equal(t, processState(t, y.state("w").PID), "T")
				check.That(t, processState(t, y.state("r").PID) != "T", "a program that may not write stands still")
			}
		})
	}
}

// processState is the letter of a process's state.
func processState(t *testing.T, pid int) string {
	t.Helper()
	stat := string(check.Value(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t))
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[0]
}
