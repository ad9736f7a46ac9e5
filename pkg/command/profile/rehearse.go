package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Rehearsed are the directories whose changes a rehearsal takes: the workspace, and where its .git is a pointer the git
// directory that all work trees share, with the part of this one. Common is the git directory, Own that of a linked
// work tree, else the same. Paths are absolute.
type Rehearsed struct{ Root, Common, Own string }

// Outer are the directories that need a layer each, the workspace last: what
// takes the changes lies in it, and a layer cannot lie on another.
func (r Rehearsed) Outer() []string {
	if within(r.Root, r.Common) {
		return []string{r.Root}
	}
	return []string{r.Common, r.Root}
}

// Rehearsable finds what git can change here. The error says why a line cannot
// be rehearsed; without one and without a Common there is no repository.
func (m *Builder) Rehearsable() (Rehearsed, error) {
	repo, why := findRepository(m.root)
	switch {
	case why != "":
		return Rehearsed{}, errors.New(why)
	case repo == nil:
		return Rehearsed{Root: m.root}, nil
	}
	return Rehearsed{m.root, repo.common, cmp.Or(repo.own, repo.common)}, nil
}

// GuardedInGit reports whether a path in a git directory, relative to it, is one that commands never change.
func GuardedInGit(name string) bool {
	for dir := name; dir != "." && dir != "/"; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if isGuarded(dir) {
			return true
		}
	}
	return false
}

// Rehearse works out what a command may reach whose changes go into layers: all of what these lie over, but for what is
// secret. Of req it takes Rules, Hidden and DenyNetwork.
func (m *Builder) Rehearse(req Request, layers []sandbox.Layer) (*Profile, error) {
	return m.begin(sandbox.Full, func(r *Profile) error {
		r.Sandbox = &sandbox.Profile{Workspace: m.root, Temp: r.temp.path, DenyNetwork: req.DenyNetwork, Layers: layers}
		for _, layer := range layers {
			r.Sandbox.Writable = append(r.Sandbox.Writable, layer.Path)
		}
		m.openCaches(r)
		s, err := m.survey(Request{Rules: req.Rules})
		if err != nil {
			return fmt.Errorf("look at the workspace: %w", err)
		}
		r.hide(s, req)
		return nil
	})
}
