package attest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// VerifyOptions say whom to believe, and who asks.
type VerifyOptions struct {
	// Trusted keys may have signed the statement. Where there are Required ones, one of those must have.
	Trusted, Required []PublicKey
	// Seals by these keys count.
	Seals []seal.PublicKey
	// Version is that of the program.
	Version string
}

// Result is what came of a statement.
type Result struct {
	Holds     bool      `json:"holds"`
	KeyID     string    `json:"keyid"`
	Statement Statement `json:"statement"`
	Replay    Replay    `json:"replay"`
	// Contradictions are sentences that say what is not as the statement or a record says. Unknown says what could not be
	// told. The statement holds if there is none of either.
	Contradictions []string `json:"contradictions"`
	Unknown        []string `json:"unknown"`
	// Unproven are sentences for people: what is not proven although the statement holds.
	Unproven []string `json:"unproven"`
}

// Verify checks an envelope against the repository and the ledger of the workspace at root. An error that wraps ErrForged or
// ErrDamaged contradicts the statement; with another one it could not be checked.
func Verify(ctx context.Context, root *os.Root, text []byte, opts VerifyOptions) (*Result, error) {
	payload, by, err := open(text, opts.Trusted, opts.Required)
	if err != nil {
		return nil, err
	}
	r := &Result{KeyID: by.ID(), Contradictions: []string{}, Unknown: []string{}, Unproven: []string{}}
	if r.Statement, err = parse(payload); err != nil {
		return nil, err
	}
	said := &r.Statement.Predicate
	heads, err := parseHeads(said.Ledger.Heads)
	if err != nil {
		return nil, err
	}
	s := &source{}
	if s.objects, err = openObjects(ctx, root.Name()); err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.checkRange(ctx, root, &said.Range); err != nil {
		return nil, err
	}
	return r, review.Inspect(ctx, root, review.Options{Base: said.Range.Base, Head: said.Range.Head}, heads, func(e *review.Evidence) error {
		s.evidence = e
		return r.hold(s, opts)
	})
}

func parseHeads(texts []string) ([]record.Hash, error) {
	heads := []record.Hash{} // not nil: that would be what the commits name
	for _, text := range texts {
		head, err := record.ParseHash(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrForged, err)
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// checkRange is checkObjects, and reads the commits of the range.
func (s *source) checkRange(ctx context.Context, root *os.Root, said *Range) error {
	if _, err := s.treeOf(said.Base); err != nil {
		return err
	}
	if err := s.checkObjects(said.MergeBase, said.Head); err != nil {
		return err
	}
	list, err := gitread.Repository{Dir: root.Name()}.Ask(ctx, "rev-list", "--end-of-options", said.Head, "^"+said.Base)
	if err != nil {
		return err
	}
	for _, id := range strings.Fields(list) {
		if _, err := s.read(id, "commit", maxHeld); err != nil {
			return err
		}
	}
	return nil
}

// hold holds the statement to the evidence.
func (r *Result) hold(s *source, opts VerifyOptions) error {
	said := &r.Statement.Predicate
	if s.evidence.Workspace != said.Range.Workspace {
		return fmt.Errorf("%w: it is about the workspace %q of the repository, and this is %q; give that one with --workspace", ErrNotHere,
			said.Range.Workspace, s.evidence.Workspace)
	}
	found, err := s.statement(opts.Version)
	if err != nil {
		return err
	}
	r.Contradictions = append(r.Contradictions, differences(r.Statement.fixed(), found.fixed())...)
	unlike := differences(said.measured(), found.Predicate.measured())
	switch {
	case s.evidence.Withheld > 0:
		r.unknown(unlike, fmt.Sprintf("%d records were kept back by those who sent the others", s.evidence.Withheld))
	case said.Tool.Version != opts.Version:
		r.unknown(unlike, fmt.Sprintf("version %.40q of the program measured, and this is %q", said.Tool.Version, opts.Version))
	default:
		r.Contradictions = append(r.Contradictions, unlike...)
	}
	var against []string
	if r.Replay, against, err = s.replay(); err != nil {
		return err
	}
	r.Contradictions = append(r.Contradictions, against...)
	r.Holds = len(r.Contradictions)+len(r.Unknown) == 0
	return r.sayUnproven(s, opts)
}

func (r *Result) unknown(unlike []string, why string) {
	for _, one := range unlike {
		r.Unknown = append(r.Unknown, one+": "+why)
	}
}

// sayUnproven says what nobody should take for proven.
func (r *Result) sayUnproven(s *source, opts VerifyOptions) error {
	e := s.evidence
	say := func(format string, args ...any) { r.Unproven = append(r.Unproven, fmt.Sprintf(format, args...)) }
	say("the key vouches for the records, and does not prove them true: whoever holds it could have written them; times and models are their writers' word")
	if left := e.Report.Lines.Changed() - e.Report.Lines.Traced; left > 0 {
		say("%d of %d changed lines are explained by no record of the range", left, e.Report.Lines.Changed())
	}
	for _, f := range r.Replay.Files {
		if f.Checked < f.Changes {
			say("%d of %d changes of %s were followed by their hashes alone: the repository does not have the contents in between",
				f.Changes-f.Checked, f.Changes, f.Path)
		}
	}
	for _, t := range r.Replay.Taken {
		say("%s was not replayed, and taken from HEAD: %s", t.Path, t.Reason)
	}
	if len(r.Statement.Predicate.Range.Head) == 40 {
		say("this repository names commits, trees and unchanged files by SHA-1, and the proof of these is no stronger; changed files have a SHA-256")
	}
	sentences, err := e.UnprovenFor(opts.Seals)
	r.Unproven = append(r.Unproven, sentences...)
	return err
}

// Contradicted tells an error of Verify that contradicts the statement from one that kept it from being checked.
func Contradicted(err error) bool { return errors.Is(err, ErrForged) || errors.Is(err, ErrDamaged) }
