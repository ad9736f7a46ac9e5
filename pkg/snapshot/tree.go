package snapshot

import "time"

// node is a directory of the kept state.
type node struct {
	entries []entry
	// problem is why it was not looked into, "" if it was.
	problem string
	// listed is when the walk began that the entries are from.
	listed time.Time

	// watch is the kernel's number for the notices of the directory, 0 if there are none. stirred: there was one since
	// the last look. blind: something in it can change without one.
	watch          int32
	stirred, blind bool
	// due: the directory has to be looked into; below: one below it has.
	due, below bool
}

// newNode is a directory that was not looked into yet.
func newNode() *node { return &node{due: true} }

// find works out where the notices leave something to look at.
func (n *node) find() bool {
	n.due = n.watch == 0 || n.stirred || n.blind || n.problem != ""
	n.below = false
	for i := range n.entries {
		if dir := n.entries[i].dir; dir != nil && dir.find() {
			n.below = true
		}
	}
	return n.due || n.below
}

// entry is one name of a directory.
type entry struct {
	name string
	stat stat
	// content is nil where it was not read, and for what has none.
	content *digest
	// dir is nil for what is no directory.
	dir *node
}

// blind: the entry can change without a notice of its directory, by another name of the file or an open one, or its content
// is not known.
func (e *entry) blind() bool {
	return e.stat.kind() == File && (e.stat.links > 1 || e.content == nil || e.content.open)
}

// digest names a content.
type digest struct {
	hash string // "sha256:" and 64 hexadecimal digits
	oid  string // git's id of the blob; "" for what is too large to be one that is kept
	size int64
	text string // of a link
	// secret: the rules keep the file from being read. Then nothing of this is written down.
	secret bool
	// open: a command may have had the file open for writing when it was read, and can have changed it since without a new
	// time of change.
	open bool
}

func (d *digest) same(other *digest) bool { return d != nil && other != nil && d.hash == other.hash }

// version is an entry at one time, as a difference tells of it.
type version struct {
	stat   stat
	digest *digest
	// bytes are there if they were read in this walk and are few enough.
	bytes []byte
	// also is another path at which the same walk found it, and where it was before.
	also string
}

// delta is one path that two walks found different; nil is nothing there.
type delta struct {
	path          string
	before, after *version
}

// real reports whether more than times differ.
func (d *delta) real() bool {
	b, a := d.before, d.after
	if b == nil || a == nil {
		return b != a
	}
	if b.stat.kind() != a.stat.kind() || !b.stat.sameRights(&a.stat) {
		return true
	}
	switch a.stat.kind() {
	case File, Link:
		if b.digest != nil && a.digest != nil {
			return !b.digest.same(a.digest)
		}
		return true // one of them was not read: what is not known to be equal counts as changed
	case Special:
		return !b.stat.sameInode(&a.stat)
	}
	return false
}

// gone gives the deltas of everything below a directory that is no more.
func (n *node) gone(at string, report func(delta)) {
	if n == nil {
		return
	}
	for i := range n.entries {
		e := &n.entries[i]
		path := join(at, e.name)
		report(delta{path: path, before: e.version()})
		e.dir.gone(path, report)
	}
}

func (e *entry) version() *version { return &version{stat: e.stat, digest: e.content} }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
