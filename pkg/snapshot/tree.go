package snapshot

import (
	"io/fs"
	"slices"
	"strings"
)

// node is a directory of the kept state.
type node struct {
	name string // "" for the top
	// packed are its entries, and dirs the directories among them in their order; see reader and writer.
	packed string
	dirs   []*node
	inos   span
	// problem is why it was not looked into, "" if it was.
	problem string
	// listed is when the walk began that the entries are from, in nanoseconds since 1970.
	listed int64

	// watch is the kernel's number for the notices of the directory, 0 if there are none. stirred: there was one since
	// the last look. blind: something in it can change without one.
	watch          int32
	stirred, blind bool
	// due: the directory has to be looked into; below: one below it has.
	due, below bool
	// opened is what the kernel calls the directory when it tells that a file in it was opened, 0 if it does not.
	opened uint64
}

// newNode is a directory that was not looked into yet.
func newNode(name string) *node { return &node{name: strings.Clone(name), due: true} }

// find works out where the notices leave something to look at.
func (n *node) find() bool {
	n.due = n.watch == 0 || n.stirred || n.blind || n.problem != ""
	n.below = false
	for _, dir := range n.dirs {
		if dir.find() {
			n.below = true
		}
	}
	return n.due || n.below
}

// told: the kernel tells of all that happens in the directory and those below it.
func (n *node) told() bool {
	if n.watch == 0 || n.opened == 0 || n.problem != "" {
		return false
	}
	for _, dir := range n.dirs {
		if !dir.told() {
			return false
		}
	}
	return true
}

// entry is one name of a directory.
type entry struct {
	name string
	stat stat
	// read is "" where the content was not read, and for what has none.
	read digestText
	// dir is nil for what is no directory.
	dir *node
}

// blind: the entry can change without a notice of its directory, by another name of the file or an open one, or its content
// is not known.
func (e *entry) blind() bool {
	return e.stat.kind() == File && (e.stat.links > 1 || e.read == "" || e.read.open())
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

func (e *entry) version() *version { return &version{stat: e.stat, digest: e.read.digest()} }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// twice says of what is at a path since this walk where the same walk found it standing as before. What has a single name
// was renamed, or its directory was, between the looks into two directories: that it is new tells nothing then.
func (n *node) twice(deltas []delta) {
	came := map[number][]*delta{}
	for i := range deltas {
		if d := &deltas[i]; d.after != nil && d.after.stat.ino != 0 && (d.after.stat.links <= 1 || d.after.stat.kind() == Directory) && (d.before == nil || !d.before.stat.sameInode(&d.after.stat)) {
			came[d.after.stat.number()] = append(came[d.after.stat.number()], d)
		}
	}
	inos := make([]uint64, 0, len(came))
	for id := range came {
		inos = append(inos, id.ino)
	}
	if slices.Sort(inos); len(inos) > 0 {
		n.search("", came, inos)
	}
}

// search looks for what came; inos are the sorted numbers of that.
func (n *node) search(at string, came map[number][]*delta, inos []uint64) {
	for _, dir := range n.dirs {
		dir.search(join(at, dir.name), came, inos)
	}
	if !n.inos.any(inos) {
		return
	}
	var e entry
	for r := n.reader(); r.next(&e); {
		if fresh := came[e.stat.number()]; len(fresh) > 0 {
			path := join(at, e.name)
			if !slices.ContainsFunc(fresh, func(d *delta) bool { return d.path == path }) {
				for _, d := range fresh {
					d.after.also = path
				}
			}
		}
	}
}

// span holds at least the numbers that were added to it.
type span struct{ least, most uint64 }

func (s *span) add(ino uint64) {
	if s.most == 0 {
		s.least = ino
	}
	s.least, s.most = min(s.least, ino), max(s.most, ino)
}

// any reports whether one of sorted numbers can be in it.
func (s *span) any(sorted []uint64) bool {
	i, _ := slices.BinarySearch(sorted, s.least)
	return i < len(sorted) && sorted[i] <= s.most
}

// Kind is what an entry of the tree is.
type Kind uint8

// The kinds.
const (
	File Kind = iota + 1
	Directory
	Link
	Special // FIFO, socket, device
)

func (k Kind) String() string {
	return [...]string{"nothing", "file", "directory", "link", "special file"}[k]
}

// stat is what the file system says of an entry. Times are nanoseconds since 1970.
type stat struct {
	mode         fs.FileMode
	uid, gid     uint32
	size         int64
	mtime, ctime int64
	dev, ino     uint64
	links        uint64 // names of the inode; 0 where they are not counted
}

func (s *stat) kind() Kind {
	switch {
	case s.mode.IsRegular():
		return File
	case s.mode.IsDir():
		return Directory
	case s.mode&fs.ModeSymlink != 0:
		return Link
	}
	return Special
}

// changed is the time of change, or the one next to it where there is none.
func (s *stat) changed() int64 {
	if s.ctime == 0 {
		return s.mtime
	}
	return s.ctime
}

// sameRights: neither mode nor owner changed. Those of links mean nothing.
func (s *stat) sameRights(other *stat) bool {
	return s.kind() == Link && other.kind() == Link || s.mode == other.mode && s.uid == other.uid && s.gid == other.gid
}

// touched: something of an entry changed that is neither its content nor its rights, and not only what it has to be for
// another name to be made or removed in a directory.
func (s *stat) touched(now *stat) bool {
	if s.ctime == now.ctime && s.sameInode(now) || now.ctime == 0 {
		return false
	}
	// What is made or removed in a directory gives it one time of change for both.
	return s.kind() == now.kind() && (s.kind() != Directory || now.mtime != now.ctime)
}

// listable: the owner of a directory may look into it.
func (s *stat) listable() bool { return s.mode.Perm()&0o500 == 0o500 }

// number tells a file from every other that there is at the time.
type number struct{ dev, ino uint64 }

func (s *stat) number() number { return number{s.dev, s.ino} }

// sameInode can be wrong where inodes have no numbers.
func (s *stat) sameInode(other *stat) bool {
	return s.ino != 0 && s.ino == other.ino && s.dev == other.dev
}
