package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// without takes out of deltas what the sandbox put where nothing was: it comes and goes with commands.
func (k *Keeper) without(deltas []delta) []delta {
	if k.options.Placeholder == nil {
		return deltas
	}
	kept := deltas[:0]
	for _, d := range deltas {
		if k.placeholder(d.path, d.before) {
			d.before = nil
		}
		if k.placeholder(d.path, d.after) {
			d.after = nil
		}
		if d.before != nil || d.after != nil {
			kept = append(kept, d)
		}
	}
	return kept
}

// placeholder: there are such only where nobody but the operator may write. It says what the package of that name has it
// say; what is in a directory is told by itself.
func (k *Keeper) placeholder(at string, v *version) bool {
	if v == nil || workspace.Protect(at) == workspace.ProtectNone || !k.options.Placeholder(info{path.Base(at), v.stat}) {
		return false
	}
	content := placeholder.Content(at)
	said := sha256.Sum256([]byte(content))
	return v.stat.kind() == Directory || v.stat.size == 0 && content == "" || v.digest != nil && v.digest.hash == "sha256:"+hex.EncodeToString(said[:])
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
