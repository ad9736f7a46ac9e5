package seal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// What verification can find beyond the ledger's own problems.
const (
	// ProblemMalformed: a file among the seals is not a seal, or a key file is not the key that its name says.
	ProblemMalformed ledger.ProblemKind = "seal_malformed"
	// ProblemForged: a seal bears the name of a key that did not sign it, or was changed after it was signed.
	ProblemForged ledger.ProblemKind = "seal_forged"
	// ProblemRequired: no seal by a required key holds.
	ProblemRequired ledger.ProblemKind = "seal_required"
)

// Trust says why the key of a seal is believed.
type Trust string

// The kinds of trust.
const (
	TrustedKey    Trust = "trusted"    // given by the reader
	RepositoryKey Trust = "repository" // vouched for by the repository only, which whoever rewrites the ledger can change
	UnknownKey    Trust = "unknown"    // not at hand: the seal was not checked
)

// Checked is a seal with what verification made of it.
type Checked struct {
	File  string    `json:"file"` // relative to .orchestration
	Key   string    `json:"key"`  // name and hash
	Trust Trust     `json:"trust"`
	Holds bool      `json:"holds"` // all that it seals is there, unchanged; never true with an unknown key
	Time  time.Time `json:"time,omitzero"`
	Lines int       `json:"lines,omitzero"`

	// Heads are what it seals; nil with an unknown key.
	Heads []string `json:"-"`
}

// Report is the result of Verify.
type Report struct {
	verify.Report
	Seals    []Checked `json:"seals"`
	Unproven []string  `json:"unproven"` // sentences for people
}

// VerifyOptions say whom to believe.
type VerifyOptions struct {
	// Trusted keys count as proof.
	Trusted []PublicKey
	// Required keys are trusted too, and a seal by one of them must be there and hold.
	Required []PublicKey
	// Elsewhere tells what an unmerged branch has from what was removed; may be nil.
	Elsewhere verify.Elsewhere
}

// Verify checks the chain as [verify.Verify] does, and the seals: their signatures, and that the ledger still has what
// they seal. Seals by keys that only the repository has are checked as well, but prove nothing.
func Verify(ctx context.Context, root *os.Root, opts VerifyOptions) (Report, error) {
	c := checker{trusted: slices.Concat(opts.Required, opts.Trusted)}
	unreadable := readEach(root, "", c.key, sealsDir, keysDir)
	unreadable = append(unreadable, readEach(root, suffix, c.seal, sealsDir)...)
	c.problems = append(c.problems, unreadable...)
	chain, standings, err := verify.VerifyClaims(ctx, root, c.claims, opts.Elsewhere)
	if err != nil {
		return Report{}, err
	}
	for i, standing := range standings {
		c.seals[c.claimed[i]].Holds = standing.Holds(c.claims[i])
	}
	c.require(opts.Required)
	chain.Problems = append(chain.Problems, c.problems...)
	report := Report{Report: chain, Seals: c.seals}
	if report.Seals == nil {
		report.Seals = []Checked{}
	}
	report.Unproven = unproven(report)
	return report, nil
}

type checker struct {
	trusted    []PublicKey
	repository []PublicKey
	seals      []Checked
	claims     []verify.Claim
	claimed    []int // the seal of each claim
	problems   []ledger.Problem
}

func (c *checker) add(kind ledger.ProblemKind, place, detail string, args ...any) {
	c.problems = append(c.problems, ledger.Problem{Kind: kind, Segment: place, Detail: fmt.Sprintf(detail, args...)})
}

// key takes in a public key of the repository. One that the reader trusts anyway is no news.
func (c *checker) key(file string, content []byte) {
	key, err := ParsePublicKey(string(content))
	switch {
	case err != nil:
		c.add(ProblemMalformed, file, "%v", err)
	case key.ID() != path.Base(file):
		c.add(ProblemMalformed, file, "the file has the key %s, not the one that its name says: the key was replaced", key.ID())
	default:
		c.repository = append(c.repository, key)
	}
}

