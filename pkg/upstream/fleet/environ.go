package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Inherited are the variables of our environment that a program gets; a name that ends in a star is a beginning.
const Inherited = "PATH HOME USER LOGNAME LANG LC_* TZ TERM"

// surroundings are what the words of definitions are read in.
type surroundings struct {
	environ         []string
	workspace, home string
}

func (o *Options) surroundings() surroundings {
	return surroundings{environ: o.Environ, workspace: o.Workspace, home: lookup(o.Environ, "HOME")}
}

// expand puts the workspace in its place, and the home directory in that of a leading ~/.
func (s surroundings) expand(word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok && s.home != "" {
		word = filepath.Join(s.home, rest)
	}
	return strings.ReplaceAll(word, upstream.Workspace, s.workspace)
}

func (s surroundings) expandAll(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = s.expand(word)
	}
	return out
}

// environment is what a program gets: what is inherited, what its profile sets, what the operator says, and the secrets.
func (s surroundings) environment(made *profile.Profile, own, secrets []string) []string {
	var env []string
	for _, entry := range s.environ {
		if name, _, ok := strings.Cut(entry, "="); ok && inherited(name) {
			env = append(env, entry)
		}
	}
	env = profile.Overlay(profile.Overlay(made.Environment(env), s.expandAll(own)), secrets)
	return profile.Overlay(env, []string{"PATH=" + s.searchPath(lookup(env, "PATH"))})
}

func inherited(name string) bool {
	return slices.ContainsFunc(strings.Fields(Inherited), func(one string) bool {
		start, all := strings.CutSuffix(one, "*")
		return name == one || all && strings.HasPrefix(name, start)
	})
}

// searchPath is a PATH without what an agent could put programs into: relative directories, and those of the workspace.
func (s surroundings) searchPath(path string) string {
	kept := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) || s.inWorkspace(dir) })
	return strings.Join(kept, string(filepath.ListSeparator))
}

// inWorkspace reports whether a path leads into the workspace, by its words or by its links.
func (s surroundings) inWorkspace(path string) bool {
	inside := func(path string) bool {
		way, err := filepath.Rel(s.workspace, path)
		return err == nil && filepath.IsLocal(way)
	}
	real, err := filepath.EvalSymlinks(path)
	return inside(filepath.Clean(path)) || err == nil && inside(real)
}

// find makes the program of a command line absolute.
func (s surroundings) find(name, path string) (string, error) {
	switch {
	case filepath.IsAbs(name):
		return name, nil
	case strings.ContainsRune(name, '/'):
		return "", fmt.Errorf("the program %q is relative: name it alone, or by an absolute path", name)
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !s.inWorkspace(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("the program %q is not in PATH (%s), where relative directories and those of the workspace do not count", name, path)
}

func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
