package undo

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// disk is the workspace as a plan finds it, with the contents that it needs. It reads each path once: a plan that is worked out
// anew is one of the same files.
type disk struct {
	Source
	ctx   context.Context
	found map[string]*onDisk
	known map[string][]byte // contents by their SHA-256
	size  int64             // of these
}

// onDisk is what stands at a path.
type onDisk struct {
	change.Version
	links uint64 // how many names the file has
	unfit error  // why the path cannot be used
}

func newDisk(ctx context.Context, s Source) *disk {
	return &disk{Source: s, ctx: ctx, found: map[string]*onDisk{}, known: map[string][]byte{"": nil, workspace.HashOf(nil): {}}}
}

// at looks at a path.
func (d *disk) at(path string) *onDisk {
	f := d.found[path]
	if f == nil {
		f = &onDisk{}
		f.unfit = d.load(f, path)
		d.found[path] = f
	}
	return f
}

func (d *disk) load(f *onDisk, path string) error {
	target, err := d.Files.Resolve(path)
	if err != nil {
		return err
	}
	defer target.Close()
	switch {
	case target.Path() != path:
		return fmt.Errorf("a symbolic link stands there or on the way, and the path leads to %s now", target.Path())
	case target.Protection() >= workspace.ProtectNever:
		return errors.New("the path belongs to the governance files or to git")
	case target.Kind() == workspace.Missing:
		return nil
	case target.Kind() != workspace.Regular:
		return fmt.Errorf("a %s stands there", target.Kind())
	}
	content, err := target.Read(d.Largest)
	if err != nil {
		return err
	}
	f.Version = change.Version{Hash: content.Hash, Mode: change.ModeOf(content.Info.Mode())}
	f.links = content.Links
	return d.know(f.Hash, content.Bytes)
}

// missing reports that nothing stands at a path, and something could.
func (d *disk) missing(path string) bool {
	f := d.at(path)
	return f.Hash == "" && f.unfit == nil
}
