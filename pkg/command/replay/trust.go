package replay

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	err = t.open(ctx, func(m *memory) error {
		left = m.Left
		return nil
	})
	return left, err
}

// Running is a command with git that runs.
type Running struct {
	trust *Trust
	name  string
	lock  *os.File
}

// Trusted are the commits that people put on refs, now being those that stand there. Nothing of a command's runs between.
func (t *Trust) Trusted(ctx context.Context, now []string) (trusted []string, err error) {
	err = t.open(ctx, func(m *memory) error {
		err := m.look(now)
		trusted = m.Trusted
		return err
	})
	return trusted, err
}

// Begin is Trusted for a command that is about to run. Its end is End's to say.
func (t *Trust) Begin(ctx context.Context, now []string) (running *Running, trusted []string, err error) {
	err = t.open(ctx, func(m *memory) error {
		if err := m.look(now); err != nil {
			return err
		}
		trusted, running = m.Trusted, &Running{trust: t, name: runPrefix + rand.Text()}
		running.lock, err = m.dir.Claim(running.name)
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
	return r.trust.open(ctx, func(m *memory) error {
		m.Known = now
		if len(left) > 0 {
			m.Left = left
		}
		m.add(explained)
		if err := m.save(); err != nil {
			return err
		}
		return m.dir.Remove(r.name) // the last: without the file what is new on refs is a person's
	})
}

// memory is what is remembered, open for one at a time.
type memory struct {
	tips
	dir *durable.Dir
	was []byte // nil: there was nothing yet
}

// look takes what is new on refs for a person's, unless a command ran, and forgets the oldest of those that stand on no ref any more.
func (m *memory) look(now []string) error {
	ran, err := commandsRan(m.dir)
	if err != nil {
		return err
	}
	known, standing, gone := setOf(m.Known), setOf(now), 0
	m.add(slices.DeleteFunc(slices.Clone(now), func(id string) bool { return m.was != nil && (ran || known[id]) }))
	m.Known = now
	for _, id := range m.Trusted {
		if !standing[id] {
			gone++
		}
	}
	m.Trusted = slices.DeleteFunc(m.Trusted, func(id string) bool {
		if standing[id] {
			return false
		}
		gone--
		return gone >= maxTrusted
	})
	return m.save()
}

// add trusts commits.
func (m *memory) add(ids []string) {
	trusted := setOf(m.Trusted)
	for _, id := range ids {
		if !trusted[id] {
			trusted[id] = true
			m.Trusted = append(m.Trusted, id)
		}
	}
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// commandsRan reports whether one runs or was killed, and clears up behind those that were.
func commandsRan(dir *durable.Dir) (ran bool, err error) {
	entries, err := dir.ReadDir()
	for _, e := range entries {
		if err == nil && strings.HasPrefix(e.Name(), runPrefix) {
			ran = true
			err = dir.IfFree(e.Name(), func() error { return dir.Remove(e.Name()) })
		}
	}
	return ran, err
}

// open lets f have what is remembered, alone.
func (t *Trust) open(ctx context.Context, f func(m *memory) error) error {
	dir, err := t.Open()
	if err != nil {
		return fmt.Errorf("remember the commits of people: %w", err)
	}
	defer dir.Close()
	lock, err := dir.OpenLock(tipsLock)
	for got := false; err == nil && !got; {
		if got, err = durable.TryLock(lock); err == nil && !got {
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(lockPause):
			}
		}
	}
	if lock != nil {
		defer lock.Close()
	}
	if err != nil {
		return fmt.Errorf("remember the commits of people: %w", err)
	}
	defer durable.Unlock(lock)
	m := &memory{dir: dir}
	if err := m.read(); err != nil {
		return err
	}
	return f(m)
}

func (m *memory) read() error {
	file, err := m.dir.Open(tipsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if m.was, err = io.ReadAll(io.LimitReader(file, maxTips)); err == nil {
		err = json.Unmarshal(m.was, &m.tips)
	}
	if err != nil {
		return fmt.Errorf("read .orchestration/state/git/%s: %w; remove it once the branches were looked at: what stands on them then counts as people's", tipsFile, err)
	}
	return nil
}

func (m *memory) save() error {
	text, err := json.Marshal(m.tips)
	if err != nil || bytes.Equal(text, m.was) {
		return err
	}
	temporary := "tmp-" + rand.Text()
	file, err := m.dir.Create(temporary, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = m.dir.Replace(temporary, m.dir, tipsFile)
	}
	if err != nil {
		return errors.Join(err, m.dir.Remove(temporary))
	}
	return nil
}
