package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Resolve finds the file that requested names: relative to the workspace, or absolute and inside it. The
// path is first cleaned lexically ("a/../b" is "b"), then its links are resolved, also a link in the last
// place; a dangling one leads to the missing path that it names. Nothing is read or opened but directories.
// Text that can only mean a directory ("", ".", "x/") is refused; a directory without a trailing slash is
// found and has that Kind. The caller closes the target.
func (w *Workspace) Resolve(requested string) (*Target, error) {
	if err := validText(requested); err != nil {
		return nil, pathError("resolve", requested, err)
	}
	if namesDirectory(requested) {
		return nil, pathError("resolve", requested, fmt.Errorf("%w: it names a directory", ErrNotRegular))
	}
	return w.resolve(requested)
}

// ResolveDir is Resolve for paths that may name a directory, such as "." and "src/".
func (w *Workspace) ResolveDir(requested string) (*Target, error) { return w.resolve(requested) }

// ResolveExactly is Resolve for a relative path that is taken as it is: no link is followed, one in the last place has the Kind
// Symlink, and below what is no directory everything counts as missing. It is for changes of which the path is known from
// the file system itself, together with what else changes on the way to it.
func (w *Workspace) ResolveExactly(exact string) (*Target, error) {
	if err := validExactly(exact); err != nil {
		return nil, err
	}
	return w.run(&resolver{w: w, pending: components(exact), exactly: true}, exact)
}

func validExactly(exact string) error {
	if err := validText(exact); err != nil || !isExact(exact) {
		return pathError("resolve", exact, errors.Join(ErrInvalidPath, err))
	}
	return nil
}

// isExact reports whether a path names something below the workspace, and each directory on the way to it once.
func isExact(at string) bool {
	return path.Clean(at) == at && filepath.IsLocal(filepath.FromSlash(at)) && at != "."
}

func (w *Workspace) resolve(requested string) (*Target, error) {
	clean, err := w.relative(requested)
	if err != nil {
		return nil, pathError("resolve", requested, err)
	}
	return w.run(&resolver{w: w, pending: components(clean)}, requested)
}

func (w *Workspace) run(r *resolver, requested string) (*Target, error) {
	t, err := r.run()
	if err != nil {
		r.closeLevels(nil)
		return nil, pathError("resolve", requested, err)
	}
	return t, nil
}

// resolver walks names from the workspace's top, holding every directory on the way open: ".." in a link
// goes back to the directory it was entered from, not to whatever its parent is by now.
type resolver struct {
	w       *Workspace
	levels  []level  // below the top
	pending []string // names still to be walked
	missing []string // names below the last level that do not exist
	last    *durable.Stat
	links   int // followed, or lost to a race
	protect protector
	exactly bool // no link is followed
	lent    bool // the levels are somebody else's to close
}

type level struct {
	name string
	dir  *durable.Dir
	used bool // by a target, where the level is lent
}

func (r *resolver) current() *durable.Dir {
	if len(r.levels) == 0 {
		return r.w.top
	}
	return r.levels[len(r.levels)-1].dir
}

func (r *resolver) run() (*Target, error) {
	for len(r.pending) > 0 {
		name := r.pending[0]
		r.pending = r.pending[1:]
		if err := r.step(name); err != nil {
			return nil, err
		}
		if r.links > maxLinks {
			return nil, fmt.Errorf("%w: more than %d symbolic links", ErrInvalidPath, maxLinks)
		}
	}
	return r.target()
}

func (r *resolver) step(name string) error {
	if name == ".." {
		return r.up()
	}
	r.protect.add(name)
	if len(r.missing) > 0 {
		r.missing = append(r.missing, name)
		return nil
	}
	st, err := r.current().Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.missing = []string{name}
		return nil
	case err != nil:
		return err
	case st.Mode&fs.ModeSymlink != 0 && !r.exactly:
		return r.follow(name)
	case st.Mode.IsDir():
		return r.down(name)
	case len(r.pending) > 0 && r.exactly:
		r.missing = []string{name}
		return nil
	case len(r.pending) > 0:
		return fmt.Errorf("%w: %s is not a directory", ErrNotRegular, visible(name))
	}
	r.missing, r.last = []string{name}, &st
	return nil
}

