package ledger_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func (w *workspace) repair() []mend.SetAside {
	w.t.Helper()
	return check.Value(mend.Repair(context.Background(), w.root))(w.t)
}

func TestRepairSetsTornTailsAside(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	appendOne(t, l, mutation("INT-001", "b"))
	whole := w.read(tracePath)
	last := len(whole) - len(w.lines(tracePath)[1]) - 1
	other := ".orchestration/trace/" + session + ".jsonl"
	for _, cut := range []int{last + 1, last + 20, len(whole) - 2} {
		w.write(tracePath, whole[:cut])
		w.write(other, whole[:cut])
		done := w.repair()
		check.Equal(t, len(done), 2, "cut at %d: set aside", cut)
		for i, segment := range []string{tracePath, other} {
			want := mend.SetAside{Segment: segment, Offset: int64(last), Bytes: int64(cut - last), File: done[i].File}
			check.That(t, done[i] == want && strings.HasPrefix(done[i].File, ".orchestration/state/torn-"), "cut at %d: %+v, want %+v", cut, done[i], want)
			check.Equal(t, w.read(done[i].File), whole[last:cut], "cut at %d: kept", cut)
			check.Equal(t, w.read(segment), whole[:last], "cut at %d: the whole lines of %s", cut, segment)
		}
		w.wantRecords(1)
		check.Equal(t, len(w.repair()), 0, "repaired again")
	}
	appendOne(t, l, mutation("INT-001", "c")) // the open ledger goes on
	w.wantRecords(2)
}

func TestRepairRefusesAnythingElse(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	for _, name := range []string{"a", "b", "c"} {
		appendOne(t, l, mutation("INT-001", name))
	}
	whole := w.read(tracePath)
	lines := strings.SplitAfter(whole, "\n")
	for name, content := range map[string]string{
		"whole":                          whole,
		"whole but for its last newline": strings.TrimSuffix(whole, "\n"),
		"a line removed":                 lines[0] + lines[2],
		"a line cut in the middle":       lines[0][:50] + "\n" + lines[1] + lines[2],
		"conflict markers":               "<<<<<<< HEAD\n" + whole + ">>>>>>> x\n",
		"space behind it":                whole + "  ",
	} {
		w.write(tracePath, content)
		done := w.repair()
		check.That(t, len(done) == 0 && w.read(tracePath) == content, "%s: %+v", name, done)
	}
	w.write(tracePath, whole)
}

func TestRepairNeedsAWritableLedger(t *testing.T) {
	w := newWorkspace(t)
	check.OK(t, os.Remove(w.path(".orchestration")))
	check.Fails(mend.Repair(context.Background(), w.root))(t, ledger.ErrNotInitialized, "no directory")
	w.write(tracePath, "x")
	check.OK(t, os.Remove(w.path(tracePath)))
	check.OK(t, os.Symlink("../away", w.path(tracePath)))
	done := w.repair()
	check.That(t, len(done) == 0, "a link: %+v", done)
	check.OK(t, os.Remove(w.path(tracePath)))
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		return // permission bits bind nobody here
	}
	w.write(tracePath, "torn")
	check.OK(t, os.Chmod(w.path(tracePath), 0o444))
	check.Fails(mend.Repair(context.Background(), w.root))(t, os.ErrPermission, "read-only")
	check.OK(t, os.Remove(w.path(tracePath)))
}

func TestTornLineIsSetAside(t *testing.T) {
	w := newWorkspace(t)
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "a"))
	appendOne(t, w.open(ledger.Options{}), mutation("INT-001", "b"))
	whole := w.read(tracePath)
	cut := len(whole) - 40
	w.write(tracePath, whole[:cut])

	var log strings.Builder
	l := w.open(ledger.Options{Logger: zerolog.New(zerolog.SyncWriter(&log))})
	result, err := l.Query(context.Background(), record.Filter{Newest: true})
	if err != nil || len(result.Entries) != 1 || len(result.Problems) != 1 || result.Problems[0].Kind != ledger.ProblemTorn {
		t.Errorf("query of a torn ledger: %d entries, problems %+v, error %v", len(result.Entries), result.Problems, err)
	}
	p := w.verify().Problems
	check.That(t, len(p) == 1 && p[0].Kind == ledger.ProblemTorn && p[0].Line == 2, "verify of a torn ledger: %+v", p)
	appendOne(t, l, mutation("INT-001", "c"))
	w.wantRecords(2)
	aside, err := filepath.Glob(w.path(".orchestration/state/torn-*.jsonl"))
	check.Must(t, err == nil && len(aside) == 1, "set aside: %v, %v", aside, err)
	content := check.Value(os.ReadFile(aside[0]))(t)
	first := strings.Index(whole, "\n") + 1
	check.That(t, string(content) == whole[first:cut], "set aside %q, want %q", content, whole[first:cut])
	check.That(t, strings.Contains(log.String(), "torn"), "nothing in the log: %s", log.String())
}

