package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/seatbelt"
)

// startSeatbelt starts cmd by a program that takes the profile on and then becomes the command. Where it cannot, it ends, and
// nothing of the command runs.
func startSeatbelt(cmd *exec.Cmd, profile *Profile, program string) (*Held, error) {
	if profile == nil || cmd.Err != nil {
		return nil, unavailable(errors.Join(cmd.Err, errors.New("there is no profile")))
	}
	policy, err := seatbeltPolicy(profile)
	if errors.Is(err, ErrMoved) || errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	if err != nil {
		return nil, unavailable(err)
	}
	text, parameters, err := policy.Profile()
	if err != nil {
		return nil, unavailable(err)
	}
	if !filepath.IsAbs(cmd.Path) {
		return nil, unavailable(fmt.Errorf("the program %q has no absolute path", cmd.Path))
	}
	args := []string{filepath.Base(program), "-p", text}
	for _, p := range parameters {
		args = append(args, "-D"+p)
	}
	cmd.Args = append(append(args, "--", cmd.Path), cmd.Args[min(1, len(cmd.Args)):]...)
	cmd.Path = program
	return nil, cmd.Start()
}

// seatbeltPolicy is what a profile says, as the files are now.
func seatbeltPolicy(b *Profile) (seatbelt.Policy, error) {
	d := newDisk()
	policy := seatbelt.Policy{Temp: b.Temp, Network: !b.DenyNetwork}
	for _, path := range slices.Concat(b.Hidden, b.Emptied) {
		if _, err := d.lstat(path); err == nil {
			policy.Hidden = append(policy.Hidden, path)
		} else if !isMissing(err) {
			return policy, fmt.Errorf("hide %s: %w", path, err)
		}
	}
	closed, absent := slices.Clone(policy.Hidden), []string(nil)
	for _, frozen := range b.Frozen {
		switch _, err := d.lstat(frozen.Path); {
		case err == nil:
			closed = append(closed, frozen.Path)
		case isMissing(err):
			first, file, err := d.missing(frozen.Path)
			switch {
			case err != nil:
				return policy, fmt.Errorf("freeze %s: %w", frozen.Path, err)
			case file:
				closed = append(closed, first)
			default:
				absent = append(absent, first)
			}
		default:
			return policy, fmt.Errorf("freeze %s: %w", frozen.Path, err)
		}
	}
	for _, path := range append(slices.Clip(b.Writable), b.Temp) {
		if slices.Contains(closed, path) || slices.ContainsFunc(policy.Hidden, func(h string) bool { return beneath(h, path) }) {
			continue
		}
		info, err := d.lstat(path)
		switch {
		case isMissing(err):
			return policy, fmt.Errorf("%w: %w", ErrMoved, err)
		case err != nil:
			return policy, fmt.Errorf("write %s: %w", path, err)
		case info.IsDir():
			policy.Trees = append(policy.Trees, treeOf(path, closed, absent))
		case info.Mode().IsRegular():
			policy.Files = append(policy.Files, path)
		}
	}
	return policy, nil
}

// treeOf is a directory that may be written, with what is closed in it.
func treeOf(path string, closed, absent []string) seatbelt.Tree {
	t := seatbelt.Tree{Path: path, Pinned: []string{path}}
	pin := func(dir string) {
		for ; dir != path && beneath(path, dir) && !slices.Contains(t.Pinned, dir); dir = filepath.Dir(dir) {
			t.Pinned = append(t.Pinned, dir)
		}
	}
	for _, c := range closed {
		if c != path && beneath(path, c) {
			t.Closed = append(t.Closed, c)
			pin(filepath.Dir(c))
		}
	}
	for _, a := range absent {
		dir, name := filepath.Split(a)
		dir = filepath.Clean(dir)
		if !beneath(path, dir) {
			continue
		}
		pin(dir)
		i := slices.IndexFunc(t.Absent, func(in seatbelt.Absent) bool { return in.Dir == dir })
		if i < 0 {
			i, t.Absent = len(t.Absent), append(t.Absent, seatbelt.Absent{Dir: dir})
		}
		if !slices.Contains(t.Absent[i].Names, name) {
			t.Absent[i].Names = append(t.Absent[i].Names, name)
		}
	}
	return t
}

// beneath reports whether a path is at or below a directory.
func beneath(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// disk answers what is at paths, and only where they are those that the kernel would name.
type disk struct {
	spelled map[string]error // of directories: nil where they are what their paths say

	stat func(path string) (fs.FileInfo, error)
	list func(dir string) ([]fs.DirEntry, error)
}

func newDisk() *disk { return &disk{spelled: map[string]error{}, stat: os.Lstat, list: os.ReadDir} }

// lstat describes what is at a path. A link on the way, or another letter case, is an error.
func (d *disk) lstat(path string) (fs.FileInfo, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, unavailable(fmt.Errorf("the path %q is not absolute and clean", path))
	}
	// The same files have shorter names, by which the kernel calls them: macOS shows its data volume twice, and has ways by number.
	if folded := strings.ToLower(path); strings.HasPrefix(folded, "/system/volumes/") || strings.HasPrefix(folded, "/.") {
		return nil, unavailable(fmt.Errorf("the path %q is another name of something; use the usual one", path))
	}
	info, err := d.stat(path)
	if err == nil {
		err = d.check(path, info)
	}
	return info, err
}

// check walks the path from the top.
func (d *disk) check(path string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return unavailable(fmt.Errorf("%q is a link", path))
	}
	if path == "/" {
		return nil
	}
	if err, known := d.spelled[path]; known {
		return err
	}
	err := d.entry(path, info)
	if err == nil {
		above := filepath.Dir(path)
		var dir fs.FileInfo
		if dir, err = d.stat(above); err == nil {
			err = d.check(above, dir)
		}
	}
	if info.IsDir() {
		d.spelled[path] = err
	}
	return err
}

// entry reports an error where the directory above has the entry by another spelling: a rule for this one would hold nothing. Where
// a file system tells letter cases apart, the other one is not there, and the directory need not be read.
func (d *disk) entry(path string, info fs.FileInfo) error {
	name, above := filepath.Base(path), filepath.Dir(path)
	if other, ascii := otherCase(name); ascii {
		named, err := d.stat(filepath.Join(above, other))
		if other == name || err != nil || !os.SameFile(info, named) {
			return nil
		}
	} // else it has other forms, which cannot all be tried
	entries, err := d.list(above)
	if err != nil {
		return unavailable(fmt.Errorf("see how %q is spelled on the disk: %w", path, err))
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
		return unavailable(fmt.Errorf("%q is spelled otherwise on the disk; use that spelling", path))
	}
	return nil
}

// otherCase is a name with each letter in the other case, where all of it is ASCII.
func otherCase(name string) (other string, ascii bool) {
	flipped := []byte(name)
	for i, c := range flipped {
		switch {
		case c >= 0x80:
			return "", false
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			flipped[i] ^= 'a' ^ 'A'
		}
	}
	return string(flipped), true
}

// missing is the first part of a path that does not exist, or the file in the way, which must not become a directory.
func (d *disk) missing(path string) (first string, file bool, err error) {
	for {
		above := filepath.Dir(path)
		info, err := d.lstat(above)
		switch {
		case err == nil && info.IsDir():
			return path, false, nil
		case err == nil:
			return above, true, nil
		case !isMissing(err):
			return "", false, err
		}
		path = above
	}
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
