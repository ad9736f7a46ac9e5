package clientsetup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// maxConfigSize bounds what is read: no client's settings are near it, and a workspace can hold anything.
const maxConfigSize = 8 << 20

// read returns the content of a configuration file, or existed=false if there is none.
func (p *planner) read(path string, inside bool) (text []byte, existed bool, err error) {
	target, err := resolveTarget(p.Workspace, path, inside)
	if err != nil {
		return nil, false, err
	}
	text, err = durable.ReadRegular(target, maxConfigSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, durable.ErrNotRegular):
		return nil, false, fmt.Errorf("%s: %w: it is not a regular file", path, ErrUnmergeable)
	case errors.Is(err, durable.ErrTooLarge):
		return nil, false, fmt.Errorf("%s: %w: it is larger than %d bytes", path, ErrUnmergeable, maxConfigSize)
	case err != nil:
		return nil, false, fmt.Errorf("read the configuration: %w", err)
	}
	return text, true, nil
}

// resolveTarget follows links to the file that will be replaced, so that a configuration kept in a dotfiles directory
// stays a link. A workspace file must stay in the workspace.
func resolveTarget(workspace, path string, inside bool) (string, error) {
	target, err := resolveExisting(path)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", path, err)
	}
	if !inside {
		return target, nil
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", fmt.Errorf("resolve the workspace: %w", err)
	}
	rel, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s %w: it is a link to %s; replace the link by a file or directory of its own",
			path, ErrOutside, target)
	}
	return target, nil
}

// resolveExisting resolves the links of the longest existing part of path; what does not exist yet is appended.
func resolveExisting(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return resolved, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", errors.New("it is a link to a place that does not exist; remove the link")
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	resolved, err = resolveExisting(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(resolved, filepath.Base(path)), nil
}

// Apply writes the files that differ. It stops at the first failure; files before it stay written, and running
// the setup again does the rest. The new files of the user's own directories are readable by the user only. What
// each file was before is kept in the user's directory, for a removal.
func (p *Plan) Apply(workspace string) error {
	for _, do := range p.steps(workspace) {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// steps are what applying the plan does, in order. A process can be killed between any two: a server that moves is in the place
// where it goes to, and what is needed to put it back is kept, before it leaves the one where it was.
func (p *Plan) steps(workspace string) (steps []func() error) {
	write := func(files []File) {
		for i := range files {
			if file := &files[i]; file.writes() {
				steps = append(steps, func() error {
					if err := file.write(workspace, p.userDir); err != nil {
						return fmt.Errorf("write %s: %w", file.Name, err)
					}
					return nil
				})
			}
		}
	}
	switch {
	case p.Adoption == nil:
		write(p.Files)
	case p.Adoption.giving:
		write(p.Files)
		write(p.Adoption.Files)
		for _, receipt := range p.Adoption.given {
			steps = append(steps, func() error { forget(p.userDir, receipt); return nil })
		}
	default:
		for i := range p.Files {
			if file := &p.Files[i]; file.writes() && len(file.adopted) > 0 {
				steps = append(steps, func() error { return remember(p.userDir, file) })
			}
		}
		write(p.Adoption.Files)
		write(p.Files)
	}
	return steps
}

func (f *File) writes() bool {
	return f.Action == Created || f.Action == Updated || f.Action == Removed
}

func (f *File) write(workspace, userDir string) error {
	target, err := resolveTarget(workspace, f.Path, f.inside)
	if err != nil {
		return err
	}
	if err := f.unchanged(target); err != nil {
		return err
	}
	switch {
	case f.aside:
	case f.Action == Removed || bytes.Equal(f.Content, f.bare) && f.bareExists:
		if len(f.adopted) == 0 { // else when those are where they were
			defer forget(userDir, f.Path)
		}
	default:
		if err := remember(userDir, f); err != nil {
			return err
		}
	}
	if f.Action == Removed {
		if err := os.Remove(target); err != nil {
			return err
		}
		f.removeEmptied(workspace)
		return nil
	}
	dirMode := fs.FileMode(0o755)
	if f.aside && !f.inside {
		dirMode = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(target), dirMode); err != nil {
		return err
	}
	return replaceFile(target, f.Content, f.mode, func() error { return f.unchanged(target) })
}

// unchanged: nobody has written the file since the plan was made.
func (f *File) unchanged(target string) error {
	present, err := durable.ReadRegular(target, maxConfigSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if existed := err == nil; existed != f.existed || !bytes.Equal(present, f.before) {
		return fmt.Errorf("%w: run the command again", ErrChanged)
	}
	return nil
}

// removeEmptied removes the directories in the workspace that have nothing in them any more.
func (f *File) removeEmptied(workspace string) {
	for dir := filepath.Dir(f.Path); f.inside && dir != filepath.Clean(workspace) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// replaceFile writes content beside target and renames it over target, keeping the mode of an existing file: a
// reader, and a crash, see the old file or the new one. What has to hold still is asked at the last moment: some clients write
// their files all the time.
func replaceFile(target string, content []byte, mode fs.FileMode, still func() error) error {
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(target), ".orchestra-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err == nil {
		err = errors.Join(temp.Chmod(mode), temp.Sync())
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := still(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), target)
}