func TestWholeLineWithoutNewlineIsKept(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "a"))
	w.write(tracePath, strings.TrimSuffix(w.read(tracePath), "\n"))
	w.wantRecords(1)
	appendOne(t, l, mutation("INT-001", "b"))
	w.wantRecords(2)
	aside, _ := filepath.Glob(w.path(".orchestration/state/torn-*"))
	check.That(t, len(aside) == 0, "%v was set aside", aside)
}

// failing is a disk whose flushes fail for as long as it is ill. It counts what is written once more.
type failing struct {
	ill   bool
	again int
}

func (f *failing) disk() ledger.Disk {
	return ledger.Disk{
		Flush: func(file *os.File) error {
			if f.ill {
				return syscall.EIO
			}
			return file.Sync()
		},
		Rewrite: func(file *os.File, b []byte, at int64) error {
			f.again += len(b)
			_, err := file.WriteAt(b, at)
			return err
		},
	}
}

// TestReopen: after a failed flush the ledger refuses until Reopen has written what was in doubt once more and flushed it.
func TestReopen(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		t.Run(string(layout), func(t *testing.T) {
			w := newWorkspace(t)
			ctx := context.Background()
			f := &failing{}
			l := w.open(ledger.Options{Layout: layout})
			l.UseDisk(f.disk())
			appendOne(t, l, mutation("INT-001", "before"))
			f.ill = true
			doubtful := check.Value(l.Draft(mutation("INT-001", "doubtful")))(t)
			check.Fails(l.AppendDraft(ctx, doubtful))(t, ledger.ErrUnavailable, "a failed flush")
			err := l.Reopen(ctx)
			check.Must(t, errors.Is(err, ledger.ErrUnavailable) && l.Failed(), "reopened on an ill disk: %v", err)
			f.ill, f.again = false, 0
			check.OK(t, l.Reopen(ctx))
			check.That(t, f.again != 0 && f.again <= 2000, "%d bytes were written again, not the one line in doubt", f.again)
			has := check.Value(l.Has(ctx, doubtful.ID()))(t)
			check.That(t, has[doubtful.ID()], "the line in doubt is gone")
			appendOne(t, l, mutation("INT-001", "after"))
			w.wantRecords(3)
		})
	}
}

// TestReopenRefuses: where the file is not what was flushed, or has something in it that is no record, a person has to look.
func TestReopenRefuses(t *testing.T) {
	spoil := map[string]func(content string) string{
		"shorter than what was flushed":  func(content string) string { return content[:len(content)/4] },
		"a flushed line was changed":     func(content string) string { return strings.Replace(content, "INT-001", "INT-002", 1) },
		"zeros where a line had been":    func(content string) string { return content + strings.Repeat("\x00", 100) + "\n" },
		"no record where a line was due": func(content string) string { return content + "<<<<<<< ours\n" },
	}
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			ctx := context.Background()
			f := &failing{}
			l := w.open(ledger.Options{})
			l.UseDisk(f.disk())
			appendOne(t, l, mutation("INT-001", "before"))
			f.ill = true
			_, err := l.Append(ctx, mutation("INT-001", "doubtful"))
			check.Must(t, errors.Is(err, ledger.ErrUnavailable), "%v", err)
			f.ill = false
			whole := w.read(".orchestration/agent_trace.jsonl")
			overwrite(t, w.path(".orchestration/agent_trace.jsonl"), change(strings.SplitAfter(whole, "\n")[0]))
			check.Is(t, l.Reopen(ctx), ledger.ErrUnavailable, "reopened")
			overwrite(t, w.path(".orchestration/agent_trace.jsonl"), whole)
			check.OK(t, l.Reopen(ctx))
			appendOne(t, l, mutation("INT-001", "after"))
			w.wantRecords(3)
		})
	}
}

// overwrite keeps the inode.
func overwrite(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	check.OK(t, err)
	_, err = io.WriteString(f, content)
	check.OK(t, errors.Join(err, f.Close()))
}

// TestReopenSetsTornEndAside: what a failed write left is no record.
func TestReopenSetsTornEndAside(t *testing.T) {
	w := newWorkspace(t)
	ctx := context.Background()
	ill := true
	l := w.open(ledger.Options{})
	l.UseDisk(ledger.Disk{
		Write: func(f *os.File, b []byte) (int, error) {
			if !ill {
				return f.Write(b)
			}
			n, _ := f.Write(b[:len(b)/2])
			return n, syscall.ENOSPC
		},
		Truncate: func(f *os.File, size int64) error {
			if ill {
				return syscall.EIO
			}
			return f.Truncate(size)
		},
	})
	check.Fails(l.Append(ctx, mutation("INT-001", "torn")))(t, ledger.ErrUnavailable)
	ill = false
	check.OK(t, l.Reopen(ctx))
	appendOne(t, l, mutation("INT-001", "after"))
	w.wantRecords(1)
}
