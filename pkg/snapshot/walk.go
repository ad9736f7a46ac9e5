package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
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
	c := comparison{worker: l, task: t, at: at, old: t.node.entries, same: true}
	if t.node.due || !l.partly {
		c.compare()
	}
	return c.below()
}

// comparison holds what a directory has against what is kept of it.
type comparison struct {
	*worker
	task
	at  *handle
	old []entry
	// same: so far, the names are the kept ones in their order; n of them.
	same bool
	n    int
	// fresh are the entries, and rest the kept ones that were not met, once something differs.
	fresh []entry
	rest  map[string]int
}

// compare holds the directory against what is kept of it, which it brings up to date.
func (c *comparison) compare() {
	n := c.task.node
	c.keeper.notices.watch(c.at, n)
	n.problem, n.stirred, n.blind = "", false, false
	err := c.at.names(c.buf, c.name)
	c.end()
	n.listed = c.began
	if !c.same {
		n.entries = c.fresh
	}
	for i := range n.entries {
		n.blind = n.blind || n.entries[i].blind()
	}
	if err != nil {
		c.gap(c.path, reason(err))
		n.blind = true
	}
}

// differ is called at the first name that is out of order.
func (c *comparison) differ() {
	c.same = false
	c.fresh = append(make([]entry, 0, len(c.old)+1), c.old[:c.n]...)
	c.rest = make(map[string]int, len(c.old)-c.n)
	for i, e := range c.old[c.n:] {
		c.rest[e.name] = c.n + i
	}
}

// name is called for each name of the directory.
func (c *comparison) name(found []byte) {
	name, next := "", c.same && c.n < len(c.old) && c.old[c.n].name == string(found)
	if next {
		name = c.old[c.n].name // most names are: none is copied
	} else {
		name = string(found)
	}
	below, included := c.area.enter(name)
	if !included || c.keeper.temporary(c.path, name) {
		return
	}
	if c.same && !next {
		c.differ()
	}
	if c.same {
		if c.known(&c.old[c.n], below) {
			c.n++
			return
		}
		c.differ() // it went away while we looked: it stays among the rest
		return
	}
	if i, ok := c.rest[name]; ok {
		e := c.old[i]
		if c.known(&e, below) {
			c.fresh = append(c.fresh, e)
			delete(c.rest, e.name)
		}
		return
	}
	c.added(name, below)
}

// added is a name that was not there.
func (c *comparison) added(name string, below area) {
	if c.count.Add(1) > maxEntries {
		c.gap(c.path, fmt.Sprintf("there are more than %d files", maxEntries))
		return
	}
	e := entry{name: name}
	if err := c.at.lstat(name, &e.stat); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.gap(join(c.path, name), reason(err))
		}
		return
	}
	c.open(name, &e.stat)
	c.aliases(&stat{}, &e.stat)
	content := c.read(&e, nil)
	if e.stat.kind() == Directory {
		e.dir = newNode()
	}
	c.fresh = append(c.fresh, e)
	c.report(delta{path: join(c.path, name), after: &version{stat: e.stat, digest: e.content, bytes: content}})
}

// known brings a kept entry up to date; false if it is not there any more.
func (c *comparison) known(e *entry, below area) bool {
	var now stat
	if err := c.at.lstat(e.name, &now); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		c.gap(join(c.path, e.name), reason(err))
		return true
	}
	c.count.Add(1)
	if now == e.stat && !c.doubtful(e) {
		if e.content == nil && e.stat.kind() != Directory {
			c.read(e, nil)
		}
		return true
	}
	was := *e
	if was.stat.kind() != Directory || was.stat.listable() {
		c.open(e.name, &now)
	}
	c.aliases(&was.stat, &now)
	e.stat, e.content = now, nil
	if was.stat.kind() == Directory && now.kind() == Directory {
		if !was.stat.sameRights(&now) || was.stat.touched(&now) {
			c.report(delta{path: join(c.path, e.name), before: was.version(), after: e.version()})
		}
		if !was.stat.sameInode(&now) {
			e.dir.watch, e.dir.due = 0, true // another directory has its name now
		}
		return true
	}
	content := c.read(e, was.content)
	if now == was.stat && e.content == nil {
		e.content = was.content // the budget did not let us look again
		return true
	}
	e.dir = nil
	if now.kind() == Directory {
		e.dir = newNode()
	}
	d := delta{join(c.path, e.name), was.version(), &version{stat: e.stat, digest: e.content, bytes: content}}
	if now != was.stat || d.real() {
		c.report(d)
	}
	was.dir.gone(d.path, c.report)
	return true
}

