package policies

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
)

// ErrGone: what a digest stands for is not here, or is not it any more.
var ErrGone = errors.New("what the call was judged by is not kept here")

const (
	stateDir = "state"
	dirName  = "policies"
	suffix   = ".json.zst"
	maxFile  = 64 << 20 // bytes
)

// Book is where the policies of a workspace are kept.
type Book struct {
	Root *os.Root
	// Beside: a first record has the ledger stand beside the tree (ledger.git).
	Beside bool
	// Durable: a policy is on disk, also after a power cut, when it is kept.
	Durable bool
}

// Put keeps a policy, once, and gives its digest.
func (b Book) Put(p Policy) (digest string, err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	digest = hex.EncodeToString(sum[:])
	dir, err := b.open(false, stateDir, dirName)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		dir, err = b.open(true, stateDir, dirName)
	}
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if _, err := dir.Lstat(digest + suffix); err == nil {
		return digest, nil
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		return "", err
	}
	defer encoder.Close()
	part := rand.Text() + ".part"
	if err := durable.WriteNew(dir, part, encoder.EncodeAll(text, nil), time.Now(), b.Durable); err != nil {
		return "", err
	}
	if err := dir.Rename(part, digest+suffix); err != nil {
		return "", err
	}
	if b.Durable {
		err = durable.FlushDir(dir)
	}
	if b.Durable && isNew {
		err = errors.Join(err, b.flush(stateDir), b.flush())
	}
	return digest, err
}

// flush brings the name of a new directory to disk, with what its parent has.
func (b Book) flush(names ...string) error {
	dir, err := b.open(false, names...)
	if err != nil {
		return err
	}
	return errors.Join(durable.FlushDir(dir), dir.Close())
}

// Get gives a policy back. Errors: ErrGone, or what the system said.
func (b Book) Get(digest string) (*Policy, error) {
	if _, err := hex.DecodeString(digest); err != nil || len(digest) != 2*sha256.Size {
		return nil, ErrGone
	}
	dir, err := b.open(false, stateDir, dirName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	packed, err := durable.ReadRegularIn(dir, digest+suffix, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxFile))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(packed, nil)
	if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != digest {
		return nil, ErrGone
	}
	var p Policy
	if err := json.Unmarshal(text, &p); err != nil || p.Intents == nil {
		return nil, ErrGone // of a later version
	}
	return &p, nil
}

// open opens a directory in the .orchestration of where the ledger stands.
func (b Book) open(create bool, names ...string) (*os.Root, error) {
	if create && locate.WillBeBeside(b.Root, b.Beside) {
		if err := locate.MakeBeside(b.Root); err != nil {
			return nil, err
		}
	}
	root, done, err := locate.Stands(b.Root)
	if err != nil {
		return nil, err
	}
	defer done()
	return orchdir.Open(root, create, names...)
}

// Keeper gives the digests of what calls are judged by in one process. It is safe for concurrent use.
type Keeper struct {
	book     Book
	settings Settings
	version  string
	now      func() *intent.Texts // where no Set can be made

	mu     sync.Mutex
	last   *intent.Set
	digest string            // of last
	others map[string]string // digests by what makes no Set
}

// NewKeeper makes a Keeper for these settings; now gives the intents' texts where they make no Set.
func NewKeeper(book Book, s Settings, version string, now func() *intent.Texts) *Keeper {
	return &Keeper{book: book, settings: s, version: version, now: now, others: map[string]string{}}
}

// Digest names what a call is judged by that has this snapshot of the intents, nil for none, and keeps it.
func (k *Keeper) Digest(set *intent.Set) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if set != nil && set == k.last {
		return k.digest, nil
	}
	var texts *intent.Texts
	if set != nil {
		texts = set.Texts()
	} else {
		texts = k.now()
	}
	name := ""
	if set == nil {
		key, err := json.Marshal(texts)
		if err != nil {
			return "", err
		}
		if name = string(key); k.others[name] != "" {
			return k.others[name], nil
		}
	}
	digest, err := k.book.Put(Policy{Version: k.version, Intents: texts, Settings: k.settings})
	switch {
	case err != nil:
		return "", err
	case set != nil:
		k.last, k.digest = set, digest
	default:
		clear(k.others)
		k.others[name] = digest
	}
	return digest, nil
}
