package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// NumberProblems gives those of the problems their line that were found without counting, as far as they can be counted.
func NumberProblems(ctx context.Context, root *os.Root, problems []Problem) []Problem {
	problems = slices.Clone(problems)
	uncounted := map[string][]*Problem{}
	for i := range problems {
		if p := &problems[i]; p.Line == 0 && p.ofLine {
			uncounted[p.Segment] = append(uncounted[p.Segment], p)
		}
	}
	for segment, list := range uncounted {
		slices.SortFunc(list, func(a, b *Problem) int { return cmp.Compare(a.offset, b.offset) })
		offsets := make([]int64, len(list))
		for i, p := range list {
			offsets[i] = p.offset
		}
		numbers, err := LineNumbers(ctx, root, segment, offsets)
		for i := 0; err == nil && i < len(list); i++ {
			list[i].Line = numbers[i]
		}
	}
	return problems
}

// LineNumbers counts in one pass to each of the offsets, which are sorted.
func LineNumbers(ctx context.Context, root *os.Root, segment string, offsets []int64) ([]int, error) {
	places, _, err := List(ctx, root)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(places, func(x Extent) bool { return x.Name == segment })
	if i < 0 {
		return nil, fmt.Errorf("count the lines of %s: it is gone", segment)
	}
	file, size, err := places[i].Open(root)
	if err != nil {
		return nil, fmt.Errorf("count the lines of %s: %w", segment, err)
	}
	defer file.Close()
	numbers := make([]int, len(offsets))
	number, from := 1, int64(0)
	for n, offset := range offsets {
		if offset > size {
			return nil, fmt.Errorf("count the lines of %s: it has changed meanwhile", segment)
		}
		breaks, err := countBreaks(ctx, io.NewSectionReader(file, from, offset-from))
		if err != nil {
			return nil, fmt.Errorf("count the lines of %s: %w", segment, err)
		}
		number, from = number+breaks, offset
		numbers[n] = number
	}
	return numbers, nil
}

func countBreaks(ctx context.Context, r io.Reader) (breaks int, err error) {
	buf := make([]byte, 4*readBlock)
	for {
		n, err := r.Read(buf)
		breaks += bytes.Count(buf[:n], []byte("\n"))
		switch {
		case errors.Is(err, io.EOF):
			return breaks, nil
		case err != nil:
			return breaks, err
		case ctx.Err() != nil:
			return breaks, ctx.Err()
		}
	}
}
