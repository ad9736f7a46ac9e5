package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/index"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
)

// location is where a ledger stands: in the .orchestration of a directory, which is the workspace's or one beside the tree.
type location struct {
	root   *os.Root
	top    *durable.Top // of root
	index  *index.Index
	beside bool

	preparing sync.Once
	prepared  chan struct{} // closed when the index stands, or could not be made
}

func newLocation(root *os.Root, beside bool) *location {
	return &location{root: root, top: durable.Hold(root), index: index.New(root), beside: beside, prepared: make(chan struct{})}
}

// here is where the ledger stands now.
func (l *Ledger) here() (*location, error) {
	was := l.at.Load()
	if was.beside && was.inPlace() {
		return was, nil
	}
	root, err := locate.Open(l.besideDir())
	switch {
	case err != nil:
		return nil, err
	case root == nil && !was.beside:
		return was, nil
	}
	if root != nil {
		if err := locate.TakeFromTree(context.Background(), l.workspace, root); err != nil {
			root.Close()
			return nil, err
		}
		l.wasBeside.Store(true)
	}
	at := newLocation(cmp.Or(root, l.workspace), root != nil)
	if !l.at.CompareAndSwap(was, at) {
		if at.beside {
			root.Close()
		}
		at = l.at.Load()
	}
	return at, nil // what was is in use perhaps, and closed when nobody has it
}

// inPlace reports whether the directory has its name still. What is written to one that somebody moved away nobody else finds.
func (at *location) inPlace() bool {
	held, err := at.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Lstat(at.root.Name())
	return err == nil && os.SameFile(held, now)
}

// forWriting is here for who is about to write: a first record decides where the ledger stands. A ledger that is in the tree
// stays there.
func (l *Ledger) forWriting() (*location, error) {
	at, err := l.found()
	if err != nil {
		return nil, err
	}
	if at.beside {
		return at, l.keepTree(at)
	}
	if !l.opts.Beside || l.besideDir() == "" {
		return at, err
	}
	if _, err := segment.HomeInfo(l.workspace); err != nil {
		return nil, err
	}
	if in, err := locate.InTree(l.workspace); in || err != nil {
		return at, err
	}
	if err := locate.Make(l.besideDir()); err != nil {
		return nil, err
	}
	if at, err = l.here(); err == nil {
		err = l.keepTree(at)
	}
	return at, err
}

// found is here, and an error where the tree's link leads nowhere.
func (l *Ledger) found() (*location, error) {
	at, err := l.here()
	if err != nil || at.beside {
		return at, err
	}
	lost := l.leadsNowhere()
	if lost == nil {
		return at, nil
	}
	if at, err = l.here(); err == nil && !at.beside { // nor has another process made both since
		return nil, lost
	}
	return at, err
}

// leadsNowhere finds, where no ledger stands beside the tree, the link that one has left: it is gone, and not one that never
// was. Who had it open goes on in a new place, with a record that follows what is gone (see Loss).
func (l *Ledger) leadsNowhere() error {
	if l.wasBeside.Load() {
		return nil
	}
	target, err := l.at.Load().top.Readlink(path.Join(segment.Home, segment.SingleName))
	if err != nil {
		return nil
	}
	return fmt.Errorf("%w: %s/%s is a link to %s, and no ledger stands there: bring it back, or orchestra-mcp sync brings what a remote has; "+
		"to begin anew, remove the link", segment.ErrUnavailable, segment.Home, segment.SingleName, target)
}

// keepTree looks at what stands in the tree where the ledger is beside it.
func (l *Ledger) keepTree(at *location) error {
	if l.link == "" {
		l.link = locate.LinkTarget(l.workspace, at.root)
	}
	switch info, err := l.workspace.Lstat(path.Join(segment.Home, segment.SingleName)); {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode()&fs.ModeSymlink != 0:
		locate.Link(l.workspace, l.link)
	case err == nil && info.Mode().IsRegular():
		return locate.TakeFromTree(context.Background(), l.workspace, at.root)
	}
	return nil
}
