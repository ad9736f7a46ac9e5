package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// The types of a statement.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://github.com/intentgov/orchestra-mcp/attestation/v1"
)

// Statement is what is signed.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is something that the statement is about.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// The names of the first two subjects.
const (
	commitSubject = "git commit"
	treeSubject   = "git tree"
)

// Predicate is what the statement says of its subjects.
type Predicate struct {
	Tool      Tool      `json:"tool"`
	Range     Range     `json:"range"`
	Ledger    Ledger    `json:"ledger"`
	Seals     []Seal    `json:"seals"`
	Policy    Policy    `json:"policy"`
	Decisions Decisions `json:"decisions"`
	Intents   []Intent  `json:"intents"`
	Coverage  Coverage  `json:"coverage"`
	// Unproven are sentences for people.
	Unproven []string `json:"unproven"`
}

// Tool is the program that made the statement.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Range says which commits the statement is about, by their ids.
type Range struct {
	Workspace string   `json:"workspace"` // relative to the top of the repository; empty if it is the top
	Base      string   `json:"base"`
	MergeBase string   `json:"mergeBase"`
	Head      string   `json:"head"`
	Commits   int      `json:"commits"`
	Deleted   []string `json:"deleted"` // files that HEAD has no more; the others are subjects
}

// Ledger says which lines the range adds.
type Ledger struct {
	Lines   int      `json:"lines"`
	Records int      `json:"records"` // of these, ours
	Digest  string   `json:"digest"`  // hex SHA-256; see the package's documentation
	Heads   []string `json:"heads"`   // of all that HEAD relies on
}

// Seal is one at HEAD that holds by a key that the repository has.
type Seal struct {
	File  string `json:"file"` // relative to .orchestration
	Key   string `json:"key"`
	Lines int    `json:"lines"` // of the range that it covers
}

// Policy has the hex SHA-256 of the files that say what agents may do, by path.
type Policy struct {
	Base map[string]string `json:"base"`
	Head map[string]string `json:"head"`
}

// Decisions counts those that the range's records tell of.
type Decisions struct {
	Refused   int      `json:"refused"`
	Approved  int      `json:"approved"`
	Denied    int      `json:"denied"`
	Approvals []string `json:"approvals"` // the ids of approvals that were granted or denied, sorted
}

// Intent is what the range did under one.
type Intent struct {
	ID      string `json:"id"`
	Origin  string `json:"origin"` // base, head or unknown: who declares it
	Records int    `json:"records"`
	Lines   int    `json:"lines"`
}

// Coverage says how much of the change the records explain, in changed lines: added and removed ones.
type Coverage struct {
	Changed  int            `json:"changed"`
	Traced   int            `json:"traced"`
	Files    []FileCoverage `json:"files"`
	Outside  int            `json:"outside"` // changed paths that are not in the workspace, and not counted
	Errors   int            `json:"errors"`  // findings of the gate
	Warnings int            `json:"warnings"`
}

// FileCoverage is the part of one file.
type FileCoverage struct {
	Path    string `json:"path"`
	Changed int    `json:"changed"`
	Traced  int    `json:"traced"`
}

// source is a repository whose objects were checked, between the two ends of a range.
type source struct {
	*objects
	evidence   *review.Evidence
	base, head map[string]entry // the merge base's files, and HEAD's
	tree       string           // HEAD's
	changed    []string
}

