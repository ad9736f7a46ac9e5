package approval

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// MaxReason bounds an answer's reason, in characters.
	MaxReason = 1000
	// answerAttempts bounds how often something that is no answer is taken out of an answer's place.
	answerAttempts = 3
)

// Answer answers a request: a sets Decision, Reason, By and Via, and Edit for a Once that lets an edited call pass. It
// returns the answer as kept, and the grants of a ForIntent. Errors: ErrUnknown, ErrAnswered, ErrNotGrantable, ErrNotEditable.
func (s *Store) Answer(id string, a Answer) (Answer, []Grant, error) {
	r, err := s.Get(id)
	if err != nil {
		return Answer{}, nil, err
	}
	switch {
	case a.Decision != Once && a.Decision != ForIntent && a.Decision != Deny:
		return Answer{}, nil, fmt.Errorf("%q is no decision", a.Decision)
	case a.Decision == ForIntent && (r.Once || r.IntentID == ""):
		return Answer{}, nil, ErrNotGrantable
	case utf8.RuneCountInString(a.Reason) > MaxReason:
		return Answer{}, nil, fmt.Errorf("the reason is longer than %d characters", MaxReason)
	case s.marks.has(id):
		return Answer{}, nil, ErrAnswered
	}
	if a.Edit != nil {
		if a.Decision != Once {
			return Answer{}, nil, fmt.Errorf("%w: only what is approved once can be", ErrNotEditable)
		}
		if err := a.Edit.of(r); err != nil {
			return Answer{}, nil, err
		}
	}
	a.ID, a.Digest, a.AnsweredAt = r.ID, r.Digest, s.now()
	a.ExpiresAt = a.AnsweredAt.Add(s.lifetime)
	var grants []Grant
	if a.Decision == ForIntent {
		if grants, err = s.newGrants(grantsOf(r, a)); err != nil {
			return Answer{}, nil, err
		}
		for _, g := range grants {
			a.Grants = append(a.Grants, g.ID)
		}
	}
	if err := s.putAnswer(a); err != nil {
		return Answer{}, nil, err
	}
	return a, grants, s.putGrants(grants)
}

// putAnswer writes an answer unless there is one; what stands in its place and is none is removed.
func (s *Store) putAnswer(a Answer) error {
	file, err := s.seal(answerFiles, a)
	if err != nil {
		return wrap(err)
	}
	dir, err := s.open(answerFiles, false)
	if err != nil {
		return wrap(err)
	}
	defer dir.Close()
	for range answerAttempts {
		err = put(dir, answerFiles.file(a.ID), file, true)
		if !errors.Is(err, fs.ErrExist) {
			return wrap(err)
		}
		if _, found := read[Answer](s, dir, answerFiles, a.ID); found == nil {
			return ErrAnswered
		}
		if err := dir.RemoveAll(answerFiles.file(a.ID)); err != nil {
			return wrap(err)
		}
	}
	return wrap(err)
}

// AnswerOf returns the answer to a request, also an expired or used one while it is there. ErrPending: there is none.
func (s *Store) AnswerOf(id string) (Answer, error) {
	dir, err := s.requestsOf(id)
	if err != nil {
		return Answer{}, err
	}
	defer dir.Close()
	spent := s.marks.has(id) // asked first: an answer that is kept has stood there since before its mark
	a, err := read[Answer](s, dir, answerFiles, id)
	switch {
	case err == nil && s.beingGranted(a):
		return Answer{}, ErrPending
	case err == nil:
		return a, nil
	}
	r, err := s.known(dir, id)
	if err != nil || !s.lives(r) || spent {
		return Answer{}, ErrUnknown
	}
	if _, err := dir.Lstat(requestFiles.file(id)); err != nil {
		return Answer{}, ErrUnknown
	}
	return Answer{}, ErrPending
}

// Valid reports whether an answer can be used now.
func (s *Store) Valid(a Answer) bool {
	now := s.clock()
	return now.Before(a.ExpiresAt) && !now.Add(time.Minute).Before(a.AnsweredAt) && !s.marks.has(a.ID)
}

