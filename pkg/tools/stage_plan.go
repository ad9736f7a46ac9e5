package tools

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// maxHeld bounds the contents that a take-over holds to be judged and kept, in bytes.
const maxHeld = 64 << 20

// Plan reads the contents: those of the workspace as they are now, those of the layer as the command left them.
func (t *takingOver) Plan(ctx context.Context) (hooks.Planned, error) {
	p := &changes{
		Files: t.Files, call: t.call, render: t.render, shapes: t.found.shapes,
		byAgent: t.note.Session != "", // and not the operator's `verify`, whoever takes it over
		about:   t.found.packagesIn(map[string]any{record.DetailStaged: t.id, "command": redact.Text(t.note.Command)}),
		built:   t.found.builds(),
		then:    func(ctx context.Context) []string { return t.putBuilt(ctx, t.layers, t.found) },
	}
	if t.note.RecordID != "" {
		p.about["ran"] = t.note.RecordID
	}
	if name := t.found.closed(t.call.Ignore); name != "" {
		t.others = append(t.others, &hooks.FileEffect{
			Change: change.Change{Op: change.Modified, Path: name}, Requested: name, Rehearsed: true, Knowledge: hooks.MadeByCommand,
			Protection: workspace.ProtectIn(t.Workspace.Inside(), name),
		})
	}
	left := int64(maxHeld)
	for i, target := range t.targets {
		effect := t.effects[i]
		if target == nil {
			continue // refused at its step
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		write, err := t.planFile(target, t.sources[i], effect, &left)
		if err != nil {
			return nil, err
		}
		p.add(effect, write)
	}
	for i, l := range t.found.links {
		p.effects = append(p.effects, t.effects[len(t.targets)+i])
		p.shapes = append(p.shapes, workspace.Shape{Path: l.path, Kind: workspace.Symlink, From: l.from, To: l.to})
	}
	if paths := t.linkPaths(); len(paths) > 0 {
		p.about["links"] = paths
	}
	if none := t.unkept(); len(none) > 0 {
		p.about["no_before_image"] = none
		p.notes = append(p.notes, fmt.Sprintf("The content before the change is not kept of %d files (%s); undo cannot bring it back.", len(none), printable.Name(none[0])))
	}
	return p, nil
}

// unkept are files of which the content before is too large to be kept.
func (t *takingOver) unkept() (paths []string) {
	for _, e := range t.effects {
		if e.Unread && e.Before.Hash != "" && e.Before.Bytes == nil && e.Before.Hash != e.After.Hash && len(paths) < maxShown {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

func (t *takingOver) linkPaths() (paths []string) {
	for _, l := range t.found.links[:min(len(t.found.links), maxShown)] {
		paths = append(paths, l.path)
	}
	return paths
}

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
func (t *takingOver) lies(name string) (*workspace.Ready, error) {
	at := path.Dir(name)
	if t.lying[at] == nil {
		dir, err := t.layers.OpenUpper(0, at)
		if err != nil {
			return nil, fmt.Errorf("read %s in the layer: %w", name, err)
		}
		t.lying[at] = dir
	}
	return &workspace.Ready{Dir: t.lying[at], Name: path.Base(name)}, nil
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
