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
func (e *examination) checkFiles() {
	before := len(e.report.Findings)
	dir, err := durable.OpenDirectory(e.Dir)
	if err != nil {
		return
	}
	defer dir.Close()
	e.checkLocks(dir)
	e.checkLockHeld()
	if err := dir.Sync(); err != nil && e.OS != "windows" {
		e.warn(fmt.Sprintf("Directories cannot be flushed to disk here (%v): after a power cut a new file may be missing.", err),
			"Keep the workspace on a local file system.", "")
	}
	e.checkTemp()
	e.checkWritable()
	kind := e.checkKind()
	e.checkSpace()
	if len(e.report.Findings) == before {
		e.ok("%s: locks, flushes and atomic exchange are there", kind)
	}
}

// checkLocks takes the workspace's own lock for a moment, on a directory that no server locks.
func (e *examination) checkLocks(dir *os.File) {
	locked, err := durable.TryLock(dir)
	if locked {
		err = durable.Unlock(dir)
	}
	if errors.Is(err, durable.ErrUnsupported) {
		e.fail("This file system has no locks: two servers, or a server and a person's command, can damage each other's records.",
			"Move the workspace to a local file system, or see that only one process uses it.", "")
	}
}

// heldTime is how long the lock may be held by others that are at work.
const heldTime = 2 * time.Second

// checkLockHeld finds who keeps everybody from changing anything. A command in a sandbox cannot.
func (e *examination) checkLockHeld() {
	for _, root := range slices.Compact([]*os.Root{e.root, e.home}) {
		e.checkLockHeldIn(root)
	}
}

func (e *examination) checkLockHeldIn(root *os.Root) {
	file, _, err := durable.OpenRegularIn(root, orchdir.Name+"/state/"+orchdir.LockName, os.O_RDONLY)
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

// checkTemp: where state is on another file system, temporary files are made beside their targets.
func (e *examination) checkTemp() {
	state, err := orchdir.Open(e.root, false, "state")
	if err != nil {
		return
	}
	defer state.Close()
	top, err := durable.OpenRoot(e.root)
	if err != nil {
		return
	}
	defer top.Close()
	below, err := durable.OpenRoot(state)
	if err != nil {
		return
	}
	defer below.Close()
	if !top.SameMount(below) {
		e.warn(stateDir+" is on another file system than the workspace: temporary files are made beside their targets.",
			"Put it on the workspace's own file system if that disturbs.", "")
	}
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
		return
	case free < e.MinFree:
		e.fail(fmt.Sprintf("Only %d MiB are free on the workspace's disk: without room for its record, no change is made.", free>>20),
			"Make room; what is in .orchestration/cache can always be deleted.", "rm -rf .orchestration/cache")
	case files == 0:
		e.fail("The workspace's disk takes no new file (no inode is free): no change can be made.", "Delete files that you do not need.", "")
	}
}
