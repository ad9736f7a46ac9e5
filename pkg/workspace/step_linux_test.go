//go:build linux && !portable

package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var initialised = map[string]string{"f": "old", ".orchestration/active_intents.yaml": ""}

func modify(t testing.TB, w *workspace.Workspace) workspace.Change {
	return workspace.Change{Op: change.Modified, Target: resolve(t, w, "f"), Before: hashOf("old"), After: []byte("ours")}
}

// rename is an editor that saves by renaming.
func rename(t testing.TB, path, content string) { must(t, foreignWrite("rename", path, content)) }

// TestForeignRenameBetweenTheSwaps lets an editor save at each moment between two of our system calls.
func TestForeignRenameBetweenTheSwaps(t *testing.T) {
	for _, c := range []struct {
		name  string
		saves []string // before the first exchange, before the one that takes it back, ...
		kept  []string
	}{
		{"once", []string{"first"}, nil},
		{"twice", []string{"first", "second"}, []string{"first"}},
		{"four times", []string{"first", "second", "third", "fourth"}, []string{"third"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var path string
			saves := c.saves
			w := open(t, initialised, workspace.BeforeSwap(func() {
				if len(saves) > 0 {
					rename(t, path, saves[0])
					saves = saves[1:]
				}
			}))
			path = filepath.Join(w.Dir(), "f")
			_, err := commit(t, w, modify(t, w))
			last := c.saves[len(c.saves)-1]
			var stale *workspace.StaleError
			check.That(t, errors.As(err, &stale) && string(stale.Content) == last, "got %v, %+v", err, stale)
			var kept []string
			for name, content := range tree(t, w.Dir()) {
				if strings.HasSuffix(name, ".kept") {
					kept = append(kept, content)
				} else if strings.HasSuffix(name, ".tmp") {
					t.Errorf("left over: %s", name)
				}
			}
			have, _ := os.ReadFile(path)
			check.That(t, string(have) == last && slices.Equal(kept, c.kept), "the path has %q, kept aside is %q", have, kept)
			var named *workspace.KeptError
			check.That(t, len(c.kept) == 0 || errors.As(err, &named), "the error does not say what was kept: %v", err)
		})
	}
}

func TestForeignRenameWithoutEnd(t *testing.T) {
	var path string
	n := 0
	w := open(t, initialised, workspace.BeforeSwap(func() {
		n++
		rename(t, path, strings.Repeat("x", n))
	}))
	path = filepath.Join(w.Dir(), "f")
	if _, err := commit(t, w, modify(t, w)); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("got %v", err)
	}
	have, err := os.ReadFile(path)
	must(t, err)
	last := false // the last save must be at the path or kept aside
	for name, content := range tree(t, w.Dir()) {
		last = last || len(content) == n && (name == "f" || strings.HasSuffix(name, ".kept"))
	}
	check.That(t, last, "the last of %d saves is lost; the path has %d", n, len(have))
}

// TestForeignRemovalBetweenTheSwaps: what was taken out goes back even if the path is gone by then.
func TestForeignRemovalBetweenTheSwaps(t *testing.T) {
	var path string
	round := 0
	w := open(t, initialised, workspace.BeforeSwap(func() {
		if round++; round == 1 {
			rename(t, path, "theirs")
		} else {
			must(t, os.Remove(path))
		}
	}))
	path = filepath.Join(w.Dir(), "f")
	_, err := commit(t, w, modify(t, w))
	check.That(t, errors.Is(err, workspace.ErrStale), "got %v", err)
	wantTree(t, w.Dir(), map[string]string{"f": "theirs", ".orchestration/active_intents.yaml": ""})
}

func TestFileGoneBeforeCommit(t *testing.T) {
	for name, op := range map[string]change.Op{"modify": change.Modified, "delete": change.Deleted} {
		t.Run(name, func(t *testing.T) {
			w := open(t, initialised)
			c := modify(t, w)
			c.Op = op
			p, err := w.Prepare(context.Background(), []workspace.Change{c})
			must(t, err)
			must(t, os.Remove(filepath.Join(w.Dir(), "f")))
			var stale *workspace.StaleError
			if _, err := p.Commit(context.Background()); !errors.As(err, &stale) || stale.Have != "" {
				t.Errorf("got %v", err)
			}
			wantTree(t, w.Dir(), map[string]string{".orchestration/active_intents.yaml": ""})
		})
	}
}

// TestDeleteMeetsForeignRename: the file that is deleted is not the one that was checked.
func TestDeleteAndMoveMeetForeignRename(t *testing.T) {
	for _, op := range []change.Op{change.Deleted, change.Moved} {
		w := open(t, initialised)
		c := workspace.Change{Op: op, Target: resolve(t, w, "f"), To: resolve(t, w, "x/to"), Before: hashOf("old")}
		p, err := w.Prepare(context.Background(), []workspace.Change{c})
		must(t, err)
		rename(t, filepath.Join(w.Dir(), "f"), "theirs")
		var stale *workspace.StaleError
		if _, err := p.Commit(context.Background()); !errors.As(err, &stale) || string(stale.Content) != "theirs" {
			t.Errorf("%v: got %v", op, err)
		}
		wantTree(t, w.Dir(), map[string]string{"f": "theirs", ".orchestration/active_intents.yaml": ""})
	}
}

