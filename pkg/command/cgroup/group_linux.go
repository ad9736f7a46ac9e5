package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the names of our groups. Behind it stand the maker's identity and what New was given.
const prefix = "orchestra-mcp."

// Group holds one command.
type Group struct {
	version int
	dir     string
	entry   *os.File // version 2: the directory; version 1: its tasks
	home    *os.File // version 1: the tasks of the group to come back to
}

// New makes a group of at most so many tasks, which are processes and their threads. The name is unique, and has no
// slash. Remove ends it.
func (p *Parent) New(name string, tasks int) (*Group, error) {
	g := &Group{version: p.version, dir: filepath.Join(p.dir, prefix+name)}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	err := g.write("pids.max", strconv.Itoa(tasks))
	switch {
	case err != nil:
	case p.version == 2:
		g.entry, err = os.OpenFile(g.dir, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	default:
		if g.entry, err = os.OpenFile(filepath.Join(g.dir, "tasks"), os.O_WRONLY, 0); err == nil {
			g.home, err = os.OpenFile(p.home, os.O_WRONLY, 0)
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

// Enter has the next process that this thread starts, with the attributes, begin in the group. The thread must be locked
// to its goroutine. leave brings it back out, and may run after the thread was restricted: it opens nothing.
func (g *Group) Enter(attributes *syscall.SysProcAttr) (leave func() error, err error) {
	if g.version == 2 {
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(g.entry.Fd())
		return func() error { return nil }, nil
	}
	// In version 1 a single thread can be in a group, and what it starts is in it too.
	if _, err := g.entry.WriteString("0"); err != nil {
		return nil, err
	}
	return func() error {
		_, err := g.home.WriteString("0")
		return err
	}, nil
}

// Processes are the ids of those in the group, and in groups that they made below it.
func (g *Group) Processes() (ids []int) {
	_ = filepath.WalkDir(g.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // it ends meanwhile
		}
		content, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil
		}
		for word := range strings.FieldsSeq(string(content)) {
			if id, err := strconv.Atoi(word); err == nil && id > 0 {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids
}

// Seal lets nothing in the group fork any more.
func (g *Group) Seal() { _ = g.write("pids.max", "0") }

// Refused counts how often a fork failed because the group was full.
func (g *Group) Refused() int {
	content, err := os.ReadFile(filepath.Join(g.dir, "pids.events"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if count, ok := strings.CutPrefix(line, "max "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(count))
			return n
		}
	}
	return 0
}

// Kill kills all in the group at once, where the kernel can (version 2). It reports whether it could.
func (g *Group) Kill() bool { return g.version == 2 && g.write("cgroup.kill", "1") == nil }

// removeTime bounds the waiting for the kernel to let go of what has died.
const removeTime = 500 * time.Millisecond

// Remove gives the group up. One that is not empty stays, and is found as abandoned once its maker is gone.
func (g *Group) Remove() error {
	for _, file := range []*os.File{g.entry, g.home} {
		if file != nil {
			file.Close()
		}
	}
	for deadline := time.Now().Add(removeTime); ; time.Sleep(time.Millisecond) {
		err := removeAll(g.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) || !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
	}
}

// removeAll removes a group and those below it; their files go with them.
func removeAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeAll(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return unix.Rmdir(dir)
}

func (g *Group) write(name, value string) error {
	file, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0) // never made: a missing controller must be noticed
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// Abandoned are the groups, by the names that New was given, whose name gone says is of a maker that is gone.
func (p *Parent) Abandoned(gone func(name string) bool) map[string]*Group {
	groups := map[string]*Group{}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return groups
	}
	for _, entry := range entries {
		if name, ours := strings.CutPrefix(entry.Name(), prefix); ours && entry.IsDir() && gone(name) {
			groups[name] = &Group{version: p.version, dir: filepath.Join(p.dir, entry.Name())}
		}
	}
	return groups
}
