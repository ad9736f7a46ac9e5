package ledger_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

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

// TestReopen: after a failed flush the ledger refuses until Reopen has written
// what was in doubt once more and flushed it.
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

// TestReopenRefuses: where the file is not what was flushed, or has something
// in it that is no record, a person has to look.
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
