package snapshot

import (
	"encoding/hex"
	"io"
	"os"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/kept"
)

// secrets are the rules that a Keeper last saw.
type secrets struct {
	is     func(path string) bool // nil: nothing is secret
	digest string                 // "" where they are not known, and all is taken for secret
}

// has reports whether a path is secret.
func (s *secrets) has(path string) bool { return s.is != nil && s.is(path) }

// learnSecrets is called before each walk. Where the rules are others than before, what was read under the old ones is
// judged again, and the state that is saved is written anew, without what is secret now.
func (k *Keeper) learnSecrets() {
	is, rules := k.options.Secrets()
	same := rules == k.secrets.digest && rules != ""
	k.secrets = secrets{is, rules}
	if same {
		return
	}
	k.stale = true
	var found []string
	k.root.judge("", &writer{}, &k.secrets, func(d *digest) { found = append(found, d.oid) })
	if rules != "" {
		k.options.Contents.Deny(found...)
	}
}

// judge marks what is secret in a directory and below, and gives the contents of files that are. w is for its use.
func (n *node) judge(at string, w *writer, rules *secrets, found func(*digest)) {
	changed := false
	var e entry
	r := n.reader()
	for w.begin(n, &r); r.next(&e); w.add(&e) {
		d := e.read.digest()
		if d == nil {
			continue
		}
		was := d.secret
		if d.secret = rules.has(join(at, e.name)); d.secret && e.stat.kind() == File && d.size > 0 {
			found(d)
		}
		if d.secret != was {
			changed, e.read = true, packDigest(d)
		}
	}
	if changed {
		w.into(n)
	}
	for _, dir := range n.dirs {
		dir.judge(join(at, dir.name), w, rules, found)
	}
}

// shown is what may be written down of a content: of a secret not even its hash, as a short one can be guessed from that.
func (k *Keeper) shown(d *digest) *digest {
	if d == nil || d.secret || d.text == "" && d.size > 0 && k.options.Contents.Denied(d.oid) {
		return nil
	}
	return d
}

// hide takes from changes what is secret by the rules as they are now: a rule can have come while the command ran.
func (k *Keeper) hide(changes []Change) {
	var now secrets
	now.is, _ = k.options.Secrets()
	for i := range changes {
		c := &changes[i]
		c.Secret = now.has(c.Path) || c.From != "" && now.has(c.From)
		for _, content := range []*Content{c.Before, c.After} {
			switch {
			case content == nil:
			case content.Kind == Directory:
				c.Secret = c.Secret || now.has(c.Path+"/")
			case c.Secret || k.denied(content):
				content.Secret, content.Bytes, content.Known = true, nil, false
			}
		}
	}
}

// Secret reports whether a path, of which a directory's ends in a slash, is secret, or the content of a file that stood
// there and is not nil. What cannot be read is.
func (k *Keeper) Secret(path string, file *os.File) bool {
	is, _ := k.options.Secrets()
	if is == nil {
		return false
	}
	if is(path) || file == nil {
		return is(path)
	}
	info, err := file.Stat()
	if err != nil {
		return true
	}
	blob := k.options.NewBlobHash(info.Size())
	if _, err := io.Copy(blob, file); err != nil {
		return true
	}
	return k.denied(&Content{Kind: File, Size: info.Size(), OID: hex.EncodeToString(blob.Sum(nil))})
}

// denied reports whether a secret file has, or had, a content.
func (k *Keeper) denied(c *Content) bool {
	return c.Kind == File && c.Size > 0 && c.OID != "" && k.options.Contents.Denied(c.OID)
}

// keeping gathers in one walk what is to be kept of it.
type keeping struct {
	keeper *Keeper
	has    func() func(oid string) bool

	mu     sync.Mutex
	found  []kept.Content
	denied []string
}

func (k *Keeper) keep() *keeping {
	return &keeping{keeper: k, has: sync.OnceValue(k.gitHas)}
}

// seen is called for each content that is read, by several workers.
func (g *keeping) seen(path string, d *digest, content []byte) {
	if d.secret {
		if d.size > 0 && g.keeper.secrets.digest != "" {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.denied = append(g.denied, d.oid)
		}
		return
	}
	if content == nil || d.size > keepImage || g.has()(d.oid) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keeper.keepLeft -= max(d.size, keepBlock); g.keeper.keepLeft >= 0 {
		g.found = append(g.found, kept.Content{ID: d.oid, Bytes: content, Paths: []string{path}})
	}
}

// done keeps what was found. That waits for the end of the walk: what has several names may be secret by the last.
func (g *keeping) done() {
	g.keeper.options.Contents.Deny(g.denied...)
	_ = g.keeper.options.Contents.Put(g.found...) // of each change that comes it is tried again
}