// open lets a directory be looked into that its user may not, if it is to be.
func (c *comparison) open(name string, st *stat) {
	if c.opens && st.kind() == Directory && !st.listable() && c.at.allow(name, st) == nil {
		_ = c.at.lstat(name, st) // else the look into it says why it could not be
	}
}

// aliases notes that a file has names of which nothing was known.
func (c *comparison) aliases(was, now *stat) {
	if now.kind() == File && now.links > 1 && (was.links < now.links || !was.sameInode(now)) {
		c.linked.Store(true)
	}
}

// doubtful: a change after the last look could have left the entry's time of change as it was.
func (c *comparison) doubtful(e *entry) bool {
	if e.stat.kind() != File {
		return false
	}
	if e.content != nil && e.content.open {
		return true
	}
	changed := e.stat.changed()
	since := c.task.node.listed.Add(-grain)
	if changed%int64(time.Second) == 0 {
		since = c.task.node.listed.Add(-coarse)
	}
	return changed >= since.UnixNano()
}

// read notes an entry's content, as far as the budget lets, and returns the bytes if they may be held. before is what was known of it.
func (c *comparison) read(e *entry, before *digest) []byte {
	secret := c.keeper.secrets.has(join(c.path, e.name))
	d, content, err := c.content(c.at, e.name, &e.stat, secret)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.gap(join(c.path, e.name), reason(err))
	}
	if err == nil && d == nil && before != nil && before.open {
		c.gap(join(c.path, e.name), "a command may have written it unseen, and it is too much to be read again")
	}
	if d != nil {
		d.secret = secret
	}
	e.content = d
	if d != nil && e.stat.kind() == File && !d.same(before) {
		c.keep.seen(join(c.path, e.name), d, content)
	}
	return content
}

// end reports what is not there any more.
func (c *comparison) end() {
	if c.same && c.n < len(c.old) {
		c.differ()
	}
	for _, i := range c.rest {
		e := &c.old[i]
		path := join(c.path, e.name)
		c.report(delta{path: path, before: e.version()})
		e.dir.gone(path, c.report)
	}
}

// below has the directories of this one looked into but for the last, by whoever comes to it first.
func (c *comparison) below() (last *task) {
	for i := range c.task.node.entries {
		e := &c.task.node.entries[i]
		if e.dir == nil {
			if e.stat.links > 1 && e.stat.kind() == File {
				c.link(c.path, e)
			}
			continue
		}
		if c.partly && !e.dir.due && !e.dir.below {
			continue
		}
		path := join(c.path, e.name)
		if workspace.TooDeep(path) {
			c.gap(path[:200]+"…", fmt.Sprintf("it is more than %d directories deep, or its path is longer than %d bytes", workspace.MaxDepth, workspace.MaxPath))
			continue
		}
		below, _ := c.area.enter(e.name)
		c.hand(last)
		last = &task{parent: c.at.hold(), name: e.name, path: path, node: e.dir, area: below}
	}
	return last
}

// hand has a directory looked into by whoever is done first, or here where enough of them wait.
func (c *comparison) hand(t *task) {
	if t == nil {
		return
	}
	c.pending.Add(1)
	select {
	case c.work <- *t:
	default:
		c.directory(*t)
		c.pending.Done()
	}
}
