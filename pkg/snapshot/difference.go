package snapshot

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Difference is what changed in a window.
type Difference struct {
	// Changes are sorted by path.
	Changes []Change
	// Gaps are what was not looked into.
	Gaps []Gap
	// Given are paths that changed while this command and another ran, and whose change is in the other's account.
	Given []string
	// Touched are entries out of scope that were touched, sorted by path; not those that are in the scope of another
	// command that ran at the time.
	Touched []Touched
}

// Change is what became of one path.
type Change struct {
	Path string
	// From is where a moved file was.
	From          string
	Op            change.Op
	Before, After *Content // nil where there is nothing
	// Secret: it is at a path that no tool may read, or came from there.
	Secret bool
	// Shared: another command ran at the time of the change, and it cannot be told whose it is.
	Shared bool
	// Nobodys: no command that ran at the time may make it.
	Nobodys bool
	// Was is where the very file, or directory, stood before, if something else stands there now, or where the same look
	// found it too: it was not made by the command, and somebody exchanges names.
	Was string
	// InPlace: it is the same file as before, so all its names have what was written.
	InPlace bool
}

// Content is what stands at a path.
type Content struct {
	Kind Kind
	Mode fs.FileMode
	Size int64
	// Dev and Ino are the number of what has the content; 0 where there are none. Links is how many names it has.
	Dev, Ino, Links uint64
	// Hash is "sha256:" and 64 hexadecimal digits, "" where the content was not read and for what has none. A link's
	// content is its text. OID is git's id of a blob with this content.
	Hash, OID string
	// Bytes are nil where they are not known, or too many; Known tells this from an empty content.
	Bytes []byte
	Known bool
	// Secret: the path is, or a file that is secret has or had the same content. Then its bytes are not known, and the hash
	// is for comparing only: short secrets can be guessed from it.
	Secret bool
}

