package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// workspaceDir is the absolute path of the workspace that a subcommand is about: --workspace, else the nearest
// directory upward that has .orchestration, else the current directory.
func (a *app) workspaceDir() (string, error) {
	current, err := a.workDir()
	if err != nil {
		return "", fmt.Errorf("find the current directory: %w; change to one that exists, or give --workspace DIR", err)
	}
	if a.workspaceFlag != "" {
		return existingDir(a.workspaceFlag, current)
	}
	for dir := current; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ".orchestration")); err == nil && info.IsDir() {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return current, nil
		}
	}
}

func existingDir(dir, current string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(current, dir)
	}
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", mistakef("--workspace %s: there is no such directory; create it first", dir)
	case err != nil:
		return "", mistakef("--workspace %s: %w", dir, err)
	case !info.IsDir():
		return "", mistakef("--workspace %s: it is not a directory", dir)
	}
	return dir, nil
}

// openWorkspace opens the workspace so that nothing outside of it can be reached through it.
func (a *app) openWorkspace() (*os.Root, error) {
	dir, err := a.workspaceDir()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return root, nil
}
