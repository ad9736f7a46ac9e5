package ledger_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// appenderEnv makes this test binary one more process that appends: "<workspace>|<number>|<goroutines>|<records each>",
// and optionally "|<segment size>".
const appenderEnv = "LEDGER_TEST_APPENDER"

func TestMain(m *testing.M) {
	if job := os.Getenv(appenderEnv); job != "" {
		if err := appendAsChild(strings.Split(job, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func appendAsChild(job []string) error {
	if job[1] == "query" {
		return queryAsChild(job[0])
	}
	root, err := os.OpenRoot(job[0])
	if err != nil {
		return err
	}
	opts := ledger.Options{}
	if len(job) > 4 {
		opts.SegmentSize, _ = strconv.ParseInt(job[4], 10, 64)
	}
	l, err := ledger.Open(root, opts)
	if err != nil {
		return err
	}
	goroutines, _ := strconv.Atoi(job[2])
	records, _ := strconv.Atoi(job[3])
	failures := make(chan error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for n := range records {
				path := fmt.Sprintf("src/%s-%d-%d", job[1], g, n)
				at, err := l.Append(context.Background(), mutation("INT-001", path))
				if err != nil {
					failures <- err
					return
				}
				fmt.Println(at.Hash, at.ID)
			}
		})
	}
	all.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return l.Close(context.Background())
	}
}

func TestProcessesShareOneFile(t *testing.T) {
	processes, goroutines, records := 3, 4, 20
	if check.Long() {
		processes, records = 6, 500
	}
	w := newWorkspace(t)
	inParallel(processes, func(i int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d|%d", appenderEnv, w.dir, i, goroutines, records))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, out)
		}
	})
	total := processes * goroutines * records
	w.wantRecords(total)
	if heads := w.verify().Heads; len(heads) != 1 {
		t.Errorf("%d heads, want one", len(heads))
	}
	paths := map[string]bool{}
	problems, err := w.open(ledger.Options{}).Scan(context.Background(), func(e record.Entry) error {
		paths[e.Changes[0].Path] = true
		return nil
	})
	if err != nil || len(problems) != 0 || len(paths) != total {
		t.Errorf("%d different records, want %d; problems %v, error %v", len(paths), total, problems, err)
	}
}