// keepAnswer tells whether a request counts as answered, and removes both once the answer is of no use any more. One with
// an edit is kept until it expires: who comes late has no other way to know what was made.
func (s *Store) keepAnswer(dir *os.Root, id string) bool {
	a, err := read[Answer](s, dir, answerFiles, id)
	if err != nil {
		return false
	}
	if !s.Valid(a) && (a.Edit == nil || !s.clock().Before(a.ExpiresAt)) {
		s.remove(dir, id)
	}
	return true
}

func (s *Store) remove(dir *os.Root, id string) {
	_ = dir.Remove(requestFiles.file(id))
	_ = dir.Remove(answerFiles.file(id))
	s.forget(id)
}

// Standing is what the operator has said about a call.
type Standing struct {
	// Approved and Denied are the answers that can be used now; a denial stands until it expires, or is revoked.
	Approved, Denied *Answer
}

// Standing finds the answers to requests with this digest.
func (s *Store) Standing(digest string) (found Standing, err error) {
	if digest == "" {
		return found, nil
	}
	all, err := readAll(s, answerFiles, s.Valid)
	for _, a := range all {
		switch {
		case a.Digest != digest:
		case a.Decision == Once:
			found.Approved = &a
		case a.Decision == Deny:
			found.Denied = &a
		}
	}
	return found, err
}

// Answered is a request with an answer that no call has used.
type Answered struct {
	Request Request
	Answer  Answer
}

// Answered lists the answers that a call can use now, denials among them, by when they were given. What was approved for
// an intent is not there: see [Store.Grants].
func (s *Store) Answered() (found []Answered, err error) {
	all, err := readAll(s, answerFiles, s.Valid)
	for _, a := range all {
		if a.Decision == ForIntent {
			continue
		}
		if r, err := s.Get(a.ID); err == nil {
			found = append(found, Answered{r, a})
		}
	}
	slices.SortFunc(found, func(a, b Answered) int {
		return byTime(a.Answer.AnsweredAt, b.Answer.AnsweredAt, a.Answer.ID, b.Answer.ID)
	})
	return found, err
}

// byTime puts what came first first; of one moment by ids.
func byTime(a, b time.Time, aID, bID string) int {
	return cmp.Or(a.Compare(b), strings.Compare(aID, bID))
}

// Use uses up an answer, and tells whether this call was the one that did: of several processes one is. From then on it
// is void, also after a crash.
func (s *Store) Use(a Answer) (bool, error) {
	if !s.Valid(a) || a.Decision != Once {
		return false, nil
	}
	if a.Edit != nil {
		first, err := s.marks.set(a.ID, a.ExpiresAt.Add(2*Lifetime))
		return first, wrap(err)
	}
	return s.spend(a.ID, a.ExpiresAt)
}

// Close marks an answer as used, and leaves it to be read: what it approved was done for whoever waits for it.
func (s *Store) Close(a Answer) error {
	_, err := s.marks.set(a.ID, a.ExpiresAt.Add(2*Lifetime))
	return wrap(err)
}

// Void takes back a request with its answer, if it has one: neither can be used from then on.
func (s *Store) Void(id string) error {
	r, err := s.Get(id)
	if err != nil {
		return err
	}
	first, err := s.spend(id, r.ExpiresAt.Add(s.lifetime))
	if err == nil && !first {
		return ErrUnknown
	}
	return err
}

func (s *Store) spend(id string, until time.Time) (bool, error) {
	first, err := s.marks.set(id, until.Add(2*Lifetime))
	if err != nil || !first {
		return false, wrap(err)
	}
	dir, err := s.open(answerFiles, false)
	if err != nil {
		return true, nil // what is marked is void, whether its files are there or not
	}
	defer dir.Close()
	s.remove(dir, id)
	return true, nil
}

// Spent tells whether a request was used up or taken back.
func (s *Store) Spent(id string) bool { return requestID().MatchString(id) && s.marks.has(id) }