func TestFileOpenForWriting(t *testing.T) {
	w := open(t, initialised, workspace.WithPatience(time.Second, 100*time.Millisecond))
	f, err := os.OpenFile(filepath.Join(w.Dir(), "f"), os.O_WRONLY, 0)
	must(t, err)
	if _, err := commit(t, w, modify(t, w)); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("got %v", err)
	}
	wantTree(t, w.Dir(), initialised)
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	done(t, w, modify(t, w))
}

// TestWriterMeetsOurLease: a program that opens the file while we hold it waits until we are done, and then has the
// new file or, if it had found the old one, makes us give way. The signal of the lease harms nobody.
func TestWriterMeetsOurLease(t *testing.T) {
	w := open(t, initialised)
	p, err := w.Prepare(context.Background(), []workspace.Change{modify(t, w)})
	must(t, err)
	e := startEditor(t, "truncate")
	e.write(0, filepath.Join(w.Dir(), "f"), "theirs")
	e.begun()
	var stale *workspace.StaleError
	if _, err := p.Commit(context.Background()); !errors.As(err, &stale) || string(stale.Content) != "theirs" {
		t.Errorf("got %v", err)
	}
	e.wait()
	wantTree(t, w.Dir(), map[string]string{"f": "theirs", ".orchestration/active_intents.yaml": ""})
}

// TestLateWriter writes into the displaced inode after Commit, as a program would that had looked the path up before.
func TestLateWriter(t *testing.T) {
	w := open(t, initialised)
	f := filepath.Join(w.Dir(), "f")
	must(t, os.Link(f, filepath.Join(w.Dir(), "same"))) // stands for the lookup
	s, err := commit(t, w, modify(t, w))
	must(t, err)
	warnings := strings.Join(s.Files()[0].Warnings, "")
	check.That(t, strings.Contains(warnings, "hard links"), "warnings: %q", warnings)
	e := startEditor(t, "truncate")
	e.write(0, filepath.Join(w.Dir(), "same"), "theirs")
	e.begun()
	var kept *workspace.KeptError
	if err := s.Close(); !errors.As(err, &kept) {
		t.Fatalf("got %v", err)
	}
	e.wait()
	b, err := os.ReadFile(filepath.Join(w.Dir(), kept.Kept))
	must(t, err)
	check.That(t, string(b) == "theirs" && kept.Path == "f", "%+v has %q", kept, b)
	if b, _ := os.ReadFile(f); string(b) != "ours" {
		t.Errorf("the path has %q", b)
	}
}

func TestRollbackLeavesForeignContent(t *testing.T) {
	for _, style := range []string{"rename", "truncate"} {
		t.Run(style, func(t *testing.T) {
			w := open(t, map[string]string{"f": "old", "g": "1", ".orchestration/active_intents.yaml": ""})
			s, err := commit(t, w, modify(t, w), workspace.Change{Op: change.Modified, Target: resolve(t, w, "g"), Before: hashOf("1"), After: []byte("2")})
			must(t, err)
			e := startEditor(t, style)
			e.write(0, filepath.Join(w.Dir(), "f"), "theirs")
			e.begun()
			var failed *workspace.RollbackError
			if err := s.Rollback(context.Background()); !errors.As(err, &failed) || !slices.Equal(failed.Paths, []string{"f"}) {
				t.Errorf("got %v", err)
			}
			must(t, s.Close())
			e.wait()
			files := tree(t, w.Dir())
			check.That(t, files["f"] == "theirs" && files["g"] == "1", "%q", files)
			if err := s.Rollback(context.Background()); err == nil {
				t.Error("taken back twice")
			}
		})
	}
}

func TestLocks(t *testing.T) {
	w := open(t, initialised, workspace.WithPatience(100*time.Millisecond, time.Second))
	other := openAt(t, w.Dir(), workspace.WithPatience(100*time.Millisecond, time.Second)) // stands for another process
	s, err := commit(t, w, modify(t, w))
	must(t, err)
	again := func(w *workspace.Workspace) error {
		_, err := commit(t, w, workspace.Change{Op: change.Modified, Target: resolve(t, w, "f"), Before: hashOf("ours"), After: []byte("again")})
		return err
	}
	if err := again(w); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("same process: %v", err)
	}
	if err := again(other); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("other process: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := w.Prepare(ctx, []workspace.Change{modify(t, w)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	must(t, s.Close())
	p, err := other.Prepare(context.Background(), []workspace.Change{{Op: change.Deleted, Target: resolve(t, other, "f"), Before: hashOf("ours")}})
	must(t, err)
	must(t, p.Discard())
	must(t, p.Discard())
	wantTree(t, w.Dir(), map[string]string{"f": "ours", ".orchestration/active_intents.yaml": ""})
}

// TestForkDoesNotDisturb: a child between fork and exec has copies of our descriptors; neither locks nor leases may
// fail for good because of it.
func TestForkDoesNotDisturb(t *testing.T) {
	w := open(t, initialised, workspace.WithDurability(workspace.OS))
	stop := make(chan struct{})
	forked := make(chan struct{})
	go func() {
		defer close(forked)
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("/bin/true").Run()
			}
		}
	}()
	content := "old"
	for i := range 100 {
		next := strings.Repeat("x", i)
		done(t, w, workspace.Change{Op: change.Modified, Target: resolve(t, w, "f"), Before: hashOf(content), After: []byte(next)})
		content = next
	}
	close(stop)
	<-forked
}
