package command

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// DefaultArtifactsLimit bounds all kept output together.
const DefaultArtifactsLimit = 512 << 20

// maxArtifacts bounds how many outputs are kept, so that the directory stays fast.
const maxArtifacts = 1000

const idPrefix = "out_"

// Artifacts keeps the output of commands as files of one directory, named by unguessable ids of 128 bits: knowing an
// id is what entitles to read it. The directory is expendable: it may be deleted at any time, and is made again when it
// is needed. Its parts are never followed if they are links, since a cloned repository could point them at other files.
// When the limit is reached the oldest outputs go. Artifacts is for concurrent use, also by several processes.
type Artifacts struct {
	root  *os.Root
	dir   string
	limit int64

	mu      sync.Mutex
	open    map[string]bool // ids that are being written, which pruning spares
	writing int64           // bytes of these
	stock   stock
}

// NewArtifacts returns the store in the slash-separated directory dir of root, which need not exist yet. The root stays the
// caller's. A limit of 0 bytes is DefaultArtifactsLimit.
func NewArtifacts(root *os.Root, dir string, limit int64) *Artifacts {
	return &Artifacts{root: root, dir: dir, limit: cmp.Or(limit, DefaultArtifactsLimit), open: map[string]bool{}}
}

// ArtifactWriter writes one output. It keeps at most its cap and takes the rest without an error, so that what reads a
// pipe into it never stops reading.
type ArtifactWriter struct {
	store *Artifacts
	file  *os.File
	id    string
	name  string // of the file
	cap   int64
	kept  int64
	err   error
}

// Outputs are the artifacts of one owner. Who has the id of another's output cannot read it by this: the file is named by
// the id and the owner together.
type Outputs struct {
	store *Artifacts
	owner string
}

// For returns the outputs of an owner, such as the principal whom a transport has authenticated; "" is an owner too.
func (a *Artifacts) For(owner string) Outputs { return Outputs{a, owner} }

// fileName is the id itself where there is nobody to tell apart.
func fileName(owner, id string) string {
	if owner == "" {
		return id
	}
	sum := sha256.Sum256([]byte(owner + "\x00" + id))
	return idPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// NewArtifactID is an id for CreateAs.
func NewArtifactID() string { return newID(idPrefix) }

// Create starts a new output of at most capacity bytes.
func (o Outputs) Create(capacity int64) (*ArtifactWriter, error) {
	return o.CreateAs(NewArtifactID(), capacity)
}

// CreateAs is Create under an id of the caller's, so that it can be told before the command runs.
func (o Outputs) CreateAs(id string, capacity int64) (*ArtifactWriter, error) {
	a := o.store
	dir, err := a.directory(true)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := fileName(o.owner, id)
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep command output: %w", err)
	}
	a.mu.Lock()
	a.open[name] = true
	a.mu.Unlock()
	return &ArtifactWriter{store: a, file: file, id: id, name: name, cap: capacity}, nil
}

// ID names the output for Read.
func (w *ArtifactWriter) ID() string { return w.id }

// Kept counts the bytes in the file.
func (w *ArtifactWriter) Kept() int64 { return w.kept }

// Write keeps what fits. After a failed write nothing more is kept and Close returns the failure.
func (w *ArtifactWriter) Write(p []byte) (int, error) {
	take := min(int64(len(p)), w.cap-w.kept)
	if w.err != nil || take <= 0 {
		return len(p), nil
	}
	if !w.store.reserve(take) {
		w.err = fmt.Errorf("keep command output: all outputs together have reached %d bytes", w.store.limit)
		return len(p), nil
	}
	n, err := w.file.Write(p[:take])
	w.kept += int64(n)
	w.store.reserve(int64(n) - take)
	w.err = err
	return len(p), nil
}

// Close ends the output and removes the oldest ones over the limit. It returns the first failure of a Write.
func (w *ArtifactWriter) Close() error {
	err := errors.Join(w.err, w.file.Close())
	if w.store.finished(w.name, w.kept) {
		err = errors.Join(err, w.store.prune())
	}
	return err
}

