package record

import "fmt"

// MaxLine bounds the body of a line that is written, in bytes.
const MaxLine = 8 << 20

// Spread writes a record with very many changes or violations as several lines, which are appended together. Each
// carries its share and says which part it is; command, decision and detail stand in the first.
func Spread(e Entry, limit int, newID func() string) ([][]byte, error) {
	parts, err := parts(e, 0, len(e.Changes)+len(e.Violations), limit)
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, len(parts))
	for i, part := range parts {
		part.Part = &Part{Of: e.ID, Index: i + 1, Count: len(parts)}
		if i > 0 {
			part.ID = newID()
		}
		if bodies[i], err = EncodeBody(part); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// parts halves the changes and violations from lo to hi until each part fits.
func parts(whole Entry, lo, hi, limit int) ([]Entry, error) {
	part := slicePart(whole, lo, hi)
	body, err := EncodeBody(part)
	if err == nil && len(body) > limit && hi-lo <= 1 && len(part.Changes) == 1 {
		part.Changes = []Change{coarsen(part.Changes[0])}
		body, err = EncodeBody(part)
	}
	switch {
	case err != nil:
		return nil, err
	case len(body) <= limit:
		return []Entry{part}, nil
	case hi-lo <= 1:
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(body), limit)
	}
	mid := lo + (hi-lo)/2
	left, err := parts(whole, lo, mid, limit)
	if err != nil {
		return nil, err
	}
	right, err := parts(whole, mid, hi, limit)
	return append(left, right...), err
}

func slicePart(whole Entry, lo, hi int) Entry {
	part, n := whole, len(whole.Changes)
	part.Changes = whole.Changes[min(lo, n):min(hi, n)]
	part.Violations = whole.Violations[max(lo-n, 0):max(hi-n, 0)]
	part.Part = &Part{Of: whole.ID, Index: 1 << 20, Count: 1 << 20} // room for the real numbers
	if lo > 0 {
		part.Command, part.Decision, part.Detail = nil, nil, nil
	}
	return part
}
