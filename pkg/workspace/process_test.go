package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// roleVariable makes the test binary another program: see TestMain.
const roleVariable = "WORKSPACE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "rename", "truncate":
		os.Exit(foreignWriter(role))
	case "count":
		os.Exit(countUp())
	case "modify":
		os.Exit(modifyOnce())
	default:
		fmt.Fprintln(os.Stderr, "unknown role", role)
		os.Exit(2)
	}
}

// foreignWriter is an editor that knows nothing of locks: for each line "nanoseconds path content" it waits, says
// that it begins, writes, and says that it is done.
func foreignWriter(style string) int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var delay int64
		var path, content string
		if _, err := fmt.Sscan(in.Text(), &delay, &path, &content); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for start := time.Now(); time.Since(start) < time.Duration(delay); {
		}
		fmt.Println("begin")
		if err := foreignWrite(style, path, content); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("done")
	}
	return 0
}

func foreignWrite(style, path, content string) error {
	if style == "truncate" {
		return os.WriteFile(path, []byte(content), 0o644)
	}
	beside := path + ".editor"
	if err := os.WriteFile(beside, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

func startRole(t testing.TB, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

// naiveWrite is temp file, fsync, rename, directory fsync, by the book and nothing else.
func naiveWrite(path string, content []byte) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

const perCounter = 60

// countUp adds 1 to the number in the file again and again, as an agent would: read, write, and start again if stale.
func countUp() int {
	w, err := workspace.Open(os.Args[1], workspace.WithDurability(workspace.OS))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for range perCounter {
		if err := addOne(w); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func addOne(w *workspace.Workspace) error {
	for {
		target, err := w.Resolve("counter")
		if err != nil {
			return err
		}
		c, err := target.Read(100)
		if err != nil {
			return err
		}
		var n int
		if _, err := fmt.Sscan(string(c.Bytes), &n); err != nil {
			return fmt.Errorf("%q: %w", c.Bytes, err)
		}
		p, err := w.Prepare(context.Background(), []workspace.Change{{Op: change.Modified, Target: target, Before: c.Hash, After: fmt.Append(nil, n+1)}})
		if err == nil {
			var s *workspace.Committed
			if s, err = p.Commit(context.Background()); err == nil {
				return errors.Join(s.Close(), target.Close())
			}
		}
		target.Close()
		if !errors.Is(err, workspace.ErrStale) {
			return err
		}
	}
}

// TestCounter: three processes of ours, and two goroutines in this one, lose no increment.
func TestCounter(t *testing.T) {
	w := open(t, map[string]string{"counter": "0", ".orchestration/active_intents.yaml": ""}, workspace.WithDurability(workspace.OS))
	const processes, goroutines = 2, 2
	finished := make(chan error)
	for range processes {
		cmd := startRole(t, "count", w.Dir())
		must(t, cmd.Start())
		go func() { finished <- cmd.Wait() }()
	}
	for range goroutines {
		go func() {
			for range perCounter {
				if err := addOne(w); err != nil {
					finished <- err
					return
				}
			}
			finished <- nil
		}()
	}
	for range processes + goroutines {
		must(t, <-finished)
	}
	b, err := os.ReadFile(filepath.Join(w.Dir(), "counter"))
	must(t, err)
	want := fmt.Sprint((processes + goroutines) * perCounter)
	check.That(t, strings.TrimSpace(string(b)) == want, "counted to %s, want %s", b, want)
}

// modifyOnce replaces "old" by "new" and says what came of it.
func modifyOnce() int {
	err := func() error {
		w, err := workspace.Open(os.Args[1])
		if err != nil {
			return err
		}
		target, err := w.Resolve(os.Args[2])
		if err != nil {
			return err
		}
		p, err := w.Prepare(context.Background(), []workspace.Change{{Op: change.Modified, Target: target, Before: workspace.HashOf([]byte("old")), After: []byte("new")}})
		if err != nil {
			return err
		}
		s, err := p.Commit(context.Background())
		if err != nil {
			return err
		}
		fmt.Printf("committed %v\n", s.Files())
		return s.Close()
	}()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