// reserve counts n more bytes being written and reports whether they fit.
func (a *Artifacts) reserve(n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > 0 && a.writing+n > a.limit {
		return false
	}
	a.writing += n
	return true
}

// read has a kept output read, of which it tells the size, only if it is the regular file that its name says.
func (o Outputs) read(id string, use func(file *os.File, size int64) error) error {
	if !validID(id) {
		return fmt.Errorf("%w: %q is not an id of one", ErrNoArtifact, id)
	}
	a, name := o.store, fileName(o.owner, id)
	dir, err := a.directory(false)
	if errors.Is(err, fs.ErrNotExist) {
		return missing(id)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	file, info, err := durable.OpenRegularIn(dir, name, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(id)
	case errors.Is(err, durable.ErrNotRegular):
		return fmt.Errorf("%w: %s is not a regular file", ErrNoArtifact, id)
	case errors.Is(err, durable.ErrReplaced):
		return fmt.Errorf("%w: %s was replaced while it was opened", ErrNoArtifact, id)
	case err == nil:
		defer file.Close()
		err = use(file, info.Size())
	}
	if err != nil {
		return fmt.Errorf("read command output %s: %w", id, err)
	}
	return nil
}

func missing(id string) error {
	return fmt.Errorf("%w: %s is not kept any more; run the command again", ErrNoArtifact, id)
}

// directory opens the store's directory part by part, refusing links.
func (a *Artifacts) directory(create bool) (*os.Root, error) {
	current, err := a.root.OpenRoot(".")
	if err != nil {
		return nil, fmt.Errorf("command output directory: %w", err)
	}
	perm := fs.FileMode(0)
	if create {
		perm = 0o755
	}
	walked := ""
	for part := range strings.SplitSeq(a.dir, "/") {
		walked = path.Join(walked, part)
		next, err := durable.OpenOwn(current, part, perm)
		current.Close()
		if err != nil {
			return nil, fmt.Errorf("command output directory %s: %w", walked, err)
		}
		current = next
	}
	return current, nil
}

// newID has only characters that mean nothing to a path on any system.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

func validID(id string) bool {
	random, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(random) == 26 && strings.Trim(random, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

var _ io.WriteCloser = (*ArtifactWriter)(nil)

// recountAfter is how many outputs are finished without looking at the directory, in which other processes write as well.
const recountAfter = 50

// stock is what is believed to be in the directory.
type stock struct {
	bytes   int64
	outputs int
	recount int // outputs left until the directory is looked at; it is at the beginning
}

// finished counts an output and reports whether it is time to prune.
func (a *Artifacts) finished(id string, size int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
	a.writing -= size
	a.stock.bytes += size
	a.stock.outputs++
	a.stock.recount--
	return a.stock.recount < 0 || a.stock.bytes > a.limit || a.stock.outputs > maxArtifacts
}

// prune removes the oldest outputs until the rest is within the limits. It touches nothing that is not named like an
// output, and nothing that this process is writing.
func (a *Artifacts) prune() error {
	dir, err := a.directory(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	outputs, err := a.list(dir)
	if err != nil {
		return fmt.Errorf("prune command output: %w", err)
	}
	left, full := stock{recount: recountAfter}, false
	room := maxArtifacts
	if len(outputs) > maxArtifacts {
		room = maxArtifacts * 9 / 10 // so that not every output from now on prunes
	}
	for _, output := range outputs {
		if full = full || left.outputs == room || left.bytes+output.Size() > a.limit; !full {
			left.bytes += output.Size()
			left.outputs++
			continue
		}
		if err := dir.Remove(output.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune command output: %w", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stock = left
	return nil
}

// list returns the finished outputs, the newest first.
func (a *Artifacts) list(dir *os.Root) (outputs []fs.FileInfo, err error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, entry := range entries {
		if !validID(entry.Name()) || a.open[entry.Name()] {
			continue
		}
		// Another process may prune at the same time.
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			outputs = append(outputs, info)
		}
	}
	slices.SortFunc(outputs, func(x, y fs.FileInfo) int { return y.ModTime().Compare(x.ModTime()) })
	return outputs, nil
}
