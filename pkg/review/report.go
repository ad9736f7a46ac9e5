package review

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// Check names what a finding is about.
type Check string

// The checks.
const (
	CheckLedger     Check = "ledger"     // lines dropped, chain or seals broken, lines that are no records
	CheckScope      Check = "scope"      // a record changed a path that its intent does not own
	CheckIntent     Check = "intent"     // a record names an intent that is not declared
	CheckClass      Check = "class"      // a change is claimed to be a refactor, and is not
	CheckViolation  Check = "violation"  // a command left its scope
	CheckGovernance Check = "governance" // the range changed the rules that it is judged by
	CheckUntraced   Check = "untraced"   // lines that no record of the range explains
)

// Checks lists them in the order of their documentation, with what each means.
func Checks() []CheckInfo {
	return []CheckInfo{
		{CheckLedger, "The ledger lost nothing and its chain and seals hold"},
		{CheckScope, "Every recorded change is in the scope of its intent"},
		{CheckIntent, "Every recorded change names an intent that the base knows"},
		{CheckClass, "No refactor claim is contradicted"},
		{CheckViolation, "No command left its scope"},
		{CheckGovernance, "The rules of the review are those of the base"},
		{CheckUntraced, "The changed lines are explained by records"},
	}
}

// CheckInfo describes a check.
type CheckInfo struct {
	Check Check  `json:"check"`
	Title string `json:"title"`
}

// Severity says what a finding does to the result.
type Severity string

// The severities, from the strongest.
const (
	Error   Severity = "error"   // the gate fails
	Warning Severity = "warning" // a reviewer has to look; the gate fails if Options.Strict
	Note    Severity = "note"    // to be known
)

// Finding is one thing that was found. Texts may hold whatever a file name or a record holds.
type Finding struct {
	Check    Check    `json:"check"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`          // relative to the top of the repository
	Line     int      `json:"line,omitzero"` // 1-based, of File at HEAD; 0 for the file as a whole
	End      int      `json:"end,omitzero"`  // the last line of a range, else Line
	Intent   string   `json:"intent_id,omitzero"`
	Records  []string `json:"records,omitempty"` // ids, at most 20
	Message  string   `json:"message"`
	Advice   string   `json:"advice"`
}

// Lines counts changed lines: added and removed ones.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Traced  int `json:"traced"` // of both
}

// Changed is the sum.
func (l Lines) Changed() int { return l.Added + l.Removed }

// Percent of the changed lines are traced; 100 if there are none.
func (l Lines) Percent() float64 {
	if l.Changed() == 0 {
		return 100
	}
	return 100 * float64(l.Traced) / float64(l.Changed())
}

func (l *Lines) add(m Lines) {
	l.Added, l.Removed, l.Traced = l.Added+m.Added, l.Removed+m.Removed, l.Traced+m.Traced
}

// File is one file that differs between the merge base and HEAD.
type File struct {
	Path     string   `json:"path"`               // relative to the top of the repository
	From     string   `json:"from,omitzero"`      // the old path of a rename
	Status   string   `json:"status"`             // added, modified, deleted, renamed
	Lines    Lines    `json:"lines"`              // one for what has no lines
	Untraced []Range  `json:"untraced,omitempty"` // of the lines at HEAD
	Removed  int      `json:"untraced_removed"`   // lines of the old content that no record removed
	Kind     string   `json:"kind,omitzero"`      // binary, link, submodule, mode, rename, large: what has no lines to compare
	Intents  []string `json:"intents,omitempty"`
	Records  int      `json:"records"` // of the range that changed it
	// Evidence is what the comparison of the two contents came to, made now and not taken from a record. Proven is a
	// refactor that a reviewer may pass over.
	Evidence mutation.Evidence `json:"evidence"`
}

// Range is a run of lines, 1-based, both ends included.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Intent is what the range did under one intent.
type Intent struct {
	ID      string   `json:"id"` // empty for records without one
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Origin  string   `json:"origin"`  // base, head or unknown: who declares it
	Records int      `json:"records"` // that changed files
	Paths   int      `json:"paths"`
	Refused int      `json:"refused"` // calls
	Lines   int      `json:"lines"`   // added at HEAD
	Models  []string `json:"models,omitempty"`
}

// Report is the result of Run.
type Report struct {
	Base      string `json:"base"`       // commit ids
	MergeBase string `json:"merge_base"` // from which HEAD is compared
	Head      string `json:"head"`
	Workspace string `json:"workspace"` // relative to the top of the repository; empty if it is the top
	Commits   int    `json:"commits"`
	Records   int    `json:"records"` // that the range adds to the ledger
	Foreign   int    `json:"foreign"` // lines of other tools, which explain nothing here
	Refused   int    `json:"refused"` // decisions among the records that refuse a call
	Approved  int    `json:"approved"`
	Lines     Lines  `json:"lines"`
	// Percent of the changed lines that are traced, and what Options asked for.
	Percent   float64   `json:"traced_percent"`
	MinTraced float64   `json:"min_traced"`
	Passed    bool      `json:"passed"`
	Intents   []Intent  `json:"intents"`
	Files     []File    `json:"files"`
	Outside   []string  `json:"outside"` // changed paths that are not in the workspace, at most 100
	Beyond    int       `json:"outside_count"`
	Findings  []Finding `json:"findings"`
	Unproven  []string  `json:"unproven"` // sentences for people

	strict bool
}

// Count gives the number of findings of a check with a severity; no check counts all.
func (r *Report) Count(check Check, severity Severity) (n int) {
	for i := range r.Findings {
		if f := &r.Findings[i]; (check == "" || f.Check == check) && f.Severity == severity {
			n++
		}
	}
	return n
}

// Options say what to compare and how strictly.
type Options struct {
	Base string // a revision; required
	Head string // a revision; default HEAD
	// MinTraced is the least percentage of changed lines that must be traced; less is an error.
	MinTraced float64
	// Strict makes the report fail by its warnings too.
	Strict bool
	// Fetched: the ref that carries the ledger was asked for, so that where it is not there is none.
	Fetched bool
	// Seals say whose signatures to believe, and to require.
	Seals seal.VerifyOptions
	// Judge compares the two contents of files; default mutation.JudgeAmong those of HEAD.
	Judge func(context.Context, []mutation.File) mutation.Verdict
}
