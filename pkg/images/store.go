package images

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rs/zerolog"
)

// DefaultLargest bounds one image where Options do not, in bytes.
const DefaultLargest = 64 << 20

const (
	// maxKnown bounds how many ids a store remembers to have on disk.
	maxKnown = 10_000
	// refresh is how old an image's time may become before putting it again renews it.
	refresh = time.Hour
)

// Options are fixed for the life of a Store.
type Options struct {
	// Size bounds the store on disk, in bytes; 0 keeps nothing. Reading needs no size.
	Size int64
	// Age is how long an image is kept after it was last put; 0 is for ever.
	Age time.Duration
	// Largest bounds one image, in bytes of content; larger ones are neither kept nor read. 0 is DefaultLargest.
	Largest int64
	Clock   func() time.Time // nil is time.Now
	Logger  zerolog.Logger
}

// Store is the images of one workspace. Its methods may be called concurrently.
type Store struct {
	root    *os.Root
	options Options

	mu      sync.Mutex // held while an image is written
	encoder *zstd.Encoder
	known   map[string]time.Time // ids that this store wrote, and when
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
	return &Store{root: root, options: o, known: map[string]time.Time{}, stock: stock{recount: firstRecount}}
}

// Put keeps a content under its id: when it returns, every process can read it. Failing is no matter for anybody but the
// log: what is not kept is not there.
func (s *Store) Put(id string, content []byte) {
	if s.options.Size <= 0 || int64(len(content)) > s.options.Largest || !validID(id) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write(id, content)
	if errors.Is(err, fs.ErrNotExist) { // the directory was deleted meanwhile
		err = s.write(id, content)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !s.failed {
		s.failed = true
		s.options.Logger.Warn().Err(err).Msg("before-images cannot be kept in .orchestration/cache/images; undo takes what git has")
	}
}

func (s *Store) write(id string, content []byte) error {
	dir, err := directory(s.root, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := s.keep(dir, id, content); err != nil || !s.stock.due(s.options.Size) {
		return err
	}
	return s.prune(dir)
}

func (s *Store) keep(dir *os.Root, id string, content []byte) error {
	now := s.options.Clock()
	if wrote, ok := s.known[id]; ok {
		if info, err := dir.Lstat(fileOf(id)); err == nil && info.Mode().IsRegular() {
			if now.Sub(wrote) < refresh {
				return nil
			}
			s.known[id] = now
			return dir.Chtimes(fileOf(id), now, now)
		}
	}
	// A file that is there already was not written by this process: it may be empty after a power cut, or anything.
	return s.replace(dir, id, content, now)
}

// replace writes an image under a name of its own first: nobody sees half of it.
func (s *Store) replace(dir *os.Root, id string, content []byte, now time.Time) error {
	packed, err := s.pack(content)
	if err != nil {
		return err
	}
	name := newPrefix + rand.Text()
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(packed)
	if err = errors.Join(err, file.Close()); err == nil {
		err = dir.Chtimes(name, now, now)
	}
	if err == nil {
		err = dir.Rename(name, fileOf(id))
	}
	if err != nil {
		_ = dir.Remove(name)
		return err
	}
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[id] = now
	s.stock.add(int64(len(packed)))
	return nil
}

func (s *Store) pack(content []byte) ([]byte, error) {
	if s.encoder == nil {
		var err error
		s.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
	}
	return s.encoder.EncodeAll(content, nil), nil
}
