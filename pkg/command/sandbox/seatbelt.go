package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/probes"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/seatbelt"
)

// startSeatbelt starts cmd by a program that takes the profile on and then becomes the command. Where it cannot, it ends, and
// nothing of the command runs.
func startSeatbelt(cmd *exec.Cmd, profile *Profile, program string) (*Held, error) {
	if profile == nil || cmd.Err != nil {
		return nil, unavailable(errors.Join(cmd.Err, errors.New("there is no profile")))
	}
	policy, err := seatbeltPolicy(profile)
	if err != nil {
		return nil, err
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
	d := &disk{spelled: map[string]error{}}
	policy := seatbelt.Policy{Temp: b.Temp, Network: !b.DenyNetwork}
	for _, path := range slices.Concat(b.Hidden, b.Emptied) {
		if _, err := d.lstat(path); err == nil {
			policy.Hidden = append(policy.Hidden, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return policy, fmt.Errorf("hide %s: %w", path, err)
		}
	}
	closed, absent := slices.Clone(policy.Hidden), []string(nil)
	for _, frozen := range b.Frozen {
		switch _, err := d.lstat(frozen.Path); {
		case err == nil:
			closed = append(closed, frozen.Path)
		case errors.Is(err, fs.ErrNotExist):
			first, err := d.missing(frozen.Path)
			if err != nil {
				return policy, fmt.Errorf("freeze %s: %w", frozen.Path, err)
			}
			absent = append(absent, first)
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
		case errors.Is(err, fs.ErrNotExist):
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
}

// lstat describes what is at a path. A link on the way, or another letter case, is an error.
func (d *disk) lstat(path string) (fs.FileInfo, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, unavailable(fmt.Errorf("the path %q is not absolute and clean", path))
	}
	info, err := os.Lstat(path)
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
		if dir, err = os.Lstat(above); err == nil {
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
		named, err := os.Lstat(filepath.Join(above, other))
		if other == name || err != nil || !os.SameFile(info, named) {
			return nil
		}
	} // else it has other forms, which cannot all be tried
	entries, err := os.ReadDir(above)
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

// missing is the first part of a path that does not exist.
func (d *disk) missing(path string) (string, error) {
	for {
		above := filepath.Dir(path)
		info, err := d.lstat(above)
		switch {
		case err == nil && info.IsDir():
			return path, nil
		case err == nil:
			return above, nil // a file, below which nothing can be
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		path = above
	}
}

var errNoSeatbelt = fmt.Errorf("%w: only macOS has Seatbelt", ErrUnavailable)

// ProbeSeatbelt tries whether macOS's Seatbelt holds a command here, once in the life of the process. Nil is that every probe went as
// it had to; the error says all that did not. It takes some hundred milliseconds the first time.
func ProbeSeatbelt() error { return probeSeatbelt() }

var probeSeatbelt = sync.OnceValue(func() error {
	if seatbeltProgram == "" {
		return errNoSeatbelt
	}
	program, err := os.Executable()
	if err != nil {
		return unavailable(err)
	}
	if err := trySeatbelt(program, seatbeltProgram); err != nil {
		return fmt.Errorf("%w: Seatbelt does not hold as it has to: %w", ErrUnavailable, err)
	}
	return nil
})

// trySeatbelt runs the probes without the network, and with it.
func trySeatbelt(program, sandboxExec string) error {
	for _, network := range []bool{false, true} {
		if err := tryWorld(network, nil, func(w *probes.World, cmd *exec.Cmd) (*Held, error) {
			return startSeatbelt(cmd, worldProfile(w), sandboxExec)
		}, program); err != nil {
			return err
		}
	}
	return nil
}

// tryWorld runs some of the probes, or all, in a world of their own, by a program that is started in a sandbox.
func tryWorld(network bool, only []string, start func(*probes.World, *exec.Cmd) (*Held, error), program string) error {
	base, err := os.MkdirTemp("", "orchestra-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	base, err = filepath.EvalSymlinks(base)
	if err != nil {
		return err
	}
	w, err := probes.Make(base)
	if err != nil {
		return err
	}
	w.Network, w.Only = network, only
	return w.Judge(program, func(environ []string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, program)
		cmd.Dir, cmd.Env = w.In("src"), environ
		var held *Held
		report, err := probes.Output(cmd, func() (err error) {
			held, err = start(&w, cmd)
			return err
		})
		held.Close()
		return report, err
	})
}

// probeTime is how long the probes may take.
const probeTime = time.Minute

// worldProfile is the profile of which the probes know what it holds.
func worldProfile(w *probes.World) *Profile {
	p := &Profile{Workspace: w.Root, Writable: w.Writable(), Hidden: w.Hidden(), Emptied: w.Emptied(), Temp: w.Temp, DenyNetwork: !w.Network}
	for _, path := range append(w.Frozen(), w.Absent()...) {
		p.Frozen = append(p.Frozen, Frozen{Path: path})
	}
	for _, path := range w.AbsentDirs() {
		p.Frozen = append(p.Frozen, Frozen{Path: path, Directory: true})
	}
	return p
}