func (c *checker) seal(file string, content []byte) {
	signature, err := c.open(content)
	if err != nil {
		kind := ProblemMalformed
		if errors.Is(err, errForged) {
			kind = ProblemForged
		}
		c.add(kind, file, "%v", err)
		return
	}
	checked := Checked{File: file, Key: signature.key, Trust: signature.trust}
	if signature.trust != UnknownKey {
		s, err := Parse(signature.text)
		if err != nil {
			c.add(ProblemMalformed, file, "%v", err)
			return
		}
		checked.Time, checked.Lines, checked.Heads = s.Time, s.Lines, s.Heads
		c.claimed = append(c.claimed, len(c.seals))
		c.claims = append(c.claims, verify.Claim{Segment: file, Heads: s.Heads, Lines: s.Lines, Trusted: signature.trust == TrustedKey})
	}
	c.seals = append(c.seals, checked)
}

type signature struct {
	text, key string
	trust     Trust
}

var errForged = errors.New("the signature is not by the key that it names: the seal was changed or forged")

// open tries one key at a time, since a hostile repository can have a key with the name and the short hash of another.
func (c *checker) open(content []byte) (signature, error) {
	for _, try := range []struct {
		keys  []PublicKey
		trust Trust
	}{{c.trusted, TrustedKey}, {c.repository, RepositoryKey}} {
		forged := ""
		for _, key := range try.keys {
			opened, err := note.Open(content, note.VerifierList(key.verifier))
			var unverified *note.UnverifiedNoteError
			var invalid *note.InvalidSignatureError
			switch {
			case err == nil:
				return signature{opened.Text, key.ID(), try.trust}, nil
			case errors.As(err, &invalid):
				forged = key.ID()
			case !errors.As(err, &unverified):
				return signature{}, fmt.Errorf("%w: %v", ErrMalformed, err)
			}
		}
		if forged != "" {
			return signature{}, fmt.Errorf("%w (%s)", errForged, forged)
		}
	}
	_, err := note.Open(content, note.VerifierList())
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) {
		return signature{}, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	var ids []string
	for _, sig := range unverified.Note.UnverifiedSigs {
		ids = append(ids, keyID(sig.Name, sig.Hash))
	}
	return signature{key: strings.Join(ids, ", "), trust: UnknownKey}, nil
}

func (c *checker) require(keys []PublicKey) {
	if len(keys) == 0 {
		return
	}
	var ids []string
	for _, key := range keys {
		ids = append(ids, key.ID())
	}
	for _, s := range c.seals {
		if s.Trust == TrustedKey && s.Holds && slices.Contains(ids, s.Key) {
			return
		}
	}
	c.add(ProblemRequired, sealsDir, "no seal by %s holds: it was removed, or the ledger was never sealed with that key",
		strings.Join(ids, " or "))
}

// unproven says what nobody should take for proven.
func unproven(r Report) []string {
	sentences := []string{}
	say := func(format string, args ...any) { sentences = append(sentences, fmt.Sprintf(format, args...)) }
	keys := map[Trust][]string{}
	for _, s := range r.Seals {
		if !slices.Contains(keys[s.Trust], s.Key) {
			keys[s.Trust] = append(keys[s.Trust], s.Key)
		}
	}
	if r.Unsealed > 0 {
		say("%d of %d records are under no seal of a trusted key: the last of them can be changed or removed unseen, and who "+
			"computes the chain again can change any of them", r.Unsealed, r.Records)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Withheld)) {
		say("%d records of kind %s were kept back by those who sent the others: what they say cannot be checked here", r.Withheld[kind], kind)
	}
	if r.Leaves > 0 {
		say("%d lines of other tools are followed by no record: unless sealed they can be changed or removed unseen", r.Leaves)
	}
	if ids := keys[RepositoryKey]; len(ids) > 0 {
		say("keys that only the repository vouches for, which prove nothing: %s; compare with their holders, then give --key or "+
			"put them among the keys that you trust", strings.Join(ids, ", "))
	}
	if ids := keys[UnknownKey]; len(ids) > 0 {
		say("keys that are not at hand, so that their seals were not checked: %s", strings.Join(ids, ", "))
	}
	return sentences
}
