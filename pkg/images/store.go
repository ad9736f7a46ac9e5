package images

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// DefaultLargest bounds one image where Options do not, in bytes.
const DefaultLargest = 64 << 20

const (
	// maxWaiting bounds what waits to be written, in bytes. One image is always taken.
	maxWaiting = 64 << 20
	// gather is how long images are gathered before they are written together: a new file a call would make each
	// flush of the calls dearer, as it has the file system's own journal carry it.
	gather = 200 * time.Millisecond
	// enough is what is written without gathering more, in bytes.
	enough = 8 << 20
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

	mu      sync.Mutex
	waiting []image
	writing image         // what the writer is at
	bytes   int64         // of waiting
	busy    chan struct{} // closed when the writer ends; nil while there is none
	hurry   chan struct{} // has an element when the writer is not to gather
	closed  bool
	given   bool // up: what waits is dropped
	dropped int

	writer writer // the writing goroutine's own
}

// image is one content on its way to the disk.
type image struct {
	id      string
	content []byte
}

// Open gives the store of a workspace. It reads and makes nothing. The root stays the caller's, and must be open until
// Close has returned.
func Open(root *os.Root, o Options) *Store {
	if o.Largest <= 0 {
		o.Largest = DefaultLargest
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s := &Store{root: root, options: o, hurry: make(chan struct{}, 1)}
	s.writer = newWriter(s)
	return s
}

// Put keeps a content under its id, soon. It does not wait, and it keeps the slice, which must not be changed any more.
// What is no id, is too large, or finds too much waiting is not kept.
func (s *Store) Put(id string, content []byte) {
	size := int64(len(content))
	if s.options.Size <= 0 || size > s.options.Largest || !validID(id) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if len(s.waiting) > 0 && s.bytes+size > maxWaiting {
		if s.dropped++; s.dropped == 1 {
			s.options.Logger.Warn().Msg("before-images come faster than they can be written; some are not kept, so some changes can be undone only from git")
		}
		return
	}
	s.waiting = append(s.waiting, image{id, content})
	s.bytes += size
	if s.busy == nil {
		s.busy = make(chan struct{})
		go s.write(s.busy)
	}
	if s.bytes > enough {
		s.now()
	}
}

// now ends the gathering.
func (s *Store) now() {
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// write brings what waits to disk until nothing does.
func (s *Store) write(done chan struct{}) {
	defer close(done)
	select {
	case <-time.After(gather):
	case <-s.hurry:
	}
	for {
		next, ok := s.next()
		if !ok {
			return
		}
		s.writer.write(next)
	}
}

func (s *Store) next() (image, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 || s.given {
		s.waiting, s.writing, s.bytes, s.busy = nil, image{}, 0, nil
		s.writer.rest()
		return image{}, false
	}
	first := s.waiting[0]
	s.waiting[0] = image{}
	s.waiting = s.waiting[1:]
	s.bytes -= int64(len(first.content))
	s.writing = first
	return first, true
}

// pending gives a content that is not on the disk yet.
func (s *Store) pending(id string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing.id == id {
		return s.writing.content, true
	}
	for _, i := range s.waiting {
		if i.id == id {
			return i.content, true
		}
	}
	return nil, false
}

// Wait returns when everything that was put is on its way to the disk, or when ctx is done. A kill after it loses none
// of it; a power cut may.
func (s *Store) Wait(ctx context.Context) {
	s.mu.Lock()
	busy := s.busy
	s.mu.Unlock()
	if busy == nil {
		return
	}
	s.now()
	select {
	case <-busy:
	case <-ctx.Done():
	}
}

// Close writes what waits, until ctx is done; what then still waits is not kept. Put does nothing after it, Get goes on.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	busy := s.busy
	s.mu.Unlock()
	if busy == nil {
		return nil
	}
	s.now()
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.given = true
	lost := len(s.waiting)
	s.mu.Unlock()
	if lost > 0 {
		s.options.Logger.Warn().Int("images", lost).Msg("before-images were not written in time and are not kept")
	}
	<-busy // with the one image that it is at
	return nil
}
