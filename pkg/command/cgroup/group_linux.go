package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// ErrNone: there is no place where this process may make groups. The text says why.
var ErrNone = errors.New("no control group can be made")

// Parent is a place where groups can be made.
type Parent struct {
	version int
	dir     string
	// home is the tasks file of the own group of version 1, through which a thread comes back.
	home string
}

// Find returns a place, or ErrNone.
func Find() (*Parent, error) { return FindIn("/proc/self", "/run/systemd/system") }

// FindIn is Find with other places of what it reads: the directory of the process in proc, and one that is there where
// systemd rules the hierarchy.
func FindIn(proc, systemd string) (*Parent, error) {
	groups, err := ownGroups(filepath.Join(proc, "cgroup"))
	mounts, unmounted := hierarchies(filepath.Join(proc, "mountinfo"))
	if err := errors.Join(err, unmounted); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	var tried []error
	for _, m := range mounts {
		own, ok := groups[m.version]
		if !ok {
			continue
		}
		parent, err := m.place(own, systemd)
		if err == nil {
			err = parent.try()
		}
		if err == nil {
			return parent, nil
		}
		tried = append(tried, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrNone, errors.Join(append(tried, errors.New("no hierarchy with the pids controller is open to this user"))...))
}

// ownGroups reads the group of the process in the hierarchy of each version, of version 1 in that of pids.
func ownGroups(path string) (map[int]string, error) {
	content, err := os.ReadFile(path)
	groups := map[int]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			groups[2] = fields[2]
		case hasWord(fields[1], "pids", ","):
			groups[1] = fields[2]
		}
	}
	return groups, err
}

func hasWord(text, word, separator string) bool {
	return slices.Contains(strings.Split(strings.TrimSpace(text), separator), word)
}

// hierarchy is a mounted one: of version 2, or of version 1 with pids.
type hierarchy struct {
	version     int
	root, point string // the group that is mounted, and where
}

// hierarchies reads /proc/PID/mountinfo (proc_pid_mountinfo(5)), version 2 first.
func hierarchies(path string) ([]hierarchy, error) {
	table, err := os.ReadFile(path)
	var one, two []hierarchy
	for line := range strings.Lines(string(table)) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		root, point := unescaped(fields[3]), unescaped(fields[4])
		switch {
		case kind[0] == "cgroup2":
			two = append(two, hierarchy{2, root, point})
		case kind[0] == "cgroup" && hasWord(kind[2], "pids", ","):
			one = append(one, hierarchy{1, root, point})
		}
	}
	return append(two, one...), err
}

func unescaped(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// place is where groups would be made, in the own group's surroundings.
func (h hierarchy) place(own, systemd string) (*Parent, error) {
	rel, err := filepath.Rel(h.root, own)
	// What is outside of the own cgroup namespace begins with "/..", which is no name of a directory.
	outside := strings.HasPrefix(own+"/", "/../") && !strings.HasPrefix(h.root+"/", "/../")
	if err != nil || outside || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, fmt.Errorf("the own group %s is not below what is mounted at %s", own, h.point)
	}
	dir := filepath.Join(h.point, rel)
	if h.version == 1 {
		return &Parent{version: 1, dir: dir, home: filepath.Join(dir, "tasks")}, given(dir, systemd)
	}
	// A group of version 2 with processes cannot give pids to others, but for the root of all.
	if !gives(dir) {
		if dir == h.point {
			return nil, fmt.Errorf("the own group is %s, and has no surroundings", dir)
		}
		dir = filepath.Dir(dir)
	}
	if !gives(dir) {
		return nil, fmt.Errorf("%s does not give the pids controller to the groups below it", dir)
	}
	// Whether clone3 is there: the arguments are too short for any version of it.
	if _, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.EINVAL {
		return nil, errors.New("clone3 is missing, which starts a process in a group; a container's filter may refuse it")
	}
	return &Parent{version: 2, dir: dir}, given(dir, systemd)
}

func gives(dir string) bool {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && hasWord(string(controllers), "pids", " ")
}

// given reports, as no error, that making groups there is ours to do: the directory belongs to this user and not to root,
// it was delegated, or nobody else rules the hierarchy.
func given(dir, systemd string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	raw, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(raw.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user: %w", dir, fs.ErrPermission)
	}
	if _, err := os.Stat(systemd); raw.Uid != 0 || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return nil
		}
	}
	return fmt.Errorf("%s is systemd's, and was not delegated", dir)
}

// try makes a group, bounds it and removes it.
func (p *Parent) try() error {
	g, err := p.New(fmt.Sprintf("try.%d", os.Getpid()), 1)
	if err != nil {
		return err
	}
	return g.Remove()
}
