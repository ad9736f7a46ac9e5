package snapshot

import "io/fs"

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
