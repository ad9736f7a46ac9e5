package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds the findings of one check and severity; what is beyond is counted in one more.
const maxListed = 500

// maxRecords bounds the record ids of a finding.
const maxRecords = 20

func (r *review) add(f Finding) { r.report.Findings = append(r.report.Findings, f) }

// find adds a finding about a file as a whole.
func (r *review) find(check Check, severity Severity, file, message, advice string) {
	r.add(Finding{Check: check, Severity: severity, File: file, Message: message, Advice: advice})
}

// grouping is what findings of several records have in common.
type grouping struct {
	check        Check
	severity     Severity
	intent, path string
	reason       string
}

type group struct {
	Finding
	count int
}

// gather adds a finding about a record to those of the same kind on the same path.
func (r *review) gather(rec *added, path, reason string, f Finding) {
	key := grouping{f.Check, f.Severity, f.Intent, path, reason}
	g := r.grouped[key]
	if g == nil {
		if file := r.changed[path]; file != nil && file.Status != "deleted" {
			f.File = file.Path
		} else {
			f.File, f.Line, f.End = r.inRepository(home+"/"+rec.Segment), rec.number, rec.number
		}
		g = &group{Finding: f}
		r.grouped[key] = g
	}
	if g.count++; len(g.Records) < maxRecords {
		g.Records = append(g.Records, rec.name())
	}
}

// flushGroups makes findings of the groups, and folds what is too many.
func (r *review) flushGroups() {
	for _, g := range r.grouped {
		if g.count > 1 {
			g.Message += fmt.Sprintf(" (%d records)", g.count)
		}
		r.add(g.Finding)
	}
	counts := map[grouping]int{}
	kept := r.report.Findings[:0]
	sortFindings(r.report.Findings)
	for _, f := range r.report.Findings {
		key := grouping{check: f.Check, severity: f.Severity}
		if counts[key]++; counts[key] <= maxListed {
			kept = append(kept, f)
		}
	}
	r.report.Findings = kept
	for _, info := range Checks() {
		for _, severity := range []Severity{Error, Warning, Note} {
			if more := counts[grouping{check: info.Check, severity: severity}] - maxListed; more > 0 {
				r.find(info.Check, severity, r.inRepository(intentsFile), fmt.Sprintf("%d more findings of this kind are not listed", more),
					"Deal with those that are listed first.")
			}
		}
	}
}

// sortFindings puts what matters most first.
func sortFindings(findings []Finding) {
	ranks := map[Severity]int{Error: 0, Warning: 1, Note: 2}
	checks := map[Check]int{}
	for i, c := range Checks() {
		checks[c.Check] = i
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(ranks[a.Severity]-ranks[b.Severity], checks[a.Check]-checks[b.Check], strings.Compare(a.File, b.File), a.Line-b.Line,
			strings.Compare(a.Intent, b.Intent), strings.Compare(a.Message, b.Message), slices.Compare(a.Records, b.Records))
	})
}
