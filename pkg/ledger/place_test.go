//go:build unix

package ledger_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

func TestPlacesThatAreNoLedgerAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(w *workspace) error{
		"link":      func(w *workspace) error { return os.Symlink("../src.txt", w.path(tracePath)) },
		"directory": func(w *workspace) error { return os.Mkdir(w.path(tracePath), 0o755) },
		"fifo":      func(w *workspace) error { return syscall.Mkfifo(w.path(tracePath), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.write("src.txt", "mine\n")
			must(t, spoil(w))
			w.problems = []ledger.ProblemKind{ledger.ProblemUnreadable}
			l := w.open(ledger.Options{})
			if err := l.Writable(context.Background()); !errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("Writable: %v", err)
			}
			if _, err := l.Append(context.Background(), mutation("INT-001", "a")); !errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("Append: %v", err)
			}
			if got := w.read("src.txt"); got != "mine\n" {
				t.Errorf("the file behind the link is now %q", got)
			}
			must(t, os.Remove(w.path(tracePath)))
			w.problems = nil
			appendOne(t, l, mutation("INT-001", "a")) // not poisoned: nothing had been written
		})
	}
}

func TestLinkedDirectoriesBelowHomeAreRefused(t *testing.T) {
	w := newWorkspace(t)
	must(t, os.Mkdir(w.path("src"), 0o755))
	must(t, os.Symlink("../src", w.path(".orchestration/trace")))
	must(t, os.Symlink("../src", w.path(".orchestration/state")))
	l := w.open(ledger.Options{Layout: ledger.LayoutSessions})
	if _, err := l.Append(context.Background(), mutation("INT-001", "a")); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Append through trace: %v", err)
	}
	w.write(tracePath, "torn")
	l = w.open(ledger.Options{})
	if _, err := l.Append(context.Background(), mutation("INT-001", "a")); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Append that sets a torn line aside through state: %v", err)
	}
	if left, _ := os.ReadDir(w.path("src")); len(left) != 0 {
		t.Errorf("%v was written through the links", left)
	}
	w.problems = []ledger.ProblemKind{ledger.ProblemTorn, ledger.ProblemUnreadable}
}

func TestLinkedHomeIsRefused(t *testing.T) {
	w := newWorkspace(t)
	must(t, os.Remove(w.path(".orchestration")))
	must(t, os.Mkdir(w.path("src"), 0o755))
	must(t, os.Symlink("src", w.path(".orchestration")))
	l := w.open(ledger.Options{})
	if _, err := l.Append(context.Background(), mutation("INT-001", "a")); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Append: %v", err)
	}
	if left, _ := os.ReadDir(w.path("src")); len(left) != 0 {
		t.Errorf("%v was written through the link", left)
	}
	must(t, os.Remove(w.path(".orchestration")))
}

func TestBusyLeavesNothingAndPassesLater(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{LockWait: 20 * time.Millisecond})
	dir, err := os.Open(w.path(".orchestration"))
	must(t, err)
	must(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_EX))
	if _, err := l.Append(context.Background(), mutation("INT-001", "a")); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	if err := l.Writable(context.Background()); err != nil {
		t.Errorf("Writable: %v", err)
	}
	must(t, dir.Close())
	appendOne(t, l, mutation("INT-001", "a"))
	w.wantRecords(1)
}