// changes makes the account of what one window claims.
func (k *Keeper) changes(ctx context.Context, mine []*pending) []Change {
	moved, displaced := moves(mine), displaced(mine)
	var found []Change
	for _, p := range mine {
		c := Change{Path: p.path, Before: content(p.before), After: content(p.after), Shared: p.shared, Nobodys: p.nobodys}
		if p.before != nil && p.after != nil && (p.before.stat.kind() == Directory) != (p.after.stat.kind() == Directory) {
			// A directory where something else was, or the other way about, is two changes.
			found = append(found, Change{Path: p.path, Op: change.Deleted, Before: c.Before, Shared: c.Shared, Nobodys: c.Nobodys})
			c.Before = nil
		}
		switch from, is := moved[p]; {
		case is && from == nil:
			continue // its other end tells
		case is:
			c.Op, c.From, c.Before = change.Moved, from.path, content(from.before)
			c.Shared = c.Shared || from.shared
		case c.Before == nil:
			c.Op, c.Was = change.Created, displaced(p)
		case p.after == nil:
			c.Op = change.Deleted
		default:
			c.Op, c.InPlace = change.Modified, p.before.stat.sameInode(&p.after.stat)
		}
		if p.after != nil && p.after.also != "" {
			c.Was = p.after.also
		}
		found = append(found, c)
	}
	slices.SortStableFunc(found, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	k.hide(found)
	k.fetch(ctx, found)
	return found
}

func content(v *version) *Content {
	if v == nil {
		return nil
	}
	c := &Content{Kind: v.stat.kind(), Mode: v.stat.mode, Size: v.stat.size, Dev: v.stat.dev, Ino: v.stat.ino, Links: v.stat.links, Bytes: v.bytes, Known: v.bytes != nil}
	if v.digest != nil {
		c.Hash, c.OID, c.Size = v.digest.hash, v.digest.oid, v.digest.size
		if c.Kind == Link {
			c.Bytes, c.Known = []byte(v.digest.text), true
		}
	}
	return c
}

// moves pairs what went with what came: the same inode with the same content. An inode number alone is given again to the
// next file that is made. The end that is left out has nil.
func moves(mine []*pending) map[*pending]*pending {
	left := map[number]*pending{}
	for _, p := range mine {
		if p.after == nil && p.before.stat.kind() != Directory && p.before.stat.ino != 0 {
			left[p.before.stat.number()] = p
		}
	}
	pairs := map[*pending]*pending{}
	for _, p := range mine {
		if p.before != nil || p.after == nil {
			continue
		}
		id := p.after.stat.number()
		from := left[id]
		if from == nil || !sameContent(from.before, p.after) {
			continue
		}
		delete(left, id)
		pairs[p], pairs[from] = from, nil
	}
	return pairs
}

// displaced tells of what is new at a path where it stood before, if something else stands there now; "" if it stood nowhere. An
// inode's number is given again, but seldom to what says the same.
func displaced(mine []*pending) (was func(p *pending) string) {
	found := map[number]*pending{}
	for _, p := range mine {
		if p.before != nil && p.before.stat.ino != 0 && (p.after == nil || !p.before.stat.sameInode(&p.after.stat)) {
			found[p.before.stat.number()] = p
		}
	}
	return func(p *pending) string {
		from := found[p.after.stat.number()]
		if from == nil || from.before.stat.kind() != p.after.stat.kind() || p.after.stat.kind() == File && !sameContent(from.before, p.after) {
			return ""
		}
		return from.path
	}
}

func sameContent(before, after *version) bool {
	if before.stat.kind() != after.stat.kind() {
		return false
	}
	if before.digest == nil || after.digest == nil {
		return before.stat.size == after.stat.size && before.stat.mtime == after.stat.mtime
	}
	return before.digest.same(after.digest)
}

// wanted: the bytes of a content are of use to somebody.
func (k *Keeper) wanted(c *Content) bool {
	return c != nil && !c.Secret && c.Kind == File && c.Hash != "" && c.Size <= k.options.Largest
}

// fetch finds contents that are not held: those after from the files, where an earlier walk of a long window had read them
// and they were let go, and those before, which nobody can read from there any more, from what is kept and from git.
func (k *Keeper) fetch(ctx context.Context, changes []Change) {
	left := int64(holdPerWalk)
	for i := range changes {
		c := changes[i].After
		if !k.wanted(c) || c.Known {
			continue
		}
		if left -= c.Size; left < 0 {
			break
		}
		bytes, err := durable.ReadRegularIn(k.options.Root, filepath.FromSlash(changes[i].Path), c.Size)
		c.found(bytes, err == nil)
	}
	left = holdPerWalk
	var wanted []*Content
	for i := range changes {
		c, after := changes[i].Before, changes[i].After
		if !k.wanted(c) || after != nil && after.Known && c.found(after.Bytes, after.Hash == c.Hash) {
			continue
		}
		if left -= c.Size; left < 0 {
			break
		}
		if bytes, ok := k.options.Contents.Get(c.OID); !c.found(bytes, ok) {
			wanted = append(wanted, c)
		}
	}
	k.fromGit(ctx, wanted)
}

// found takes bytes for the content if they are.
func (c *Content) found(bytes []byte, ok bool) bool {
	if ok = ok && string(workspace.HashOf(bytes)) == c.Hash; ok {
		c.Bytes, c.Known = bytes, true
	}
	return ok
}

// gitTime bounds the asking of git.
const gitTime = 20 * time.Second

// fromGit asks the repository for blobs. What it does not have, or answers wrongly, stays unknown.
func (k *Keeper) fromGit(ctx context.Context, wanted []*Content) {
	if len(wanted) == 0 || k.gitIndex() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gitTime)
	defer cancel()
	objects, err := gitread.Repository{Dir: k.options.Root.Name()}.Objects(ctx, "--batch")
	if err != nil {
		return
	}
	defer objects.Close()
	for _, c := range wanted {
		content, err := objects.Blob(c.OID, c.Size)
		if err != nil {
			return
		}
		c.found(content, content != nil)
	}
}
