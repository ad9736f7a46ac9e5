//go:build unix

package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// TestKilledProcessLosesNoAcknowledgedRecord kills a process that appends from several goroutines at any moment.
func TestKilledProcessLosesNoAcknowledgedRecord(t *testing.T) {
	kills := 5
	if os.Getenv("ORCHESTRA_LONG") == "1" {
		kills = 100
	}
	w := newWorkspace(t)
	acknowledged := map[string]bool{}
	for i := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|8|1000000", appenderEnv, w.dir, i))
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			t.Fatal("the process ended before its first record")
		}
		acknowledged[lines.Text()] = true
		time.AfterFunc(rand.N(30*time.Millisecond), func() { cmd.Process.Kill() })
		for lines.Scan() {
			acknowledged[lines.Text()] = true
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process ended by itself")
		}
		appendOne(t, w.open(ledger.Options{}), mutation("INT-001", fmt.Sprintf("after/%d", i)))
		if p := w.verify().Problems; len(p) != 0 {
			t.Fatalf("after kill %d: %+v", i, p)
		}
	}
	_, err := w.open(ledger.Options{}).Scan(context.Background(), func(e ledger.Entry) error {
		delete(acknowledged, e.Hash)
		return nil
	})
	must(t, err)
	if len(acknowledged) != 0 {
		t.Errorf("%d acknowledged records are not in the ledger", len(acknowledged))
	}
}
