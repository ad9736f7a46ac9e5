package rotation

import (
	"context"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"os"
	"path"
	"time"
)

// rotateDir has the files of the one rotation that is under way in a workspace. Whoever holds the lock on it may remove
// what a rotation that was killed left there.
const (
	rotateDir  = segment.Home + "/" + segment.StateDir + "/rotate"
	rotateLock = segment.Home + "/" + segment.StateDir + "/rotate.lock"
)

// File moves the lines of a file into archives of limit bytes of lines each, but for the last eighth of limit. One
// process at a time does so, for one file at a time: where another one is at it, nothing is to do. It waits for the lock of
// writers no longer than wait.
func File(ctx context.Context, root *os.Root, d segment.Disk, name string, limit int64, wait time.Duration) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("rotate %s: %w", name, err)
		}
	}()
	release, err := tryRotation(root)
	if err != nil || release == nil {
		return err
	}
	defer release()
	m := Move{Root: root, Disk: d, name: name, Limit: limit}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		return err
	}
	unlock, err := segment.Lock(ctx, root, true, wait)
	if err != nil {
		return err
	}
	defer unlock()
	return m.publish(ctx)
}

// LockRotation is tryRotation for who can wait.
func LockRotation(ctx context.Context, root *os.Root) (release func(), err error) {
	return segment.WaitFor(ctx, segment.MendLockWait, func() (func(), error) { return tryRotation(root) })
}

// tryRotation gives an empty rotateDir to one process at a time, and neither that nor an error while another one has it.
func tryRotation(root *os.Root) (release func(), err error) {
	for _, dir := range []string{path.Dir(rotateDir), rotateDir} {
		if err := segment.MakeDir(root, dir, 0o700); err != nil {
			return nil, err
		}
	}
	file, err := segment.OpenLock(root, rotateLock, true)
	if err != nil {
		return nil, err
	}
	unlock, err := segment.TryLockFile(root, rotateLock, file, true)
	if err != nil || unlock == nil {
		return nil, err
	}
	clearDir(root, rotateDir)
	return func() {
		clearDir(root, rotateDir)
		unlock()
	}, nil
}

// clearDir leaves what it cannot remove: the next rotation tries again.
func clearDir(root *os.Root, name string) {
	names, _ := segment.ReadNames(root, name)
	for _, file := range names {
		_ = root.Remove(path.Join(name, file))
	}
}

const DefaultSize = 16 << 20 // bytes of an archive's lines

// TailShare is how much of SegmentSize stays in the file that is appended to: what was last is asked for most.
const TailShare = 8
