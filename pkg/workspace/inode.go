package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// inode is one file that a change keeps open, locked between processes and, where possible, leased, whatever
// name it has by now. It is open for reading only: a lease is not given beside a writer.
type inode struct {
	w      *Workspace
	file   *os.File
	stat   durable.Stat
	hash   Hash
	leased bool
	lock   lock
}

// hold opens the file at dir/name and locks it. Who waited for a lock may find that the path has a new inode
// by then, and starts again with that one.
// Inodes that the same call holds already under another name (hard links) are not locked twice.
func (w *Workspace) hold(ctx context.Context, dir *durable.Dir, name string, locks *lockFiles, mine []*inode) (*inode, error) {
	var held *inode
	found, err := poll(ctx, w.patience.lock, func() (bool, error) {
		f, err := openRegular(dir, name)
		if err != nil {
			return false, err
		}
		n := &inode{w: w, file: f}
		if n.stat, err = durable.StatFile(f); err == nil && !n.among(mine) {
			n.lock, err = locks.tryLock(f, n.stat)
		}
		if err == nil && (n.lock.held || n.among(mine)) {
			var at durable.Stat
			if at, err = dir.Lstat(name); err == nil && durable.Same(at, n.stat) {
				held = n
				return true, nil
			}
		}
		n.release()
		return false, err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: another program has had it locked for %v; try again", ErrBusy, w.patience.lock)
	}
	return held, nil
}

func (n *inode) among(others []*inode) bool {
	return n.stat.Links != 1 && slices.ContainsFunc(others, func(o *inode) bool { return durable.Same(o.stat, n.stat) })
}

// examine takes the lease, waiting for whoever writes the file now, and hashes the content.
func (n *inode) examine(ctx context.Context) error {
	if err := n.lease(ctx); err != nil {
		return err
	}
	var err error
	if n.stat, err = durable.StatFile(n.file); err != nil {
		return err // its size may have changed while we waited
	}
	n.hash, err = HashFile(n.file)
	return err
}

// lease tries to get a lease for as long as it is worth waiting for a writer. Without one (n.leased is then
// false) content is compared by hash instead.
func (n *inode) lease(ctx context.Context) error {
	if !n.w.abilities.lease {
		return nil
	}
	got, err := poll(ctx, n.w.patience.writer, func() (bool, error) {
		err := durable.TakeLease(n.file)
		if errors.Is(err, durable.ErrWriterOpen) {
			durable.DropLease(n.file) // else the writer would wait for us while we wait for it
			return false, nil
		}
		return err == nil, err
	})
	n.leased = got
	switch {
	case err == nil && !got:
		return fmt.Errorf("%w: another program has it open for writing; try again when it has closed the file", ErrBusy)
	case errors.Is(err, durable.ErrLeaseRefused):
		return nil
	case errors.Is(err, durable.ErrUnsupported):
		n.w.log.once("lease", "the file system has no leases: a program that is writing a file is noticed by its content only", err)
		return nil
	}
	return err
}

// undisturbed reports whether the content is certainly still what was hashed: the lease is unbroken, or the
// hash is the same again.
func (n *inode) undisturbed() bool {
	if n.leased {
		return durable.KeepLease(n.file) == nil
	}
	return n.sameContent()
}

// same lets a writer that was noticed finish, and reports whether the content is the same afterwards.
func (n *inode) same(ctx context.Context) bool {
	return n.undisturbed() || n.leased && n.lease(ctx) == nil && n.sameContent()
}

func (n *inode) sameContent() bool {
	hash, err := HashFile(n.file)
	return err == nil && hash == n.hash
}

// untouched is undisturbed without reading the content where there is no lease.
func (n *inode) untouched() bool {
	if n.leased {
		return n.undisturbed()
	}
	st, err := durable.StatFile(n.file)
	return err == nil && durable.Unchanged(n.stat, st)
}

func (n *inode) release() {
	if n == nil || n.file == nil {
		return
	}
	// Explicitly, since a child between fork and exec may have a copy of the descriptor.
	if n.leased {
		durable.DropLease(n.file)
	}
	n.lock.release()
	n.file.Close()
	n.file = nil
}
