package approval

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

const (
	// maxRequests, maxEntries and maxBytes bound the directory of requests: an agent that asks without end displaces
	// nothing but is told to wait.
	maxRequests = 1000
	maxEntries  = 4 * maxRequests
	maxBytes    = 64 << 20

	pollInterval = 150 * time.Millisecond
)

// Options are what a Store is made of.
type Options struct {
	// UserDir is the user's settings directory, as settings.UserDir gives it; see the package's Files for "".
	UserDir string
	// Lifetime is how long an answer can be used, approvals.lifetime; 0 is 15 minutes.
	Lifetime time.Duration
	// Clock is for tests; nil is time.Now.
	Clock func() time.Time
	// Expired is told of each request that nobody answered in time, by the one process that removed it. It may be nil.
	Expired func(Request)
}

// Store keeps requests, answers and grants. Safe for concurrent use, also by several processes.
type Store struct {
	root      *os.Root
	workspace string
	lifetime  time.Duration
	clock     func() time.Time
	expired   func(Request)
	key       func() ([]byte, error) // the user's, read at the first need
	marks     marks

	putting sync.Mutex // one at a time, so that two who ask for the same ask once
	mu      sync.Mutex
	seen    map[string]Request // authentic ones, which never change, without what is large
}

// Open returns a store in the workspace; it reads and makes nothing before it is used.
func Open(root *os.Root, o Options) *Store {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Lifetime == 0 {
		o.Lifetime = 15 * time.Minute
	}
	if o.Expired == nil {
		o.Expired = func(Request) {}
	}
	return &Store{
		root: root, workspace: absolute(root.Name()), lifetime: o.Lifetime, clock: o.Clock, expired: o.Expired,
		key: sync.OnceValues(func() ([]byte, error) { return keyOf(o.UserDir) }), marks: marks{userDir: o.UserDir}, seen: map[string]Request{},
	}
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return dir
}

// Shared tells whether other processes of the user can see and answer what this one asks.
func (s *Store) Shared() bool { return s.marks.userDir != "" }

var (
	requestID = lazy.Regexp(`^apr_[a-z2-7]{26}\z`)
	grantID   = lazy.Regexp(`^grt_[a-z2-7]{26}\z`)
	encoding  = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

	requestFiles = kind{"request", "approvals", ".json", requestID}
	answerFiles  = kind{"answer", "approvals", ".answer.json", requestID}
	grantFiles   = kind{"grant", "grants", ".json", grantID}
)

func newID(prefix string) string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails
	return prefix + encoding.EncodeToString(raw[:])
}

func (s *Store) now() time.Time { return s.clock().UTC().Truncate(time.Second) }

// Put records a request, giving it an id, its digest and its times. One that asks for the same as a pending request is
// that request: an agent that repeats itself does not fill the inbox. isNew tells the two apart.
func (s *Store) Put(r Request) (stored Request, isNew bool, err error) {
	s.putting.Lock()
	defer s.putting.Unlock()
	r.Digest = r.ComputeDigest()
	pending, size, err := s.prune()
	if err != nil {
		return Request{}, false, wrap(err)
	}
	for _, old := range pending {
		if old.Digest == r.Digest {
			if full, err := s.Get(old.ID); err == nil {
				return full, false, nil
			}
		}
	}
	r.ID, r.CreatedAt = newID("apr_"), s.now()
	r.ExpiresAt = r.CreatedAt.Add(Lifetime)
	file, err := s.seal(requestFiles, r)
	if err != nil {
		return Request{}, false, wrap(err)
	}
	if len(pending) >= maxRequests || len(file) > maxFile || size+int64(len(file)) > maxBytes {
		return Request{}, false, ErrFull
	}
	dir, err := s.open(requestFiles, true)
	if err != nil {
		return Request{}, false, wrap(err)
	}
	defer dir.Close()
	return r, true, wrap(put(dir, requestFiles.file(r.ID), file, false))
}

