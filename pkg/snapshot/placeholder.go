package snapshot

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// without takes out of deltas what the sandbox put where nothing was: it comes and goes with commands.
func (k *Keeper) without(deltas []delta) []delta {
	if k.options.Placeholder == nil {
		return deltas
	}
	for i := range deltas {
		d := &deltas[i]
		if k.placeholder(d.path, d.before) {
			d.before = nil
		}
		if k.placeholder(d.path, d.after) {
			d.after = nil
		}
	}
	return slices.DeleteFunc(deltas, func(d delta) bool { return d.before == nil && d.after == nil })
}

// placeholder: there are such only where nobody but the operator may write. It says what the package of that name has it
// say; what is in a directory is told by itself.
func (k *Keeper) placeholder(at string, v *version) bool {
	if v == nil || v.stat.kind() != File && v.stat.kind() != Directory {
		return false
	}
	if placeholder.Temporary(path.Base(at)) {
		return v.stat.kind() == Directory || v.stat.size == 0 || v.stat.size <= placeholder.MaxSize && k.says(at, v, placeholder.Contents()...)
	}
	if workspace.Protect(at) == workspace.ProtectNone || !k.options.Placeholder(info{path.Base(at), v.stat}) {
		return false
	}
	content := placeholder.Content(at)
	return v.stat.kind() == Directory || v.stat.size == 0 && content == "" || k.says(at, v, content)
}

// says reports whether a file has one of the contents. What went away before it could be read had one: those of commands
// that run at the same time come and go.
func (k *Keeper) says(at string, v *version, contents ...string) bool {
	if v.digest == nil {
		_, err := k.options.Root.Lstat(at)
		return errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(contents, func(content string) bool {
		return v.digest.hash == string(workspace.HashOf([]byte(content)))
	})
}

// info is a stat for others.
type info struct {
	name string
	stat stat
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.stat.size }
func (i info) Mode() fs.FileMode  { return i.stat.mode }
func (i info) ModTime() time.Time { return time.Unix(0, i.stat.mtime) }
func (i info) IsDir() bool        { return i.stat.mode.IsDir() }
func (i info) Sys() any           { return nil }
