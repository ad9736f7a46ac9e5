package intent

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// Bounds of one Coverage.
const (
	maxCovered  = 1_000_000 // files and directories that are counted
	maxChildren = 5000
)

// Coverage is one directory of the workspace held against a scope.
type Coverage struct {
	Dir string `json:"dir"` // "." for the workspace
	In  int    `json:"in"`  // files below that are in the scope, links among them
	Out int    `json:"out"` // and that are not

	Children []Covered `json:"children"` // directories first, then by name; the first 5,000
	Omitted  int       `json:"omitted"`  // children that are left out of the list
	// Partly: there is more than a million files and directories, and the rest was not counted.
	Partly bool `json:"partly,omitempty"`
}

// Covered is a file or a directory in a Coverage.
type Covered struct {
	Name  string `json:"name"`
	IsDir bool   `json:"is_dir"`
	In    int    `json:"in"` // files, the file itself among them
	Out   int    `json:"out"`
	Share Share  `json:"share"`
}

// Share says how much of a directory is in a scope.
type Share string

// The shares. An empty directory is there wholly if whatever would be put into it is in the scope.
const (
	Wholly   Share = "wholly"
	Partly   Share = "partly"
	NotAtAll Share = "not"
)

// Coverage tells which children of a directory a scope covers, and how many files; it walks all that is below. The scope need
// not be one of the file's. Without .git and .orchestration, as [Store.Walk].
func (s *Store) Coverage(ctx context.Context, dir string, scope *Scope) (Coverage, error) {
	first, _, _ := strings.Cut(dir, "/")
	if !fs.ValidPath(dir) || first == ".git" || first == orchdir.Name {
		return Coverage{}, fmt.Errorf("%q is not a directory that a scope can reach: give a clean path relative to the workspace", dir)
	}
	if info, err := s.root.Lstat(dir); err != nil || !info.IsDir() {
		return Coverage{}, cmp.Or(err, fmt.Errorf("%s is not a directory", dir))
	}
	c := coverage{Coverage: Coverage{Dir: dir, Children: []Covered{}}, depth: depthOf(dir)}
	err := s.Walk(dir, func(name string, isDir bool) error {
		if c.seen++; c.seen > maxCovered {
			c.Partly = true
			return fs.SkipAll
		}
		if name == dir {
			c.trail = append(c.trail, scope.At(dir))
		} else {
			c.visit(name, isDir)
		}
		return ctx.Err()
	})
	for i := range c.Children {
		child := &c.Children[i]
		if child.Share == "" {
			child.Share = shareOf(child.In, child.Out)
		}
	}
	slices.SortStableFunc(c.Children, func(a, b Covered) int {
		switch {
		case a.IsDir == b.IsDir:
			return 0
		case a.IsDir:
			return -1
		}
		return 1
	})
	if more := len(c.Children) - maxChildren; more > 0 {
		c.Children, c.Omitted = c.Children[:maxChildren], more
	}
	return c.Coverage, err
}

// coverage is one on the walk.
type coverage struct {
	Coverage
	depth int // of the directory
	seen  int
	trail []Position // of the directories from there down to where the walk is
}

// depthOf counts the names in a path.
func depthOf(name string) int {
	if name == "." {
		return 0
	}
	return strings.Count(name, "/") + 1
}

func (c *coverage) visit(name string, isDir bool) {
	depth := depthOf(name) - c.depth
	c.trail = c.trail[:depth]
	base, parent := path.Base(name), c.trail[depth-1]
	if depth == 1 {
		c.Children = append(c.Children, Covered{Name: base, IsDir: isDir})
	}
	child := &c.Children[len(c.Children)-1]
	switch {
	case isDir:
		below := parent.Below(base)
		c.trail = append(c.trail, below)
		if depth == 1 && below.Covers() {
			child.Share = Wholly
		}
	case parent.Has(base):
		c.In, child.In = c.In+1, child.In+1
	default:
		c.Out, child.Out = c.Out+1, child.Out+1
	}
}

func shareOf(in, out int) Share {
	switch {
	case in == 0:
		return NotAtAll
	case out == 0:
		return Wholly
	}
	return Partly
}
