// Package approval keeps what agents ask the operator for.
//
// In this version it is a record of requests: an agent that met a wall gets an
// id and the command that the operator can run, and can ask later whether it
// was done. Nobody is asked in line, and no call is let through by an answer.
//
// Requests lie in .orchestration/state/approvals, one JSON file each, mode
// 0600, and expire after Lifetime.
package approval

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Lifetime is how long a request waits for an answer.
const Lifetime = 24 * time.Hour

const (
	stateDir = ".orchestration/state"
	dir      = stateDir + "/approvals"
	// maxRequests bounds the directory; an agent that asks without end
	// displaces nothing but is told to wait.
	maxRequests = 1000
)

// Errors that callers may test for.
var (
	// ErrUnknown: no such request, or it expired.
	ErrUnknown = errors.New("no such request")
	// ErrFull: too many requests are pending.
	ErrFull = errors.New("too many requests are pending; the operator has to answer some first")
)

// Kind is what a request is for.
type Kind string

// The kinds of requests.
const (
	// Call: a call that needs an approval.
	Call Kind = "call"
	// NewIntent: propose_intent.
	NewIntent Kind = "new_intent"
	// ScopeExpansion: request_scope_expansion.
	ScopeExpansion Kind = "scope_expansion"
)

// Request is one thing that an agent asks for.
type Request struct {
	ID        string    `json:"id"`
	Kind      Kind      `json:"kind"`
	Tool      string    `json:"tool"`
	IntentID  string    `json:"intent_id,omitempty"`
	ErrorType string    `json:"error_type,omitempty"`
	Name      string    `json:"name,omitempty"`
	Paths     []string  `json:"paths,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Client    string    `json:"client,omitempty"`
	Command   string    `json:"command,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Store keeps requests. Safe for concurrent use, also by several processes.
type Store struct {
	root  *os.Root
	clock func() time.Time
}

// Open returns a store in the workspace; it makes nothing before the first Put.
func Open(root *os.Root, clock func() time.Time) *Store { return &Store{root, clock} }

var (
	idPattern = regexp.MustCompile(`^apr_[a-z2-7]{26}$`)
	encoding  = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// Put records a request, giving it an id and its times. One that asks for the
// same as a pending request is that request: an agent that repeats itself does
// not fill the inbox.
func (s *Store) Put(r Request) (Request, error) {
	pending, err := s.prune()
	if err != nil {
		return Request{}, err
	}
	for _, id := range pending {
		if old, err := s.Get(id); err == nil && old.asksTheSame(r) {
			return old, nil
		}
	}
	if len(pending) >= maxRequests {
		return Request{}, ErrFull
	}
	var raw [16]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return Request{}, err
	}
	r.ID = "apr_" + encoding.EncodeToString(raw[:])
	r.CreatedAt = s.clock().UTC().Truncate(time.Second)
	r.ExpiresAt = r.CreatedAt.Add(Lifetime)
	b, err := json.Marshal(r)
	if err != nil {
		return Request{}, err
	}
	if err := s.makeDir(); err != nil {
		return Request{}, fmt.Errorf("approvals: %w", err)
	}
	return r, s.write(r.ID, b)
}

// makeDir refuses links: a cloned repository could have one that leads among
// its sources.
func (s *Store) makeDir() error {
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{path.Dir(stateDir), stateDir, dir} {
		info, err := s.root.Lstat(name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory but a link; remove it", name)
		}
	}
	return nil
}

func (r Request) asksTheSame(as Request) bool {
	as.ID, as.CreatedAt, as.ExpiresAt = r.ID, r.CreatedAt, r.ExpiresAt
	return reflect.DeepEqual(r, as)
}

// write makes the file appear whole: a reader never sees half a request.
func (s *Store) write(id string, b []byte) error {
	tmp := path.Join(dir, "."+id+".tmp")
	if err := s.root.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	if err := s.root.Rename(tmp, path.Join(dir, id+".json")); err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return nil
}

// Get returns a request that has not expired.
func (s *Store) Get(id string) (Request, error) {
	if !idPattern.MatchString(id) {
		return Request{}, ErrUnknown
	}
	b, err := s.root.ReadFile(path.Join(dir, id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Request{}, ErrUnknown
	}
	if err != nil {
		return Request{}, fmt.Errorf("approvals: %w", err)
	}
	var r Request
	if err := json.Unmarshal(b, &r); err != nil || r.ID != id || !s.clock().Before(r.ExpiresAt) {
		return Request{}, ErrUnknown
	}
	return r, nil
}

// prune removes what has expired, and gives what is left, mostly ids.
func (s *Store) prune() ([]string, error) {
	f, err := s.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	var left []string
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && s.clock().Sub(info.ModTime()) > Lifetime && strings.Contains(e.Name(), "apr_") {
			_ = s.root.Remove(path.Join(dir, e.Name()))
			continue
		}
		left = append(left, strings.TrimSuffix(e.Name(), ".json"))
	}
	return left, nil
}
