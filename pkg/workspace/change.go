package workspace

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Change is one planned effect. Links are never changed themselves: a Target is what they lead to.
type Change struct {
	Op     change.Op
	Target *Target
	To     *Target // Move: where to
	Before Hash    // Modify, Delete, Move: the content that must be there
	// After is the new content for Create and Modify (nil is an empty file). For Move, nil keeps the content.
	After []byte
	// Ready stands for After where the new content lies ready in a file; its permissions are the file's.
	Ready *Ready
	// Mode are the permissions of the file after the change; nil leaves them as they are, or as new files have them. A Modify
	// with the content that is there sets them alone.
	Mode *fs.FileMode
}

// Ready is a new content that lies ready in a file of the same file system. The file gets a second name (a hard link), so
// that it stays where it is if the change does not come about.
type Ready struct {
	Dir  *durable.Dir
	Name string
	Hash Hash
}

// Result is what happened to one file, in the order of the changes. It has no bytes.
type Result struct {
	change.Change
	// Links is how many names the file had before; 0 where that is not known.
	Links uint64
	// Warnings say, for people, what could not be kept or proven, such as an owner or other hard links.
	Warnings []string
}

func (c Change) valid() error {
	switch {
	case !c.Op.Changes():
		return fmt.Errorf("%w: unknown operation %v", ErrConflict, c.Op)
	case c.Target == nil || c.Target.parent == nil || c.Target.name == "":
		return fmt.Errorf("%w: %v without an open target file", ErrConflict, c.Op.Verb())
	case c.Op == change.Moved && (c.To == nil || c.To.parent == nil || c.To.name == ""):
		return fmt.Errorf("%w: move without an open destination", ErrConflict)
	case c.Op != change.Created && c.Before == "":
		return fmt.Errorf("%w: %v of %s without the expected hash", ErrConflict, c.Op.Verb(), visible(c.Target.path))
	}
	return nil
}

func (c Change) targets() []*Target {
	if c.Op == change.Moved {
		return []*Target{c.Target, c.To}
	}
	return []*Target{c.Target}
}

// validate checks the changes and returns all their paths, sorted.
func (w *Workspace) validate(changes []Change) ([]string, error) {
	var paths []string
	for _, c := range changes {
		if err := c.valid(); err != nil {
			return nil, err
		}
		for _, t := range c.targets() {
			if t.w != w {
				return nil, fmt.Errorf("%w: %s belongs to another workspace", ErrConflict, visible(t.path))
			}
			paths = append(paths, t.path)
		}
	}
	slices.Sort(paths)
	for i := 1; i < len(paths); i++ {
		if paths[i] == paths[i-1] {
			return nil, pathError("prepare", paths[i], fmt.Errorf("%w: it is changed twice in one call", ErrConflict))
		}
	}
	return paths, nil
}
