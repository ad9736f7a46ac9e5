package doctor

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// checkFiles looks at what the file system below the workspace can do.
func (e *examination) checkFiles() string {
	dir, err := durable.OpenDirectory(e.Dir)
	if err != nil {
		return ""
	}
	defer dir.Close()
	// The workspace's own lock is taken for a moment, on a directory that no server locks.
	locked, err := durable.TryLock(dir)
	if locked {
		err = durable.Unlock(dir)
	}
	if errors.Is(err, durable.ErrUnsupported) {
		e.fail("This file system has no locks: two servers, or a server and a person's command, can damage each other's records.",
			"Move the workspace to a local file system, or see that only one process uses it.", "")
	}
	for _, root := range slices.Compact([]*os.Root{e.root, e.home}) {
		e.checkLockHeld(root)
	}
	if err := dir.Sync(); err != nil && e.OS != "windows" {
		e.warn(fmt.Sprintf("Directories cannot be flushed to disk here (%v): after a power cut a new file may be missing.", err),
			"Keep the workspace on a local file system.", "")
	}
	e.checkWritable()
	kind := e.checkKind()
	e.checkSpace()
	return kind + ": locks, flushes and atomic exchange are there"
}

// heldTime is how long the lock may be held by others that are at work.
const heldTime = 2 * time.Second

// checkLockHeld finds who keeps everybody from changing anything. A command in a sandbox cannot.
func (e *examination) checkLockHeld(root *os.Root) {
	file, _, err := durable.OpenRegularIn(root, stateDir+"/"+orchdir.LockName, os.O_RDONLY)
	if err != nil {
		return // nobody has locked anything yet
	}
	defer file.Close()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		locked, err := durable.TryLock(file)
		if locked || err != nil {
			_ = durable.Unlock(file)
			return
		}
		if time.Since(began) > heldTime || e.ctx.Err() != nil {
			break
		}
	}
	who, look := "a process that cannot be told", ""
	if pid := durable.LockedBy(file); pid > 0 {
		who, look = fmt.Sprintf("process %d", pid), fmt.Sprintf("ps -fp %d", pid)
	}
	e.fail(fmt.Sprintf("The lock of %s has been held by %s for %v: every change and every record waits for it, and is refused as BUSY.", orchdir.Name, who, heldTime),
		"Look at that process, and end it unless it is an orchestra-mcp at work.", look)
}

func (e *examination) checkWritable() {
	for _, name := range []string{".", orchdir.Name, stateDir, e.kept("."), e.kept(path.Base(ledgerFile))} {
		at := filepath.FromSlash(name)
		if !filepath.IsAbs(at) {
			at = filepath.Join(e.Dir, at)
		}
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		if err := writable(at); err != nil {
			e.fail(fmt.Sprintf("%s cannot be written (%v), so nothing can be changed or recorded.", name, err),
				"Give yourself the right to write.", "chmod u+w -- "+shellword.Show(name))
			return
		}
	}
}

func (e *examination) checkSpace() {
	free, files, err := space(e.Dir)
	switch {
	case err != nil:
	case free < e.MinFree:
		e.fail(fmt.Sprintf("Only %d MiB are free on the workspace's disk: without room for its record, no change is made.", free>>20),
			"Make room; what is in .orchestration/cache can always be deleted.", "rm -rf .orchestration/cache")
	case files == 0:
		e.fail("The workspace's disk takes no new file (no inode is free): no change can be made.", "Delete files that you do not need.", "")
	}
}
