package kept

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// DefaultLargest bounds one content where Options do not, in bytes.
const DefaultLargest = 64 << 20

const (
	// maxDenied bounds how many contents a store remembers to have been secret. With more it keeps nothing any longer.
	maxDenied = 1_000_000
	// refresh is how old a content's time may become before putting it again renews it.
	refresh = time.Hour
	// parts are as many packs as the size and the age are divided into, at least.
	parts = 16
	// flushAt is how much is written at once, in bytes.
	flushAt = 1 << 20

	rulesFile = "rules"
	newPrefix = ".new-"
)

// errSecrets: what is kept could be a secret.
var errSecrets = errors.New(".orchestration/cache/images cannot be held to the rules of what is secret")

// Options are fixed for the life of a Store.
type Options struct {
	// Size bounds the store on disk, in bytes; 0 keeps nothing. Reading needs no size.
	Size int64
	// Age is how long a content is kept after it was last put; 0 is for ever.
	Age time.Duration
	// Largest bounds one content, in bytes; larger ones are neither kept nor read. 0 is DefaultLargest.
	Largest int64
	// Secrets gives the rules of what is secret, as they are now: is reports whether a path is, and is nil if none can be.
	// digest names the rules; it is "" where they are not known, and then nothing is kept. Nil: nothing is secret. It is
	// called with a lock held.
	Secrets func() (is func(path string) bool, digest string)
	Clock   func() time.Time // nil is time.Now
	Logger  zerolog.Logger
}

// Content is a content to be kept: ID is git's of the blob with it, and Paths are those that have or had it.
type Content struct {
	ID    string
	Bytes []byte
	Paths []string
}

// Store is the contents of one workspace. Its methods may be called concurrently.
type Store struct {
	dir     *orchdir.Held
	options Options

	seen seen

	mu      sync.Mutex // held while contents are written
	encoder *zstd.Encoder
	pack    *pack           // nil before the first content
	denied  map[string]bool // ids of contents that a secret file had
	obeyed  string          // the digest of the rules that the store was held to by this process
	sweeps  int
	stock   stock
	failed  bool // said in the log
}

// Open gives the store of a workspace. It reads and makes nothing. The root stays the caller's, and must be open as long
// as the store is used.
func Open(root *os.Root, o Options) *Store {
	if o.Largest <= 0 {
		o.Largest = DefaultLargest
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Secrets == nil {
		o.Secrets = func() (func(string) bool, string) { return nil, "none" }
	}
	return &Store{
		dir: orchdir.Hold(root, "cache", "images"), options: o, seen: seen{at: map[uint64]place{}}, denied: map[string]bool{}, stock: stock{recount: firstRecount},
	}
}

// Close ends the use of what the store has open; a store that goes on being used opens it again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave()
}

// Put keeps contents under their ids: when it returns, every process can read them. What has a secret path is not kept,
// nor what a secret file had ([Store.Deny]). An error says that the directory cannot be written; the first is in the log too.
func (s *Store) Put(contents ...Content) error {
	if s.options.Size <= 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, rules := s.obey()
	contents = s.allowed(contents, is)
	switch {
	case len(contents) == 0:
		return nil
	case rules == "" || len(s.denied) >= maxDenied:
		return errSecrets
	}
	err := s.write(contents, rules)
	if errors.Is(err, fs.ErrNotExist) { // the directory was deleted meanwhile
		err = s.write(contents, rules)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // and again: somebody does not want it
	}
	if err != nil {
		s.complain(err)
	}
	s.obey() // a rule can have come while they were written
	return err
}

func (s *Store) complain(err error) {
	if !s.failed {
		s.failed = true
		s.options.Logger.Warn().Err(err).Msg("before-images cannot be kept in .orchestration/cache/images; undo takes what git has")
	}
}

// allowed are the contents that may be kept, each once.
func (s *Store) allowed(contents []Content, secret func(path string) bool) (kept []Content) {
	at := map[string]int{}
	for _, one := range contents {
		one.Paths = slices.DeleteFunc(slices.Clone(one.Paths), func(path string) bool { return path == "" })
		if len(one.Bytes) == 0 || int64(len(one.Bytes)) > s.options.Largest || !validID(one.ID) || s.denied[one.ID] {
			continue
		}
		if secret != nil && slices.ContainsFunc(one.Paths, secret) {
			continue
		}
		i, again := at[one.ID]
		if !again {
			at[one.ID] = len(kept)
			kept = append(kept, one)
			continue
		}
		kept[i].Paths = append(kept[i].Paths, one.Paths...)
	}
	return kept
}

func (s *Store) write(contents []Content, rules string) error {
	dir, done, err := s.dir.Open(true)
	if err != nil {
		return err
	}
	defer done()
	for _, one := range contents {
		if err = s.opened(dir, rules); err == nil {
			err = s.keep(one)
		}
		if err == nil && s.stock.due(s.options.Size) {
			err = cmp.Or(s.pack.flush(), s.prune(dir))
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = s.pack.flush()
	}
	if err != nil {
		err = errors.Join(err, s.leave())
	}
	return err
}

// opened has a pack open that has room, and is where others find it.
func (s *Store) opened(dir *os.Root, rules string) (err error) {
	now := s.options.Clock()
	if p := s.pack; p != nil {
		if len(p.data) > 0 && len(p.data) < flushAt && !s.full(p, now) {
			return nil // looked at for the content before
		}
		if err := p.flush(); err != nil {
			return err
		}
		if !s.full(p, now) && durable.Stands(dir, p.name, p.file) {
			return nil
		}
		if err := s.leave(); err != nil {
			return err
		}
	}
	if _, err := dir.Lstat(rulesFile); err != nil {
		if err := s.writeRules(dir, rules); err != nil {
			return err
		}
	}
	s.pack, err = newPack(dir, now, func(p *pack) bool { return s.full(p, now) })
	return err
}

// full reports whether contents go to another pack. It is soon: packs go as a whole when they are old.
func (s *Store) full(p *pack, now time.Time) bool {
	return p.next+len(p.table)/slotSize >= slots || p.end+int64(len(p.data))-tableSize >= s.options.Size/parts ||
		s.options.Age > 0 && now.Sub(p.begun) > s.options.Age/parts
}

// leave ends the use of the pack.
func (s *Store) leave() error {
	p := s.pack
	if s.pack = nil; p == nil {
		return nil
	}
	return p.file.Close()
}

func (s *Store) keep(one Content) error {
	now, of := s.options.Clock(), paths(nil).with(one.Paths)
	if had, ours := s.pack.added[one.ID]; ours {
		if had.paths.has(one.Paths) && s.pack.renew(had, now) {
			return nil
		}
		of = had.paths.with(one.Paths)
	}
	packed, err := s.compressed(of.header(), one.Bytes)
	if err != nil {
		return err
	}
	s.pack.add(slot{id: one.ID, put: now}, packed, of)
	s.stock.add(slotSize + int64(len(packed)))
	return nil
}

// writeRules writes the file under a name of its own first: nobody sees half of it.
func (s *Store) writeRules(dir *os.Root, digest string) error {
	name := newPrefix + rand.Text()
	err := durable.WriteNew(dir, name, []byte(digest), time.Time{}, false)
	if err == nil {
		err = dir.Rename(name, rulesFile)
	}
	if err != nil {
		_ = dir.Remove(name)
	}
	return err
}

func (s *Store) compressed(header, content []byte) ([]byte, error) {
	if s.encoder == nil {
		var err error
		s.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
	}
	return s.encoder.EncodeAll(content, header), nil
}
