package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// Evidence is what a review has brought together, for who vouches for it, or checks what somebody else vouched for.
type Evidence struct {
	*Report
	Records []record.Entry // of the range, as they stand in the ledger, without Raw
	Lines   []record.Hash  // that the range adds to the ledger, sorted, of whatever tool
	Heads   []string       // of the ledger that HEAD relies on, sorted
	Seals   []seal.Checked // at HEAD, those that hold
	// Withheld counts the records that others kept back when they sent the rest: what they say is not here.
	Withheld int
	// Policy has the files at BASE and at HEAD that say what agents may do, by their paths in the repository, with the hex
	// SHA-256 of their bytes.
	Policy struct{ Base, Head map[string]string }
	// Ways has, by File.Path, how records of the range arrive at a file's content at HEAD.
	Ways map[string]Way

	review *review
}

// Way is what leads from a content in the merge base to one at HEAD without a gap.
type Way struct {
	From    string // where the content stood in the merge base, as a path of the repository; empty for a file that is new
	Changes []record.Change
}

// Inspect is Run for who needs more than the report. Every clone gives the same: of the contents between the two ends only
// those count which the range's commits have. The ledger that HEAD relies on is what the heads stand for, or, if they are
// nil, what its commits name; a ledger in the tree is as HEAD has it, whatever the heads. The evidence is good until use
// returns, whose error is returned as it is.
func Inspect(ctx context.Context, root *os.Root, opts Options, heads []record.Hash, use func(*Evidence) error) error {
	r := newReview(ctx, root, opts)
	r.pinned = heads
	defer r.close()
	if err := r.open(); err != nil {
		return err
	}
	if err := r.bePortable(); err != nil {
		return err
	}
	if err := r.run(); err != nil {
		return fmt.Errorf("review: %w", err)
	}
	e, err := r.evidence()
	if err != nil {
		return err
	}
	return use(e)
}

func (r *review) bePortable() error {
	list, err := r.git.ask("rev-list", "--objects", "--no-object-names", "--end-of-options", r.head.commit, "^"+r.fork.commit)
	if err != nil {
		return err
	}
	r.portable = map[string]bool{}
	for id := range strings.SplitSeq(list, "\n") {
		r.portable[id] = true
	}
	return nil
}

func (r *review) evidence() (*Evidence, error) {
	e := &Evidence{Report: r.report, Lines: r.lines, Heads: r.chain.Heads, Ways: r.ways, review: r}
	for _, n := range r.chain.Withheld {
		e.Withheld += n
	}
	for _, rec := range r.records {
		e.Records = append(e.Records, rec.Entry)
	}
	slices.SortFunc(e.Lines, record.CompareHash)
	for _, s := range r.chain.Seals {
		if s.Holds {
			e.Seals = append(e.Seals, s)
		}
	}
	var err, errHead error
	e.Policy.Base, err = r.policy(r.base)
	e.Policy.Head, errHead = r.policy(r.head)
	return e, errors.Join(err, errHead)
}

func (r *review) policy(snap *snapshot) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range []string{intentsFile, home + "/config.yaml", home + "/" + ignoreFile, ignoreFile} {
		content, err := snap.root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		found[r.inRepository(name)] = hex.EncodeToString(sum[:])
	}
	return found, nil
}

// Content gives a blob that the range's commits have, of at most 8 MiB.
func (e *Evidence) Content(id string) ([]byte, bool) { return e.review.contents(id) }

// UnprovenFor is Unproven for a reader who trusts these keys to seal the ledger.
func (e *Evidence) UnprovenFor(keys []seal.PublicKey) ([]string, error) {
	report, err := seal.Verify(e.review.ctx, e.review.head.root, seal.VerifyOptions{Trusted: keys})
	others := slices.DeleteFunc(slices.Clone(e.Unproven), func(sentence string) bool { return slices.Contains(e.review.chain.Unproven, sentence) })
	return append(others, report.Unproven...), err
}

// Sealed counts the lines of the range that a seal covers.
func (e *Evidence) Sealed(s seal.Checked) (n int, err error) {
	var sealed []record.Hash
	for _, head := range s.Heads {
		hash, err := record.ParseHash(head)
		if err != nil {
			return 0, err
		}
		sealed = append(sealed, hash)
	}
	_, err = verify.Closure(e.review.ctx, e.review.head.root, sealed, func(line ledger.RawLine) error {
		if _, ours := slices.BinarySearchFunc(e.Lines, line.Hash, record.CompareHash); ours {
			n++
		}
		return nil
	})
	return n, err
}
