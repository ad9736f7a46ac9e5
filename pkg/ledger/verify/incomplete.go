package verify

import (
	"context"
	"fmt"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

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
		if kind != record.LineRecord && kind != record.LineForeign {
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
	unbroken := newUnbroken(v.lines)
	for i, p := range problems {
		if ids := v.missing[p]; len(ids) > 0 && unbroken.all(ids) {
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

// unbroken tells the lines from which every way back ends at a root, not at a line that is absent.
type unbroken struct {
	lines *lineage
	state []wholeness
}

type wholeness uint8

const (
	unseen wholeness = iota
	entered
	wholeBelow
	gapBelow
)

func newUnbroken(lines *lineage) *unbroken {
	return &unbroken{lines: lines, state: make([]wholeness, len(lines.nodes))}
}

func (u *unbroken) all(ids []record.Hash) bool {
	for _, id := range ids {
		n, known := u.lines.index[id]
		if !known || u.look(n) == gapBelow {
			return false
		}
	}
	return true
}

// look goes down from a line and judges each line when all before it have been judged. Hashes admit no cycle.
func (u *unbroken) look(from int32) wholeness {
	stack := []int32{from}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		switch {
		case u.lines.nodes[n].standing&present == 0:
			u.state[n] = gapBelow
		case u.state[n] == unseen:
			u.state[n] = entered
			for _, p := range u.lines.before(n) {
				if u.state[p] == unseen {
					stack = append(stack, p)
				}
			}
			continue
		case u.state[n] == entered:
			u.state[n] = wholeBelow
			for _, p := range u.lines.before(n) {
				if u.state[p] == gapBelow {
					u.state[n] = gapBelow
				}
			}
		}
		stack = stack[:len(stack)-1]
	}
	return u.state[from]
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