// checkObjects reads the objects of the range and of HEAD's tree.
func (s *source) checkObjects(mergeBase, head string) error {
	fork, err := s.treeOf(mergeBase)
	if err != nil {
		return err
	}
	if s.tree, err = s.treeOf(head); err != nil {
		return err
	}
	if s.base, err = s.files(fork); err != nil {
		return err
	}
	if s.head, err = s.files(s.tree); err != nil {
		return err
	}
	s.changed = differing(s.base, s.head)
	for path, e := range s.head {
		if e.mode == modeCommit {
			continue
		}
		if _, err := s.sum(e.id); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, path := range s.changed {
		if e := s.base[path]; e.regular() {
			if _, err := s.sum(e.id); err != nil {
				return fmt.Errorf("%s in the merge base: %w", path, err)
			}
		}
	}
	return nil
}

// statement is what can be said by the evidence.
func (s *source) statement(version string) (Statement, error) {
	e := s.evidence
	st := Statement{Type: StatementType, PredicateType: PredicateType, Predicate: Predicate{
		Tool:   Tool{"orchestra-mcp", version},
		Range:  Range{Workspace: e.Workspace, Base: e.Base, MergeBase: e.MergeBase, Head: e.Head, Commits: e.Commits, Deleted: []string{}},
		Ledger: Ledger{Lines: len(e.Lines), Records: e.Report.Records, Digest: digest(e.Lines), Heads: e.Heads},
		Seals:  []Seal{}, Policy: Policy(e.Policy), Decisions: decisions(e.Records), Intents: []Intent{}, Unproven: e.Unproven,
		Coverage: coverage(e.Report),
	}}
	for _, in := range e.Intents {
		st.Predicate.Intents = append(st.Predicate.Intents, Intent{in.ID, in.Origin, in.Records, in.Lines})
	}
	for _, held := range e.Seals {
		lines, err := e.Sealed(held)
		if err != nil {
			return st, err
		}
		st.Predicate.Seals = append(st.Predicate.Seals, Seal{held.File, held.Key, lines})
	}
	return st, s.addSubjects(&st)
}

func (s *source) addSubjects(st *Statement) error {
	st.Subject = []Subject{
		{commitSubject, map[string]string{"gitCommit": s.evidence.Head}}, {treeSubject, map[string]string{"gitTree": s.tree}},
	}
	for _, path := range s.changed {
		e, there := s.head[path]
		switch {
		case !utf8.ValidString(path):
			return fmt.Errorf("%q is no name in UTF-8, and a statement cannot hold it; rename the file", path)
		case !there:
			st.Predicate.Range.Deleted = append(st.Predicate.Range.Deleted, path)
		case e.mode == modeCommit:
			st.Subject = append(st.Subject, Subject{path, map[string]string{"gitCommit": e.id}})
		default:
			sum, err := s.sum(e.id)
			if err != nil {
				return err
			}
			st.Subject = append(st.Subject, Subject{path, map[string]string{"sha256": sum, "gitBlob": e.id}})
		}
	}
	return nil
}

func digest(lines []record.Hash) string {
	sum := sha256.New()
	for _, line := range lines {
		fmt.Fprintf(sum, "%s\n", line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func decisions(records []record.Entry) Decisions {
	d := Decisions{Approvals: []string{}}
	for i := range records {
		made := records[i].Decision
		if made == nil {
			continue
		}
		switch made.Outcome {
		case "refused":
			d.Refused++
		case "approved":
			d.Approved++
		case "denied":
			d.Denied++
		}
		if made.Approval != "" && (made.Outcome == "approved" || made.Outcome == "denied") {
			d.Approvals = append(d.Approvals, made.Approval)
		}
	}
	slices.Sort(d.Approvals)
	d.Approvals = slices.Compact(d.Approvals)
	return d
}

func coverage(r *review.Report) Coverage {
	c := Coverage{Changed: r.Lines.Changed(), Traced: r.Lines.Traced, Files: []FileCoverage{}, Outside: r.Beyond,
		Errors: r.Count("", review.Error), Warnings: r.Count("", review.Warning)}
	for _, f := range r.Files {
		c.Files = append(c.Files, FileCoverage{f.Path, f.Lines.Changed(), f.Lines.Traced})
	}
	return c
}

// parse reads a payload that was signed.
func parse(payload []byte) (Statement, error) {
	var st Statement
	err := decode(payload, &st)
	switch p := st.Predicate; {
	case err != nil:
		err = fmt.Errorf("%w: the payload is no statement that this version knows: %v", ErrForged, err)
	case st.Type != StatementType || st.PredicateType != PredicateType:
		err = fmt.Errorf("%w: its type is %.100q with the predicate %.100q, and not one that attest writes", ErrForged, st.Type, st.PredicateType)
	case !gitread.IsID(p.Range.Base) || !gitread.IsID(p.Range.MergeBase) || !gitread.IsID(p.Range.Head):
		err = fmt.Errorf("%w: it does not name its commits by their ids", ErrForged)
	case len(p.Ledger.Heads) == 0 && p.Ledger.Lines > 0:
		err = errors.Join(ErrForged, errors.New("it names lines of the ledger and no heads"))
	}
	return st, err
}
