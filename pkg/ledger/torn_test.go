package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestTornLineIsSetAside(t *testing.T) {
	w := newWorkspace(t)
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "a"))
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "b"))
	whole := w.read(tracePath)
	cut := len(whole) - 40
	w.write(tracePath, whole[:cut])

	var log lockedBuffer
	l := w.open(ledger.Options{Logger: zerolog.New(&log)})
	result, err := l.Query(context.Background(), record.Filter{Newest: true})
	if err != nil || len(result.Entries) != 1 || len(result.Problems) != 1 || result.Problems[0].Kind != ledger.ProblemTorn {
		t.Errorf("query of a torn ledger: %d entries, problems %+v, error %v", len(result.Entries), result.Problems, err)
	}
	if p := w.verify().Problems; len(p) != 1 || p[0].Kind != ledger.ProblemTorn || p[0].Line != 2 {
		t.Errorf("verify of a torn ledger: %+v", p)
	}
	appendOne(t, l, mutation("INT-001", "c"))
	w.wantRecords(2)
	aside, err := filepath.Glob(w.path(".orchestration/state/torn-*.jsonl"))
	if err != nil || len(aside) != 1 {
		t.Fatalf("set aside: %v, %v", aside, err)
	}
	content := check.Value(os.ReadFile(aside[0]))(t)
	if first := strings.Index(whole, "\n") + 1; string(content) != whole[first:cut] {
		t.Errorf("set aside %q, want %q", content, whole[first:cut])
	}
	if !strings.Contains(log.String(), "torn") {
		t.Errorf("nothing in the log: %s", log.String())
	}
}

func TestWholeLineWithoutNewlineIsKept(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	w.write(tracePath, strings.TrimSuffix(w.read(tracePath), "\n"))
	w.wantRecords(1)
	appendOne(t, l, mutation("INT-001", "b"))
	w.wantRecords(2)
	if aside, _ := filepath.Glob(w.path(".orchestration/state/torn-*")); len(aside) > 0 {
		t.Errorf("%v was set aside", aside)
	}
}
