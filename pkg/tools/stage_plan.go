package tools

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// maxHeld bounds the contents that a take-over holds to be judged and kept, in bytes.
const maxHeld = 64 << 20

// planFile reads the contents of one file.
func (t *takingOver) planFile(target, source *workspace.Target, effect *hooks.FileEffect, left *int64) (workspace.Change, error) {
	write := workspace.Change{Op: effect.Op, Target: target}
	if source != nil {
		write.Target, write.To, target = source, target, source
	}
	if effect.Op != change.Created {
		f, err := target.Open()
		if err != nil {
			return write, readProblem(effect.Path, err)
		}
		defer f.Close()
		if effect.Before, effect.BeforeSize, err = t.version(f, effect, left); err != nil {
			return write, err
		}
		effect.ExpectedHash = effect.Before.Hash // which the layer's age vouches for
	}
	if effect.Op != change.Deleted {
		ready, err := t.lies(effect.Path)
		if err != nil {
			return write, err
		}
		f, err := ready.Dir.Open(ready.Name)
		if err != nil {
			return write, err
		}
		defer f.Close()
		if effect.After, effect.AfterSize, err = t.version(f, effect, left); err != nil {
			return write, err
		}
		ready.Hash, write.Ready = effect.After.Hash, ready
	}
	if effect.Before.Hash == effect.After.Hash {
		effect.Before.Mode, effect.After.Mode = modesOf(target, write.Ready)
		if effect.Before.Mode == effect.After.Mode && effect.Op == change.Moved {
			write.Ready = nil // it is that very file
		}
	}
	if !effect.Unread {
		effect.Hunks = hooks.HunksOf(effect.Before.Bytes, effect.After.Bytes)
	}
	return write, nil
}

// lies opens the directory in which the layer has a file.
func (t *takingOver) lies(path string) (*workspace.Ready, error) {
	dirs, base := inUpper(path)
	way := strings.Join(dirs, "/")
	if t.lying[way] == nil {
		dir, err := t.layers.OpenUpper(0, dirs...)
		if err != nil {
			return nil, fmt.Errorf("read %s in the layer: %w", path, err)
		}
		t.lying[way] = dir
	}
	return &workspace.Ready{Dir: t.lying[way], Name: base}, nil
}

// version is what an open file holds: its hash, and its bytes where they are not too many.
func (t *takingOver) version(f *os.File, effect *hooks.FileEffect, left *int64) (v change.Version, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return v, 0, err
	}
	if size = info.Size(); size <= t.Limit && size <= *left {
		*left -= size
		content, err := io.ReadAll(io.LimitReader(f, size+1))
		if err == nil && int64(len(content)) != size {
			err = refusal.Newf(refusal.Busy, "%s is being written at the moment.", effect.Path)
		}
		return change.Version{Hash: workspace.HashOf(content), Bytes: content}, size, err
	}
	effect.Unread = true
	v.Hash, err = workspace.HashFile(f)
	return v, size, err
}

// modesOf are the permissions of a file in the workspace, and of one that lies ready.
func modesOf(target *workspace.Target, ready *workspace.Ready) (before, after change.Mode) {
	if f, err := target.Open(); err == nil {
		if info, err := f.Stat(); err == nil {
			before = change.ModeOf(info.Mode())
		}
		f.Close()
	}
	if st, err := ready.Dir.Lstat(ready.Name); err == nil {
		after = change.ModeOf(st.Mode)
	}
	return before, after
}
