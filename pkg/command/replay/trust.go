package replay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Trust remembers which commits people put on the refs of a repository: those that stood there before the first command
// with git, and those that came when no such command ran. What came while one ran, or was killed, is a person's only if
// a [Judge] explains it. So an agent gains nothing by a new session.
//
// The file tips.json has {"trusted": […], "known": […]}: the names of commits. A
// command that runs has a file of its own beside it, with a lock that dies with it.
type Trust struct {
	// Open opens the directory; commands must not reach it.
	Open func() (*durable.Dir, error)
}

type tips struct {
	Trusted []string `json:"trusted"`
	// Known are the tips when it was looked last.
	Known []string `json:"known"`
	// Left are the blobs that git left uncommitted, by path.
	Left map[string]string `json:"left,omitempty"`
}

const (
	tipsFile   = "tips.json"
	tipsLock   = "lock"
	runPrefix  = "run-"
	maxTips    = 64 << 20
	lockPause  = 2 * time.Millisecond
	maxTrusted = 500 // beyond those that stand on refs
)

// Left are the blobs that git left uncommitted out of scope (merge --squash), by path: nobody wrote them by hand.
func (t *Trust) Left(ctx context.Context) (left map[string]string, err error) {
	err = t.locked(ctx, func(dir *durable.Dir) error {
		now, _, err := read(dir)
		left = now.Left
		return err
	})
	return left, err
}

// Running is a command with git that runs.
type Running struct {
	trust *Trust
	name  string
	lock  *os.File
}

// Trusted are the commits that people put on refs, now being those that stand
// there. Nothing of a command's runs between.
func (t *Trust) Trusted(ctx context.Context, now []string) (trusted []string, err error) {
	err = t.locked(ctx, func(dir *durable.Dir) error {
		trusted, err = look(dir, now)
		return err
	})
	return trusted, err
}

// Begin is Trusted for a command that is about to run. Its end is End's to say.
func (t *Trust) Begin(ctx context.Context, now []string) (running *Running, trusted []string, err error) {
	err = t.locked(ctx, func(dir *durable.Dir) error {
		if trusted, err = look(dir, now); err != nil {
			return err
		}
		running = &Running{trust: t, name: runPrefix + rand.Text()}
		running.lock, err = newLock(dir, running.name)
		return err
	})
	return running, trusted, err
}

// End notes that the command has ended, now being the tips, explained those of them that are as good as a person's, and
// left what git left uncommitted. Where it is not called, or fails, what came since Begin is nobody's.
func (r *Running) End(ctx context.Context, now, explained []string, left map[string]string) error {
	if r == nil {
		return nil
	}
	defer r.lock.Close()
	return r.trust.locked(ctx, func(dir *durable.Dir) error {
		was, _, err := read(dir)
		if err != nil {
			return err
		}
		is := tips{Trusted: slices.Clone(was.Trusted), Known: now, Left: was.Left}
		if len(left) > 0 {
			is.Left = left
		}
		for _, id := range explained {
			if !slices.Contains(is.Trusted, id) {
				is.Trusted = append(is.Trusted, id)
			}
		}
		if err := write(dir, is, was); err != nil {
			return err
		}
		return dir.Remove(r.name)
	})
}

// look takes what is new on refs for a person's, unless a command ran.
func look(dir *durable.Dir, now []string) ([]string, error) {
	was, first, err := read(dir)
	if err != nil {
		return nil, err
	}
	ran, err := commandsRan(dir)
	if err != nil {
		return nil, err
	}
	is := tips{Trusted: slices.Clone(was.Trusted), Known: now, Left: was.Left}
	known := setOf(was.Known)
	trusted := setOf(was.Trusted)
	for _, id := range now {
		if (first || !ran && !known[id]) && !trusted[id] {
			trusted[id] = true
			is.Trusted = append(is.Trusted, id)
		}
	}
	is.prune(now)
	return is.Trusted, write(dir, is, was)
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// prune forgets the oldest of those that stand on no ref any more.
func (t *tips) prune(now []string) {
	standing := setOf(now)
	gone := 0
	for _, id := range t.Trusted {
		if !standing[id] {
			gone++
		}
	}
	t.Trusted = slices.DeleteFunc(t.Trusted, func(id string) bool {
		if gone <= maxTrusted || standing[id] {
			return false
		}
		gone--
		return true
	})
}

// commandsRan reports whether one runs or was killed, and clears up behind those that were.
func commandsRan(dir *durable.Dir) (ran bool, err error) {
	entries, err := dir.ReadDir()
	if err != nil {
		return true, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), runPrefix) {
			continue
		}
		ran = true
		if err := ifFree(dir, e.Name(), func() error { return dir.Remove(e.Name()) }); err != nil {
			return true, err
		}
	}
	return ran, nil
}

// newLock makes a file and locks it.
func newLock(dir *durable.Dir, name string) (*os.File, error) {
	file, err := dir.OpenLock(name)
	if err != nil {
		return nil, err
	}
	if got, err := durable.TryLock(file); err != nil || !got {
		return nil, errors.Join(err, errors.New("a new file is locked"), file.Close())
	}
	return file, nil
}

// ifFree does something while it holds a lock, if nobody else does.
func ifFree(dir *durable.Dir, name string, do func() error) error {
	file, err := dir.OpenLock(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if free, err := durable.TryLock(file); err != nil || !free {
		return err
	}
	return do()
}

// locked runs f alone.
func (t *Trust) locked(ctx context.Context, f func(dir *durable.Dir) error) error {
	dir, err := t.Open()
	if err != nil {
		return fmt.Errorf("remember the commits of people: %w", err)
	}
	defer dir.Close()
	lock, err := dir.OpenLock(tipsLock)
	if err != nil {
		return fmt.Errorf("remember the commits of people: %w", err)
	}
	defer lock.Close()
	for {
		got, err := durable.TryLock(lock)
		if err != nil {
			return fmt.Errorf("remember the commits of people: %w", err)
		}
		if got {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
	defer durable.Unlock(lock)
	return f(dir)
}

func read(dir *durable.Dir) (t tips, first bool, err error) {
	file, err := dir.Open(tipsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return tips{}, true, nil
	}
	if err != nil {
		return tips{}, false, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTips))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return tips{}, false, fmt.Errorf("read .orchestration/state/git/%s: %w; remove it once the branches were looked at: what stands on them then counts as people's", tipsFile, err)
	}
	return t, false, nil
}

func write(dir *durable.Dir, t, was tips) error {
	if slices.Equal(t.Trusted, was.Trusted) && slices.Equal(t.Known, was.Known) && maps.Equal(t.Left, was.Left) && len(was.Known) > 0 {
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	temporary := "tmp-" + rand.Text()
	file, err := dir.Create(temporary, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = dir.Replace(temporary, dir, tipsFile)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temporary))
	}
	return nil
}
