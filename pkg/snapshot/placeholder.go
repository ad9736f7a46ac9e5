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
	if workspace.Protect(at) == workspace.ProtectNone || !placeholder.Marked(v.stat.mode, v.stat.size, time.Unix(0, v.stat.mtime)) {
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
