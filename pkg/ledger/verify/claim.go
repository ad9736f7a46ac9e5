package verify

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Claim says that a ledger once had these heads, which stand for all lines before them. Who says so, and why to
// believe it, is not this package's to know.
type Claim struct {
	// Segment names the file that makes the claim in problems, relative to .orchestration.
	Segment string
	// Heads are hashes in lower-case hex.
	Heads []string
	// Lines is the number of lines that are heads or precede them, those of other tools included.
	Lines int
	// Trusted claims make the lines below them count as sealed.
	Trusted bool
}

// ClaimStanding is what verification found of a Claim.
type ClaimStanding struct {
	MissingHeads []string // that the ledger no longer has
	Lines        int      // found of Claim.Lines, where lines are missing; else Claim.Lines
}

// Holds reports whether all that was claimed is still there, unchanged.
func (s ClaimStanding) Holds(c Claim) bool { return len(s.MissingHeads) == 0 && s.Lines >= c.Lines }

// VerifyClaims is Verify, and checks claims against the ledger: a claimed line that was edited, removed or written anew
// is a problem even if nothing follows it. It returns the standing of each claim, in the order given. Where something is
// missing it asks elsewhere, unless that is nil.
func VerifyClaims(ctx context.Context, root *os.Root, claims []Claim, elsewhere Elsewhere) (Report, []ClaimStanding, error) {
	root, leave, err := locate.Stands(root)
	if err != nil {
		return Report{}, nil, err
	}
	defer leave()
	v, err := readAll(ctx, root)
	if err != nil {
		return Report{}, nil, err
	}
	standings := v.checkClaims(claims)
	report := v.finish()
	if err := v.tellIncomplete(ctx, report.Problems, elsewhere); err != nil {
		return Report{}, nil, fmt.Errorf("verify the ledger: %w", err)
	}
	return report, standings, nil
}

// checkClaims counts exactly only where lines are missing: a hash stands for all that it was made from, so heads that
// are present and have no gap below them are what was claimed.
func (v *verification) checkClaims(claims []Claim) []ClaimStanding {
	standings := make([]ClaimStanding, len(claims))
	sealed, marked, total := make([]bool, len(v.lines.nodes)), make([]bool, len(v.lines.nodes)), 0
	hasGaps := slices.ContainsFunc(v.lines.nodes, func(n ancestor) bool { return n.standing&present == 0 })
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(claims[a].Lines, claims[b].Lines) })
	for _, i := range order {
		claim := claims[i]
		ids, heads, missing := v.present(claim.Heads)
		if hasGaps {
			clear(marked)
			total = 0
		}
		// Small claims come first: without gaps, one that others lie below costs only what it adds. The number may then be
		// more than its own lines, which is no less of a proof.
		total += v.lines.closure(heads, marked)
		standings[i] = ClaimStanding{MissingHeads: missing, Lines: total}
		if !standings[i].Holds(claim) {
			v.addMissing(brokenClaim(claim, standings[i]), ids...)
			continue
		}
		if claim.Trusted {
			v.lines.closure(heads, sealed)
		}
	}
	for n, is := range sealed {
		if is && v.lines.nodes[n].standing&present != 0 && v.lines.nodes[n].record {
			v.report.Sealed++
		}
	}
	v.tellGaps(sealed)
	return standings
}

// present gives the identities of heads, their numbers as far as they are there, and those that are not.
func (v *verification) present(heads []string) (ids []record.Hash, numbers []int32, missing []string) {
	for _, head := range heads {
		id, err := record.ParseHash(head)
		if err == nil {
			ids = append(ids, id)
		}
		if err != nil || !v.lines.has(id) {
			missing = append(missing, head)
			continue
		}
		numbers = append(numbers, v.lines.index[id])
	}
	return ids, numbers, missing
}

func brokenClaim(c Claim, s ClaimStanding) segment.Problem {
	p := segment.Problem{Kind: segment.ProblemSealed, Segment: c.Segment}
	if len(s.MissingHeads) > 0 {
		p.Record = s.MissingHeads[0]
		p.Detail = fmt.Sprintf("%d of the %d heads that it seals are not in the ledger, such as the record with hash %s: sealed "+
			"records were changed or removed", len(s.MissingHeads), len(c.Heads), s.MissingHeads[0])
		return p
	}
	p.Detail = fmt.Sprintf("it seals %d lines and %d of them are in the ledger: sealed records were changed or removed", c.Lines, s.Lines)
	return p
}

// Closure calls visit for each line that is one of the heads or precedes one, in the order of EachLine, each once. It
// returns those heads that the ledger does not have. It holds the chain of the whole ledger.
func Closure(ctx context.Context, root *os.Root, heads []record.Hash, visit func(segment.RawLine) error) (missing []record.Hash, err error) {
	chain := newLineage()
	if _, err := locate.EachLine(ctx, root, func(line segment.RawLine) error {
		if prev, kind := record.Classify(line.Data); line.Whole {
			chain.add(line.Hash, prev, kind == record.LineRecord)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var from []int32
	for _, head := range heads {
		if chain.has(head) {
			from = append(from, chain.number(head))
		} else {
			missing = append(missing, head)
		}
	}
	wanted := make([]bool, len(chain.nodes))
	chain.closure(from, wanted)
	_, err = locate.EachLine(ctx, root, func(line segment.RawLine) error {
		n, known := chain.index[line.Hash]
		if !line.Whole || !known || !wanted[n] {
			return nil
		}
		wanted[n] = false
		return visit(line)
	})
	if err != nil {
		return nil, fmt.Errorf("read the lines before %d heads: %w", len(heads), err)
	}
	return missing, nil
}
