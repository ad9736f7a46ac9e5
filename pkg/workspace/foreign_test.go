//go:build linux && !portable

package workspace_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// editor drives a foreignWriter process.
type editor struct {
	t    testing.TB
	send io.WriteCloser
	recv *bufio.Reader
}

func startEditor(t testing.TB, style string) *editor {
	t.Helper()
	cmd := startRole(t, style)
	send, err := cmd.StdinPipe()
	must(t, err)
	recv, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		send.Close()
		must(t, cmd.Wait())
	})
	return &editor{t: t, send: send, recv: bufio.NewReader(recv)}
}

func (e *editor) write(delay time.Duration, path, content string) {
	_, err := fmt.Fprintln(e.send, int64(delay), path, content)
	check.OK(e.t, err)
}

// wait returns when the write is done.
func (e *editor) wait() {
	for e.next() != "done\n" {
	}
}

// begun returns when the write must have reached the kernel: it is made to wait there in the tests that ask.
func (e *editor) begun() {
	e.next()
	time.Sleep(50 * time.Millisecond)
}

func (e *editor) next() string {
	line, err := e.recv.ReadString('\n')
	if err != nil {
		e.t.Fatal("the foreign writer died: ", err)
	}
	return line
}

// tally is what became of a foreign write that met one of ours.
type tally struct {
	rounds, ours, refused, busy int
	kept                        int // not at the path, but kept aside and named
	lost                        int
}

func long() bool { return check.Long() }

// TestForeignWriter: while we replace a file, a process that knows nothing of us writes it. Whatever we answer, its
// content must be at the path afterwards: either it wrote last, or we must have noticed.
func TestForeignWriter(t *testing.T) {
	for _, style := range []string{"rename", "truncate"} {
		for name, opts := range map[string][]workspace.Option{
			"full": nil, "unflushed": {workspace.WithDurability(workspace.OS)},
		} {
			t.Run(style+" "+name, func(t *testing.T) {
				got := stress(t, style, compareAndSwap(t), opts...)
				t.Logf("%+v", got)
				// A truncating writer that has looked the path up before the exchange and is put off by the scheduler
				// until after Close is not seen: measured 1 in 42,000 unflushed, 0 in 6,000 flushed.
				bound := 0
				if style == "truncate" {
					bound = 1 + got.rounds/5000
				}
				check.That(t, got.lost <= bound, "%d of %d foreign writes were lost", got.lost, got.rounds)
				check.That(t, got.met(), "the two writers never met: this run proves nothing")
			})
		}
	}
}

// TestForeignWriterWithoutLease: files of other users and file systems without leases are weaker for writers that
// truncate, and as strong for those that rename.
func TestForeignWriterWithoutLease(t *testing.T) {
	got := stress(t, "rename", compareAndSwap(t), workspace.WithoutLease())
	t.Logf("rename: %+v", got)
	check.That(t, got.lost <= 0, "%d of %d foreign writes were lost", got.lost, got.rounds)
	got = stress(t, "truncate", compareAndSwap(t), workspace.WithoutLease())
	t.Logf("truncate: %+v", got)
	check.That(t, got.lost*20 <= got.rounds, "%d of %d foreign writes were lost", got.lost, got.rounds)
}

// TestForeignWriterMeetsNaiveWriter shows that the stress is sharp enough to see a lost update.
func TestForeignWriterMeetsNaiveWriter(t *testing.T) {
	got := stress(t, "rename", func(w *workspace.Workspace, before, after string) error {
		path := filepath.Join(w.Dir(), "f")
		if have, err := os.ReadFile(path); err != nil || string(have) != before {
			return workspace.ErrStale
		}
		return naiveWrite(path, []byte(after))
	})
	t.Logf("%+v", got)
	check.That(t, got.lost != 0, "even a plain check and rename lost nothing: the stress is blunt")
}

func compareAndSwap(t *testing.T) func(*workspace.Workspace, string, string) error {
	return func(w *workspace.Workspace, before, after string) error {
		target, err := w.Resolve("f")
		if err != nil {
			return err
		}
		defer target.Close()
		s, err := commit(t, w, workspace.Change{Op: change.Modified, Target: target, Before: hashOf(before), After: []byte(after)})
		if err != nil {
			return err
		}
		return s.Close()
	}
}

func stress(t *testing.T, style string, write func(w *workspace.Workspace, before, after string) error, opts ...workspace.Option) tally {
	w := open(t, map[string]string{"f": "", ".orchestration/active_intents.yaml": ""}, opts...)
	path := filepath.Join(w.Dir(), "f")
	e := startEditor(t, style)
	var n tally
	usual := time.Millisecond
	enough := func(after time.Duration) bool {
		if long() {
			return n.rounds >= 6000
		}
		return after > 400*time.Millisecond && n.met() || after > time.Minute
	}
	for start := time.Now(); !enough(time.Since(start)); n.rounds++ {
		base, theirs, ours := fmt.Sprint("base", n.rounds), fmt.Sprint("theirs", n.rounds), fmt.Sprint("ours", n.rounds)
		must(t, os.WriteFile(path+".base", []byte(base), 0o644))
		must(t, os.Rename(path+".base", path))
		e.write(rand.N(usual*5/4+1), path, theirs)
		before := time.Now()
		err := write(w, base, ours)
		took := time.Since(before)
		e.wait()
		usual = (9*usual + took) / 10
		n.count(t, path, theirs, err)
	}
	return n
}

// met: each of the two came first at least once.
func (n *tally) met() bool { return n.refused+n.busy > 0 && n.ours > 0 }

func (n *tally) count(t *testing.T, path, theirs string, err error) {
	var kept *workspace.KeptError
	switch {
	case errors.As(err, &kept):
		n.ours++
	case errors.Is(err, workspace.ErrBusy):
		n.busy++
	case errors.Is(err, workspace.ErrStale):
		n.refused++
	case err != nil:
		t.Fatal(err)
	default:
		n.ours++
	}
	have, readErr := os.ReadFile(path)
	must(t, readErr)
	if string(have) == theirs {
		return
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".orchestration/state/tmp/*.kept")); len(found) > 0 {
		for _, f := range found {
			if b, _ := os.ReadFile(f); string(b) == theirs {
				n.kept++
				return
			}
		}
	}
	n.lost++
	if n.lost <= 3 {
		t.Logf("round %d: %q instead of %q after: %v", n.rounds, have, theirs, err)
	}
}
