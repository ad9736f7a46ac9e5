// Package gitdir reads what the files of a git repository say, without running git. It never writes and never fails: what
// cannot be read is not known. It promises to wait for no pipe and to give away nothing but hex digits and paths, whatever a
// clone has brought; it does not understand ref storages that are not made of files.
package gitdir

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Git reads what the ledger needs of a repository, without running git. It never writes and never fails: what cannot
// be read is not known. The files are hostile (they may come with a clone): only hex digits leave this type.
type Git struct {
	dir    string
	sha256 func() bool

	mu     sync.Mutex
	packed packedRefs
}

// packedRefs is the one file that can be large, so it is parsed again only when it has changed.
type packedRefs struct {
	size     int64
	modified time.Time
	refs     map[string]string
}

// Bounds of what is read of git's files, in bytes.
const (
	maxGitFile    = 1 << 20
	maxPackedRefs = 256 << 20
)

// New looks at the repository that contains dir, at each question anew.
func New(dir string) *Git {
	g := &Git{dir: dir}
	g.sha256 = sync.OnceValue(g.readObjectFormat)
	return g
}

// BlobID gives git's id of a blob with this content: SHA-1, or SHA-256 in a repository that uses it.
func (g *Git) BlobID(content []byte) string {
	h := g.NewBlobHash(int64(len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// NewBlobHash is BlobID for content that is written piece by piece, size bytes in all.
func (g *Git) NewBlobHash(size int64) hash.Hash {
	h := sha1.New()
	if g.sha256() {
		h = sha256.New()
	}
	io.WriteString(h, "blob "+strconv.FormatInt(size, 10)+"\x00")
	return h
}

// Revision gives the commit that HEAD names, or nothing: no repository, an unborn branch, a ref storage that is not
// made of files.
func (g *Git) Revision() string {
	_, gitDir := g.Find()
	if gitDir == "" {
		return ""
	}
	value := readSmall(filepath.Join(gitDir, "HEAD"))
	for range 5 { // a symbolic ref may name another
		name, symbolic := strings.CutPrefix(value, "ref: ")
		if !symbolic {
			break
		}
		if value = g.readRef(gitDir, name); value == "" {
			return ""
		}
	}
	if !isObjectID(value) {
		return ""
	}
	return value
}

// Branch gives the branch that is checked out, without refs/heads/; nothing where none is.
func (g *Git) Branch() string {
	_, gitDir := g.Find()
	if gitDir == "" {
		return ""
	}
	name, _ := strings.CutPrefix(readSmall(filepath.Join(gitDir, "HEAD")), "ref: refs/heads/")
	if isObjectID(name) {
		return ""
	}
	return name
}

func (g *Git) readRef(gitDir, name string) string {
	if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(name) {
		return ""
	}
	common := CommonDir(gitDir)
	for _, dir := range []string{gitDir, common} {
		if value := readSmall(filepath.Join(dir, filepath.FromSlash(name))); value != "" {
			return value
		}
	}
	return g.readPacked(filepath.Join(common, "packed-refs"), name)
}

func (g *Git) readPacked(file, name string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.packed.refs == nil || info.Size() != g.packed.size || !info.ModTime().Equal(g.packed.modified) {
		content, err := durable.ReadRegular(file, maxPackedRefs)
		if err != nil {
			return ""
		}
		g.packed = packedRefs{size: info.Size(), modified: info.ModTime(), refs: map[string]string{}}
		for line := range strings.Lines(string(content)) {
			if id, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && isObjectID(id) {
				g.packed.refs[ref] = id
			}
		}
	}
	return g.packed.refs[name]
}

// WorkTree finds the work tree that the directory is in: its top, and the git directory that all work trees of its
// repository share. Both are "" outside of one.
func (g *Git) WorkTree() (top, common string) {
	top, dir := g.Find()
	if dir == "" {
		return "", ""
	}
	return top, CommonDir(dir)
}

// Find finds the top of the work tree that the directory is in, and its git directory, upward and through the pointer file of
// a worktree. One that points nowhere gives a top alone; outside of a repository both are "".
func (g *Git) Find() (top, gitDir string) {
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if info, err := os.Stat(at); err == nil {
			if info.IsDir() {
				return dir, at
			}
			return dir, Pointed(at, "gitdir: ")
		}
		if filepath.Dir(dir) == dir {
			return "", ""
		}
	}
}

// CommonDir is the directory that the work trees of a git directory's repository share.
func CommonDir(gitDir string) string {
	return cmp.Or(Pointed(filepath.Join(gitDir, "commondir"), ""), gitDir)
}

func (g *Git) readObjectFormat() bool {
	_, gitDir := g.Find()
	if gitDir == "" {
		return false
	}
	section := ""
	for line := range strings.Lines(readSmall(filepath.Join(CommonDir(gitDir), "config"))) {
		line = strings.ToLower(strings.TrimSpace(line))
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if section == "[extensions]" && strings.TrimSpace(key) == "objectformat" {
			return strings.TrimSpace(value) == "sha256"
		}
	}
	return false
}

// Pointed is the place that a small file names behind a prefix, as a file .git, commondir and gitdir do; "" if it names
// none.
func Pointed(file, prefix string) string {
	content, _ := durable.ReadRegular(file, maxGitFile)
	place, is := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	switch {
	case !is || place == "":
		return ""
	case filepath.IsAbs(place):
		return filepath.Clean(place)
	}
	return filepath.Join(filepath.Dir(file), place)
}

// PointedPlainly is Pointed of a file that is no link, for what a stranger can have put there.
func PointedPlainly(file, prefix string) string {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return Pointed(file, prefix)
}

// readSmall gives a file's text without the space around it, or nothing if it is no regular file of sensible size.
func readSmall(name string) string {
	content, _ := durable.ReadRegular(name, maxGitFile)
	return strings.TrimSpace(string(content))
}

func isObjectID(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && (len(id) == 40 || len(id) == 64)
}
