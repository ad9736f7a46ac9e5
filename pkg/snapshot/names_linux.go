//go:build linux && !portable

package snapshot

import (
	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
)

// names follows the names that are added to directories between two looks. A second name of a file is the one way to write
// it of which its own directory tells nothing: so each name that was added, or what it was moved to, has to be there at the
// look, and to be the only one of what it names. Then that is new, or its other name was taken away, of which the directory of
// that one told. What is not followed counts as a way: a name that is gone again, or moved twice, as two that are exchanged are,
// and a directory that was made or moved, as nobody told what happened in it.
//
// The server's own placeholders come and go with each command, and are moved to their places. They are known by names that
// nobody else can have used before them. In .orchestration no command that is enclosed makes anything, and the server does.
type names struct {
	// added are the names by the watch of the directory; true is one that may be moved.
	added map[int32]map[string]bool
	count int
	lost  bool
	// from is what is between the two notices of a move.
	from moving
}

// moving is the first half of a move.
type moving struct {
	cookie uint32
	added  bool // the name was
}

// maxNames bounds the names that are followed.
const maxNames = 20_000

func (n *names) begin() { *n = names{added: map[int32]map[string]bool{}} }

// heard is called for each notice.
func (n *names) heard(event *notice) {
	const moved = unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	if n.lost || event.mask&(unix.IN_CREATE|unix.IN_DELETE|moved) == 0 {
		return
	}
	dir := event.mask&unix.IN_ISDIR != 0
	movable, is := n.added[event.watch][string(event.name)]
	switch {
	case event.mask&unix.IN_CREATE != 0:
		n.lost = is
		n.add(event, true)
	case event.mask&unix.IN_DELETE != 0:
		n.lost = is
	case event.mask&unix.IN_MOVED_FROM != 0:
		n.lost = is && !movable || dir && !is || n.from.added
		delete(n.added[event.watch], string(event.name))
		n.from = moving{event.cookie, is && !placeholder.Took(string(event.name))}
	default:
		// What comes from where nobody looks can have stayed there too, by another name.
		n.lost = is || n.from.cookie != event.cookie
		if n.from.added {
			n.add(event, false)
		}
		placeholder.Took(string(event.name)) // on its way from its place
		n.from = moving{}
	}
}

// add notes a name, and whether it may be moved.
func (n *names) add(event *notice, movable bool) {
	of := n.added[event.watch]
	if of == nil {
		of = map[string]bool{}
		n.added[event.watch] = of
	}
	of[string(event.name)] = movable
	n.count++
	n.lost = n.lost || n.count > maxNames
}

// settled: all that was added is still to be found.
func (n *names) settled() bool { return !n.lost && !n.from.added }

// own reports whether each name that was added is there, in the directories by their watch, and is the only one of its file.
func (n *names) own(nodes map[int32][]*node) bool {
	for watch, added := range n.added {
		for _, dir := range nodes[watch] {
			left := len(added)
			var e entry
			for r := dir.reader(); left > 0 && r.next(&e); {
				if _, is := added[e.name]; is && e.dir == nil && e.stat.links <= 1 {
					left--
				}
			}
			if left > 0 {
				return false
			}
		}
		if len(added) > 0 && len(nodes[watch]) == 0 {
			return false
		}
	}
	return true
}
