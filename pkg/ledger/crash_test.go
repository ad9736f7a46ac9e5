//go:build unix

package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// TestKilledProcessLosesNoAcknowledgedRecord kills a process that appends from several goroutines at any moment.
func TestKilledProcessLosesNoAcknowledgedRecord(t *testing.T) {
	kills := check.Rounds(5, 100)
	w := newWorkspace(t)
	acknowledged := map[string]bool{}
	for i := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|8|1000000", appenderEnv, w.dir, i))
		out := check.Value(cmd.StdoutPipe())(t)
		check.OK(t, cmd.Start())
		lines := bufio.NewScanner(out)
		check.Must(t, lines.Scan(), "the process ended before its first record")
		acknowledged[strings.Fields(lines.Text())[0]] = true
		time.AfterFunc(rand.N(30*time.Millisecond), func() { cmd.Process.Kill() })
		for lines.Scan() {
			acknowledged[strings.Fields(lines.Text())[0]] = true
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process ended by itself")
		}
		appendOne(t, w.open(ledger.Options{}), mutation("INT-001", fmt.Sprintf("after/%d", i)))
		p := w.verify().Problems
		check.Must(t, len(p) == 0, "after kill %d: %+v", i, p)
	}
	_, err := w.open(ledger.Options{}).Scan(context.Background(), func(e record.Entry) error {
		delete(acknowledged, e.Hash)
		return nil
	})
	check.OK(t, err)
	check.Equal(t, len(acknowledged), 0, "acknowledged records that are not in the ledger")
}

// TestKilledRotationLosesNoAcknowledgedRecord kills one after the other of several processes that all append and rotate,
// with segments so small that a rotation is nearly always under way.
func TestKilledRotationLosesNoAcknowledgedRecord(t *testing.T) {
	rounds := 4
	switch {
	case check.Long():
		rounds = 60
	case check.Short():
		rounds = 2
	}
	w := newWorkspace(t)
	var acknowledged []string
	var mu sync.Mutex
	for round := range rounds {
		inParallel(3, func(i int) {
			ids := killedAppender(t, fmt.Sprintf("%s|%d-%d|4|1000000|%d", w.dir, round, i, smallSegment/4))
			mu.Lock()
			defer mu.Unlock()
			acknowledged = append(acknowledged, ids...)
		})
		l := w.open(ledger.Options{SegmentSize: smallSegment / 4})
		acknowledged = append(acknowledged, appendOne(t, l, mutation("INT-001", "after")).ID)
		check.OK(t, l.Rotate(context.Background())) // so that the next round has little to move, and comes to it
		p := w.verify().Problems
		check.Must(t, len(p) == 0, "after round %d: %+v", round, p)
	}
	w.wantEach(acknowledged)
	check.That(t, len(w.archives()) != 0, "nothing was rotated")
	t.Logf("%d records acknowledged by %d killed processes, %d archives", len(acknowledged), 3*rounds, len(w.archives()))
}

// killedAppender gives the ids of the records that a process acknowledged before it was killed.
func killedAppender(t *testing.T, job string) (ids []string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), appenderEnv+"="+job)
	cmd.Stderr = os.Stderr
	out := check.Value(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	kill := 30 + rand.N(400)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if ids = append(ids, strings.Fields(lines.Text())[1]); len(ids) == kill {
			time.AfterFunc(rand.N(5*time.Millisecond), func() { cmd.Process.Kill() })
		}
	}
	err := cmd.Wait()
	check.That(t, err != nil && len(ids) >= kill, "a process ended by itself after %d records: %v", len(ids), err)
	return ids
}
