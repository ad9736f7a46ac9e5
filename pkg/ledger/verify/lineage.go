package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// lineage is the graph of a whole ledger with its edges, for lines that come in any order, with duplicates. A line has
// a number of its own, in order of first mention; most lines follow one line, so that one stands in the node itself.
type lineage struct {
	index map[record.Hash]int32
	nodes []ancestor
	joins [][]int32 // the predecessors of lines that follow several
}

type ancestor struct {
	prev   int32 // noLine, a line, or joined-n for joins[n]
	record bool  // a line of ours
	standing
}

type standing uint8

const (
	present  standing = 1 << iota // the line is there
	followed                      // some line names it as its predecessor
)

const (
	noLine int32 = -1
	joined int32 = -2
)

func newLineage() *lineage { return &lineage{index: map[record.Hash]int32{}} }

func (l *lineage) number(id record.Hash) int32 {
	n, ok := l.index[id]
	if !ok {
		n = int32(len(l.nodes))
		l.index[id] = n
		l.nodes = append(l.nodes, ancestor{prev: noLine})
	}
	return n
}

// add takes a line in, and returns its number and whether it is new.
func (l *lineage) add(id record.Hash, prev []record.Hash, record bool) (int32, bool) {
	n := l.number(id)
	if l.nodes[n].standing&present != 0 {
		return n, false
	}
	l.nodes[n].standing |= present
	l.nodes[n].record = record
	switch len(prev) {
	case 0:
	case 1:
		l.nodes[n].prev = l.follow(prev[0])
	default:
		numbers := make([]int32, len(prev))
		for i, p := range prev {
			numbers[i] = l.follow(p)
		}
		l.nodes[n].prev = joined - int32(len(l.joins))
		l.joins = append(l.joins, numbers)
	}
	return n, true
}

func (l *lineage) follow(id record.Hash) int32 {
	n := l.number(id)
	l.nodes[n].standing |= followed
	return n
}

func (l *lineage) has(id record.Hash) bool {
	n, ok := l.index[id]
	return ok && l.nodes[n].standing&present != 0
}

// heads are the lines that nobody follows, sorted.
func (l *lineage) heads() []record.Hash {
	var heads []record.Hash
	for id, n := range l.index {
		if l.nodes[n].standing == present {
			heads = append(heads, id)
		}
	}
	slices.SortFunc(heads, record.CompareHash)
	return heads
}

// closure marks the lines from the given ones back to the roots, and returns how many lines that are present it marked
// for the first time.
func (l *lineage) closure(heads []int32, marked []bool) (added int) {
	stack := slices.Clone(heads)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if marked[n] {
			continue
		}
		marked[n] = true
		if l.nodes[n].standing&present != 0 {
			added++
			stack = append(stack, l.before(n)...)
		}
	}
	return added
}

// Elsewhere calls visit for each line that is neither in the ledger nor was dropped from it, but is known from another
// place, such as a branch of git that was not merged; where names the place for people. Verification asks only if
// something is missing, and then tells a branch that is incomplete here, as a cherry-pick or a rebase that leaves out a
// commit makes it, from a record that was changed or removed. The line is valid during visit.
type Elsewhere func(ctx context.Context, visit func(line []byte, where string) error) error

// tellIncomplete makes ProblemIncomplete of each problem whose missing lines are elsewhere, with all lines before them.
// It takes the lines from elsewhere into the lineage: the report must be finished.
func (v *verification) tellIncomplete(ctx context.Context, problems []segment.Problem, elsewhere Elsewhere) error {
	wanted := map[record.Hash]string{}
	for _, ids := range v.missing {
		for _, id := range ids {
			wanted[id] = ""
		}
	}
	if elsewhere == nil || len(wanted) == 0 {
		return nil
	}
	err := elsewhere(ctx, func(line []byte, where string) error {
		line = segment.TrimEnd(line)
		prev, kind := record.Classify(line)
		if !kind.Linked() {
			return nil
		}
		id := record.Identity(line)
		if at, asked := wanted[id]; asked && at == "" {
			wanted[id] = where
		}
		v.lines.add(id, prev, kind == record.LineRecord)
		return nil
	})
	if err != nil {
		return err
	}
	unbroken := v.lines.unbroken()
	broken := func(id record.Hash) bool {
		n, known := v.lines.index[id]
		return !known || !unbroken(n)
	}
	for i, p := range problems {
		if ids := v.missing[p]; len(ids) > 0 && !slices.ContainsFunc(ids, broken) {
			problems[i] = asIncomplete(p, ids, wanted)
		}
	}
	return nil
}

func asIncomplete(p segment.Problem, missing []record.Hash, places map[record.Hash]string) segment.Problem {
	where := "another branch"
	for _, id := range missing {
		if places[id] != "" {
			where = places[id]
			break
		}
	}
	what := "the record before it, with hash " + missing[0].String() + ","
	if p.Kind == segment.ProblemSealed {
		what = "part of what it seals"
	}
	p.Kind = segment.ProblemIncomplete
	p.Detail = fmt.Sprintf("%s is not here but in %s, which was not merged: a cherry-pick, or a rebase or squash of a part, left it there", what, where)
	return p
}

// unbroken tells of a line whether every way back from it ends at a root, not at a line that is absent. It judges each line
// once, when all before it have been judged.
func (l *lineage) unbroken() func(from int32) bool {
	const (
		unseen = iota
		entered
		wholeBelow
		gapBelow
	)
	state := make([]uint8, len(l.nodes))
	return func(from int32) bool {
		for stack := []int32{from}; len(stack) > 0; {
			n := stack[len(stack)-1]
			switch {
			case l.nodes[n].standing&present == 0:
				state[n] = gapBelow
			case state[n] == unseen:
				state[n] = entered
				for _, p := range l.before(n) {
					if state[p] == unseen {
						stack = append(stack, p)
					}
				}
				continue
			case state[n] == entered:
				state[n] = wholeBelow
				if slices.ContainsFunc(l.before(n), func(p int32) bool { return state[p] == gapBelow }) {
					state[n] = gapBelow
				}
			}
			stack = stack[:len(stack)-1]
		}
		return state[from] == wholeBelow
	}
}

// before gives the lines that a line follows.
func (l *lineage) before(n int32) []int32 {
	switch prev := l.nodes[n].prev; {
	case prev <= joined:
		return l.joins[joined-prev]
	case prev == noLine:
		return nil
	default:
		return []int32{prev}
	}
}