func (r *resolver) down(name string) error {
	dir, err := r.current().OpenDir(name)
	if err != nil && errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		// It was a directory a moment ago: look at it again.
		r.links++
		r.pending = slices.Insert(r.pending, 0, name)
		return nil
	}
	r.levels = append(r.levels, level{name: name, dir: dir})
	return nil
}

func (r *resolver) up() error {
	switch {
	case len(r.missing) > 0:
		return ErrNotExist
	case len(r.levels) == 0:
		// Out of the workspace, and perhaps in again: decided like an absolute link.
		return r.jump(r.w.real + "/..")
	}
	r.levels[len(r.levels)-1].dir.Close()
	r.levels = r.levels[:len(r.levels)-1]
	return nil
}

func (r *resolver) follow(name string) error {
	r.links++
	text, err := r.current().Readlink(name)
	if err != nil && errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err != nil {
		// It was a link a moment ago: look at it again.
		r.pending = slices.Insert(r.pending, 0, name)
		return nil
	}
	text = filepath.ToSlash(text)
	if err := validText(text); err != nil {
		return err
	}
	if filepath.IsAbs(filepath.FromSlash(text)) {
		return r.jump(text)
	}
	r.pending = append(components(text), r.pending...)
	return nil
}

// jump continues at an absolute path, which must lead back into the workspace.
func (r *resolver) jump(abs string) error {
	r.links++
	rest := strings.Join(r.pending, "/")
	inside, ok := r.w.locate(abs + "/" + rest)
	if !ok {
		return ErrOutside
	}
	r.closeLevels(nil)
	r.pending = components(inside)
	return nil
}

func (r *resolver) closeLevels(keep *durable.Dir) {
	for _, l := range r.levels {
		if l.dir != keep {
			l.dir.Close()
		}
	}
	r.levels = nil
}

// target turns the walk's end into a Target. A directory is held by its parent and its name like a file, so
// that a change of it is bound in the same way; the workspace itself has no parent here.
func (r *resolver) target() (*Target, error) {
	names := make([]string, 0, len(r.levels)+len(r.missing))
	for _, l := range r.levels {
		names = append(names, l.name)
	}
	names = append(names, r.missing...)
	resolved := path.Join(names...)
	if resolved == "" {
		return &Target{w: r.w, path: ".", kind: Directory, parent: r.w.top, protection: r.protection(nil)}, nil
	}
	if err := validText(resolved); err != nil {
		return nil, err
	}
	t := &Target{w: r.w, path: resolved, protection: max(r.protect.strictest, Protect(resolved), r.protection(names)), gitParts: r.gitParts(names), name: names[len(names)-1]}
	switch {
	case len(r.missing) == 0:
		t.kind = Directory
		t.self = r.current()
		r.levels = r.levels[:len(r.levels)-1]
	case r.last != nil:
		t.kind = kindOf(r.last.Mode)
	default:
		t.rest = r.missing[:len(r.missing)-1]
	}
	t.parent, t.lent = r.current(), r.lent
	if !r.lent {
		r.closeLevels(t.parent)
	}
	return t, nil
}

// locate finds the part of an absolute path below the workspace. Beside the two spellings that are known,
// any prefix that is the workspace's directory serves (bind mounts, links elsewhere), the longest first.
func (w *Workspace) locate(abs string) (inside string, ok bool) {
	for _, base := range []string{w.real, w.dir} {
		rest, found := strings.CutPrefix(abs, base)
		if found && (rest == "" || rest[0] == '/' || strings.HasSuffix(base, "/")) && stays(rest) {
			return strings.TrimLeft(rest, "/"), true
		}
	}
	top, err := w.top.Stat()
	if err != nil {
		return "", false
	}
	for end := len(abs); end > 0; end = strings.LastIndexByte(abs[:end], '/') {
		info, err := os.Stat(filepath.FromSlash(abs[:end]))
		if err == nil && durable.Same(top, durable.StatInfo(info)) {
			return strings.TrimLeft(abs[end:], "/"), stays(abs[end:])
		}
	}
	return "", false
}

// stays reports whether the path, taken lexically, does not climb above its start.
func stays(rest string) bool {
	clean := path.Clean(strings.TrimLeft(rest, "/"))
	return clean != ".." && !strings.HasPrefix(clean, "../")
}
