package approval

import (
	"errors"
	"io/fs"
	"slices"
	"time"
)

// maxGrants bounds the directory of grants.
const maxGrants = 2000

// newGrants gives ids to those that do not stand already.
func (s *Store) newGrants(wanted []Grant) ([]Grant, error) {
	standing, err := s.Grants()
	if err != nil {
		return nil, err
	}
	var fresh []Grant
	for _, g := range wanted {
		if slices.ContainsFunc(standing, g.sameAs) {
			continue
		}
		if len(standing) >= maxGrants {
			return nil, ErrFull
		}
		g.ID = newID("grt_")
		fresh, standing = append(fresh, g), append(standing, g)
	}
	return fresh, nil
}

func (s *Store) putGrants(fresh []Grant) error {
	if len(fresh) == 0 {
		return nil
	}
	dir, err := s.open(grantFiles, true)
	if err != nil {
		return wrap(err)
	}
	defer dir.Close()
	for _, g := range fresh {
		file, err := s.seal(grantFiles, g)
		if err != nil {
			return wrap(err)
		}
		if err := put(dir, grantFiles.file(g.ID), file, false); err != nil {
			return wrap(err)
		}
	}
	return nil
}

// grantingTime is how long an answer waits for its grants, which are written behind it. If they are not there by then,
// whoever answered was stopped in between.
const grantingTime = 10 * time.Second

// beingGranted: grants of an answer are not written yet. A call that went on with it would be asked about anew.
func (s *Store) beingGranted(a Answer) bool {
	if len(a.Grants) == 0 || s.clock().Sub(a.AnsweredAt) >= grantingTime {
		return false
	}
	dir, err := s.open(grantFiles, false)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer dir.Close()
	return slices.ContainsFunc(a.Grants, func(id string) bool {
		if !grantID().MatchString(id) || s.marks.has(id) {
			return false
		}
		_, err := dir.Lstat(grantFiles.file(id))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// sameAs: two grants let the same calls pass.
func (g Grant) sameAs(as Grant) bool {
	as.ID, as.Request, as.By, as.Via, as.CreatedAt = g.ID, g.Request, g.By, g.Via, g.CreatedAt
	return g == as
}

// Grants lists the grants that stand, oldest first.
func (s *Store) Grants() ([]Grant, error) {
	standing, err := readAll(s, grantFiles, func(g Grant) bool { return !s.marks.has(g.ID) })
	slices.SortFunc(standing, func(a, b Grant) int { return byTime(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
	return standing, err
}

// Covered tells whether grants let all checks of a request pass, each at every path that it is about, and returns them.
func (s *Store) Covered(r Request) (by []Grant, covered bool, err error) {
	if r.Once || r.IntentID == "" || len(r.Checks) == 0 {
		return nil, false, nil
	}
	standing, err := s.Grants()
	if err != nil || len(standing) == 0 {
		return nil, false, err
	}
	for _, c := range r.Checks {
		subjects := r.subjects(c)
		for _, about := range subjects {
			i := slices.IndexFunc(standing, func(g Grant) bool { return g.covers(r, c, about) })
			if i < 0 {
				return nil, false, nil
			}
			by = append(by, standing[i])
		}
		if len(subjects) == 0 {
			return nil, false, nil
		}
	}
	return by, true, nil
}

// Revoke withdraws a grant (grt_…), or an answer that was not used, a denial among them (apr_…). ErrUnknown: there is
// none that stands.
func (s *Store) Revoke(id string) error {
	if requestID().MatchString(id) {
		if _, err := s.AnswerOf(id); err != nil {
			return ErrUnknown
		}
		return s.Void(id)
	}
	if !grantID().MatchString(id) {
		return ErrUnknown
	}
	standing, err := s.Grants()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(standing, func(g Grant) bool { return g.ID == id }) {
		return ErrUnknown
	}
	return s.endGrant(id)
}

// EndIntent withdraws the grants of an intent that is done, blocked or gone, and returns them.
func (s *Store) EndIntent(intentID string) ([]Grant, error) {
	standing, err := s.Grants()
	if err != nil {
		return nil, err
	}
	var ended []Grant
	for _, g := range standing {
		if g.IntentID != intentID {
			continue
		}
		if err := s.endGrant(g.ID); err != nil {
			return ended, err
		}
		ended = append(ended, g)
	}
	return ended, nil
}

// endGrant marks it for good: its file could be put back from a copy.
func (s *Store) endGrant(id string) error {
	if _, err := s.marks.set(id, time.Time{}); err != nil {
		return wrap(err)
	}
	dir, err := s.open(grantFiles, false)
	if err != nil {
		return nil // the mark is what counts
	}
	defer dir.Close()
	_ = dir.Remove(grantFiles.file(id))
	return nil
}
