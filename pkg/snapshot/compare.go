package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// comparison holds what a directory has against what is kept of it.
type comparison struct {
	*worker
	task
	at *handle
	// old has the kept entries that come next, and next the first of them, as long as the names are those in their order;
	// before is where it began.
	old, before reader
	next        entry
	more        bool
	// differs: the worker's fresh gets the entries, as they are not what is kept any more.
	differs bool
	// rest are the kept entries that were not met, by their names, once the order is another.
	rest map[string]entry
}

// compare holds the directory against what is kept of it, which it brings up to date.
func (c *comparison) compare() {
	n := c.task.node
	c.keeper.notices.watch(c.at, n)
	n.problem, n.stirred, n.blind = "", false, false
	c.old = n.reader()
	c.advance()
	err := c.at.names(c.buf, c.name)
	c.end()
	n.listed = c.began.UnixNano()
	if c.differs {
		c.fresh.into(n)
	}
	if err != nil {
		c.gap(c.path, reason(err))
		n.blind = true
	}
}

// advance goes to the next kept entry.
func (c *comparison) advance() {
	c.before = c.old
	c.more = c.old.next(&c.next)
}

// differ has the entries written anew, those before the next one as they are.
func (c *comparison) differ() {
	if !c.differs {
		c.differs = true
		c.fresh.begin(c.task.node, &c.before)
	}
}

// shuffle is called at the first name that is out of order.
func (c *comparison) shuffle() {
	c.differ()
	c.rest = map[string]entry{}
	for ; c.more; c.advance() {
		c.rest[c.next.name] = c.next
	}
}

// name is called for each name of the directory.
func (c *comparison) name(found []byte) {
	name, ordered := "", c.more && c.next.name == string(found)
	if ordered {
		name = c.next.name // most names are: none is copied
	} else {
		name = string(found)
	}
	if _, included := c.area.enter(name); !included || c.keeper.temporary(c.path, name) {
		return
	}
	if !ordered && c.rest == nil {
		c.shuffle()
	}
	if ordered {
		e := c.next
		switch there, changed := c.known(&e); {
		case !there:
			c.shuffle() // it went away while we looked: it stays among the rest
			return
		case changed:
			c.differ()
		}
		c.put(&e)
		c.advance()
		return
	}
	e, known := c.rest[name]
	if !known {
		c.added(name)
	} else if there, _ := c.known(&e); there {
		delete(c.rest, name)
		c.put(&e)
	}
}

// put takes an entry into the directory.
func (c *comparison) put(e *entry) {
	c.task.node.blind = c.task.node.blind || e.blind()
	if c.differs {
		c.fresh.add(e)
	}
}

// added is a name that was not there.
func (c *comparison) added(name string) {
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
	after := c.read(&e, nil)
	if e.stat.kind() == Directory {
		e.dir = newNode(name)
	}
	c.put(&e)
	if c.keeper.walked {
		c.report(delta{path: join(c.path, name), after: after})
	}
}

// known brings a kept entry up to date, and reports whether it is there at all.
func (c *comparison) known(e *entry) (there, changed bool) {
	var now stat
	if err := c.at.lstat(e.name, &now); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, false
		}
		c.gap(join(c.path, e.name), reason(err))
		return true, false
	}
	c.count.Add(1)
	if now == e.stat && !c.doubtful(e) {
		if e.read == "" && e.stat.kind() != Directory {
			c.read(e, nil)
			return true, e.read != "" || e.stat != now
		}
		return true, false
	}
	before := e.version()
	if before.stat.kind() != Directory || before.stat.listable() {
		c.open(e.name, &now)
	}
	c.aliases(&before.stat, &now)
	was := e.read
	e.stat, e.read = now, ""
	if before.stat.kind() == Directory && now.kind() == Directory {
		if !before.stat.sameRights(&now) || before.stat.touched(&now) {
			c.report(delta{path: join(c.path, e.name), before: before, after: e.version()})
		}
		if !before.stat.sameInode(&now) {
			c.keeper.notices.forget(e.dir)
			e.dir.due = true // another directory has its name now
		}
		return true, true
	}
	after := c.read(e, before.digest)
	if now == before.stat && e.read == "" {
		e.read = was // the budget did not let us look again
		return true, false
	}
	gone := e.dir
	e.dir = nil
	if now.kind() == Directory {
		e.dir = newNode(e.name)
	}
	d := delta{join(c.path, e.name), before, after}
	if now != before.stat || d.real() {
		c.report(d)
	}
	c.gone(gone, d.path)
	return true, true
}

// gone tells of everything in a directory that is no more, and below it.
func (c *comparison) gone(n *node, at string) {
	if n == nil {
		return
	}
	c.keeper.notices.forget(n)
	var e entry
	for r := n.reader(); r.next(&e); {
		path := join(at, e.name)
		c.report(delta{path: path, before: e.version()})
		c.gone(e.dir, path)
	}
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
	if e.read.open() {
		return true
	}
	changed, since := e.stat.changed(), c.task.node.listed-int64(grain)
	if changed%int64(time.Second) == 0 {
		since = c.task.node.listed - int64(coarse)
	}
	return changed >= since
}

// read notes an entry's content, as far as the budget lets, and returns the entry with it and the bytes, if they may be held.
// before is what was known of the content.
func (c *comparison) read(e *entry, before *digest) *version {
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
	e.read = packDigest(d)
	if d != nil && e.stat.kind() == File && !d.same(before) {
		c.keep.seen(join(c.path, e.name), d, content)
	}
	return &version{stat: e.stat, digest: d, bytes: content}
}

// end reports what is not there any more.
func (c *comparison) end() {
	if c.more {
		c.shuffle()
	}
	for name, e := range c.rest {
		path := join(c.path, name)
		c.report(delta{path: path, before: e.version()})
		c.gone(e.dir, path)
	}
}

// below has the directories of this one looked into but for the last, by whoever comes to it first.
func (c *comparison) below() (last *task) {
	if c.task.node.blind {
		var e entry
		for r := c.task.node.reader(); r.next(&e); {
			if e.stat.links > 1 && e.stat.kind() == File {
				c.link(c.path, &e)
			}
		}
	}
	for _, dir := range c.task.node.dirs {
		if c.partly && !dir.due && !dir.below {
			continue
		}
		path := join(c.path, dir.name)
		if workspace.TooDeep(path) {
			c.gap(path[:200]+"…", fmt.Sprintf("it is more than %d directories deep, or its path is longer than %d bytes", workspace.MaxDepth, workspace.MaxPath))
			continue
		}
		below, _ := c.area.enter(dir.name)
		c.hand(last)
		last = &task{parent: c.at.hold(), name: dir.name, path: path, node: dir, area: below}
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
