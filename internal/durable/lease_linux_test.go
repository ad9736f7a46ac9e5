//go:build linux && !portable

package durable_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

func TestLease(t *testing.T) {
	dir, at := openDir(t, map[string]string{"a": "1"})
	path := filepath.Join(at, "a")
	f := check.Value(dir.Open("a"))(t)
	defer f.Close()

	writer := check.Value(os.OpenFile(path, os.O_WRONLY, 0))(t)
	check.Is(t, durable.TakeLease(f), durable.ErrWriterOpen, "beside a writer")
	check.OK(t, writer.Close())
	check.OK(t, durable.TakeLease(f))
	check.OK(t, durable.KeepLease(f))

	opened := make(chan error)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = w.Close()
		}
		opened <- err
	}()
	select {
	case <-opened:
		t.Error("a writer was let in beside the lease")
	case <-time.After(50 * time.Millisecond):
	}
	check.Is(t, durable.KeepLease(f), durable.ErrWriterOpen, "with a writer waiting")
	durable.DropLease(f) // as the kernel does it when the writer has waited for long enough
	check.OK(t, <-opened)
	check.Is(t, durable.KeepLease(f), durable.ErrWriterOpen, "after a writer has come and gone")
	check.OK(t, durable.TakeLease(f))
}

func TestExchange(t *testing.T) {
	dir, at := openDir(t, map[string]string{"a": "1", "b": "2"})
	check.OK(t, dir.Exchange("a", dir, "b"))
	check.That(t, read(t, filepath.Join(at, "a")) == "2" && read(t, filepath.Join(at, "b")) == "1", "not exchanged")
}