// Get returns a request that is authentic and has not expired, answered or not.
func (s *Store) Get(id string) (Request, error) {
	dir, err := s.requestsOf(id)
	if err != nil {
		return Request{}, err
	}
	defer dir.Close()
	r, err := read[Request](s, dir, requestFiles, id)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotAuthentic), err == nil && !s.lives(r):
		return Request{}, ErrUnknown
	case err != nil:
		return Request{}, wrap(err)
	}
	return r, nil
}

// requestsOf opens the directory in which a request can be; ErrUnknown where it cannot.
func (s *Store) requestsOf(id string) (*os.Root, error) {
	if !requestID().MatchString(id) {
		return nil, ErrUnknown
	}
	dir, err := s.open(requestFiles, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUnknown
	}
	return dir, wrap(err)
}

func (s *Store) lives(r Request) bool { return s.clock().Before(r.ExpiresAt) }

// Pending lists the requests that wait for an answer, oldest first.
func (s *Store) Pending() ([]Request, error) {
	found, _, err := s.prune()
	if err != nil {
		return nil, wrap(err)
	}
	var pending []Request
	for _, r := range found {
		if full, err := s.Get(r.ID); err == nil {
			pending = append(pending, full)
		}
	}
	slices.SortFunc(pending, func(a, b Request) int { return byTime(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
	return pending, nil
}

// prune removes what has expired, and gives the requests that wait for an answer, without what is large of them, and
// how much room all files take, where each counts as no less than its share of the entries that may be.
func (s *Store) prune() (pending []Request, size int64, err error) {
	dir, entries, err := s.list(requestFiles)
	if dir == nil {
		return nil, 0, err
	}
	defer dir.Close()
	answered := map[string]bool{}
	for _, e := range entries {
		if id, is := answerFiles.idOf(e.Name()); is {
			answered[id] = s.keepAnswer(dir, id)
		}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		kept := true
		switch id, is := requestFiles.idOf(e.Name()); {
		case strings.HasSuffix(e.Name(), answerFiles.suffix):
		case !is:
			kept = !s.sweep(dir, info)
		case answered[id] || s.marks.has(id):
		default:
			if r, ok := s.stillPending(dir, id, info); ok {
				pending = append(pending, r)
			}
		}
		if kept {
			size += info.Size() + maxBytes/maxEntries
		}
	}
	s.marks.tidy(s.clock())
	return pending, size, nil
}

// sweep removes what a crash left behind.
func (s *Store) sweep(dir *os.Root, info fs.FileInfo) (swept bool) {
	return s.clock().Sub(info.ModTime()) > Lifetime && dir.Remove(info.Name()) == nil
}

// stillPending reads an unanswered request, which is removed once it has expired.
func (s *Store) stillPending(dir *os.Root, id string, info fs.FileInfo) (Request, bool) {
	r, err := s.known(dir, id)
	if err != nil {
		s.sweep(dir, info)
		return Request{}, false
	}
	if s.lives(r) {
		return r, true
	}
	if dir.Remove(info.Name()) == nil {
		s.forget(id)
		s.expired(r)
	}
	return Request{}, false
}

// known is request with a memory for what never changes.
func (s *Store) known(dir *os.Root, id string) (Request, error) {
	s.mu.Lock()
	r, ok := s.seen[id]
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	r, err := read[Request](s, dir, requestFiles, id)
	if err != nil {
		return Request{}, err
	}
	r.Arguments, r.Diffs = nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= 2*maxRequests {
		clear(s.seen)
	}
	s.seen[id] = r
	return r, nil
}

func (s *Store) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, id)
}

// Wait returns the answer to a request as soon as there is one. ErrUnknown: the request is gone, because another process
// has used its answer, or because it has expired. Otherwise the context's error.
func (s *Store) Wait(ctx context.Context, id string) (Answer, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if a, err := s.AnswerOf(id); !errors.Is(err, ErrPending) {
			return a, err
		}
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case <-tick.C:
		}
	}
}

// IsID tells whether a text has the form of a request's or a grant's id.
func IsID(text string) bool { return requestID().MatchString(text) || grantID().MatchString(text) }
