package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

const (
	workers    = 2
	maxEntries = 1_000_000
	maxGaps    = 50
	// listing is the buffer for the kernel's directory entries, in bytes.
	listing = 32 << 10
	// grain is more than the distance of two times that a file system notes for changes. Where it notes whole seconds, coarse is.
	grain   = 20 * time.Millisecond
	coarse  = 2 * time.Second
	waiting = 64 // directories: no worker is without one while another is in a large one; each may hold open the one it is in
)

// Gap is a part of the tree that was not looked into.
type Gap struct{ Path, Reason string }

func (g Gap) String() string {
	if g.Path == "" {
		return g.Reason
	}
	return fmt.Sprintf("%s: %s", g.Path, g.Reason)
}

// walk is one look at the whole tree, which brings the kept state up to date in place.
type walk struct {
	keeper *Keeper
	keep   *keeping
	began  time.Time
	// opens: a command runs, so a directory that was closed to its own user since the last look is opened again: nobody
	// could tell what is in it.
	opens bool
	// unseen is the time of change from which on a file may be written without a new one.
	unseen int64
	// partly has only what the kernel's notices told of looked into, until it turns out that this is not enough.
	partly bool
	// linked: a file has several names that had one. What is known of the others may be out of date.
	linked atomic.Bool
	// left is how many bytes may still be read, and hold how many of contents may still be held in memory.
	left, hold atomic.Int64

	count atomic.Int64
	// work has directories for whoever is done with one; pending are those that are not done.
	work    chan task
	pending sync.WaitGroup

	mu     sync.Mutex
	deltas []delta // what differs from the kept state
	links  *Links
	gaps   []Gap
}

// run walks.
func (w *walk) run(root *node) error {
	err := w.once(root)
	if err == nil && w.partly && w.linked.Load() {
		w.partly = false
		err = w.once(root)
	}
	return err
}

func (w *walk) once(root *node) error {
	at, err := openTop(w.keeper.options.Root)
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	w.count.Store(0)
	w.links = &Links{}
	w.work = make(chan task, waiting)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			l := &worker{walk: w, buf: make([]byte, listing)}
			for t := range w.work {
				l.directory(t)
				w.pending.Done()
			}
		})
	}
	w.pending.Add(1)
	w.work <- task{parent: at, node: root, area: top}
	w.pending.Wait()
	close(w.work)
	all.Wait()
	return nil
}

func (w *walk) report(d delta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deltas = append(w.deltas, d)
}

func (w *walk) gap(path, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.gaps) < maxGaps {
		w.gaps = append(w.gaps, Gap{path, reason})
	}
}

// worker does tasks one after the other.
type worker struct {
	*walk
	buf, copying []byte
	fresh        writer
}

// directory looks into one, and goes on in the last that is in it: what is nothing but deep holds two descriptors.
func (l *worker) directory(t task) {
	for next := &t; next != nil; {
		next = l.enter(*next)
	}
}

// enter compares a directory with what is kept, and gives the last one in it that is to be looked into.
func (l *worker) enter(t task) (last *task) {
	at := t.parent
	if t.name != "" {
		opened, err := t.parent.openDir(t.name)
		t.parent.release()
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // else it went away while we looked; the next walk says so
				t.node.problem = reason(err)
				l.gap(t.path, t.node.problem) // what is known of it stays, as far as anybody can tell
			}
			return nil
		}
		at = opened
	}
	defer at.release()
	c := comparison{worker: l, task: t, at: at}
	if t.node.due || !l.partly {
		c.compare()
	}
	return c.below()
}
