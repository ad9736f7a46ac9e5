package index

import (
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
)

// candidates gives the numbers of the rows of a run that the filter may take, in order, or all where it has no keys.
func (w *Wanted) candidates(run Covered) (rows []uint32, all bool, err error) {
	for i, group := range w.groups {
		var of []uint32
		for _, k := range group {
			found, err := run.Find(k)
			if err != nil {
				return nil, false, err
			}
			of = merged(of, found)
		}
		if i == 0 {
			rows = of
		} else {
			rows = slices.DeleteFunc(slices.Clone(rows), func(n uint32) bool { _, in := slices.BinarySearch(of, n); return !in })
		}
	}
	if len(w.groups) == 0 {
		return nil, true, nil
	}
	always, err := run.Find(finish(hashStart(ofAny)))
	return merged(rows, always), false, err
}

func merged(a, b []uint32) []uint32 {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Rows gives the number and the row of each line that the filter may take, and where it ends at the latest.
func (w *Wanted) Rows(run Covered, newest bool, yield func(n int, row postings.Row, end int64) error) error {
	numbers, all, err := w.candidates(run)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	count := len(numbers)
	if all {
		count = run.Len()
	}
	var page []postings.Row
	var first int
	get := func(n int) (postings.Row, error) {
		if n < first || n >= first+len(page) {
			if page, first, err = run.Page(n); err != nil {
				return postings.Row{}, fmt.Errorf("%w: %w", ErrStale, err)
			}
		}
		return page[n-first], nil
	}
	for i := range count {
		if newest {
			i = count - 1 - i
		}
		n := i
		if !all {
			n = int(numbers[i])
		}
		row, err := get(n)
		if err != nil {
			return err
		}
		if !w.passes(row) {
			continue
		}
		end := run.To
		if n+1 < run.Len() {
			if n+1 < first+len(page) {
				end = run.From + int64(page[n+1-first].Offset)
			} else if next, _, err := run.Page(n + 1); err == nil {
				end = run.From + int64(next[0].Offset)
			}
		}
		if err := yield(n, row, end); err != nil {
			return err
		}
	}
	return nil
}
