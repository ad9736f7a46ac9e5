package review

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// untracked is what the server records where it lets calls through without an intent.
const untracked = "UNTRACKED"

// checkRecords holds every record that changed files to the intent that it names.
func (r *review) checkRecords() {
	approved := r.approvals()
	paths := map[string]map[string]bool{}
	for _, rec := range r.records {
		r.checkViolations(rec)
		if len(rec.Changes) == 0 {
			continue
		}
		if isLesson(rec) {
			for _, c := range rec.Changes {
				for _, p := range changedPaths(c) {
					r.checkLesson(rec, p)
				}
			}
			continue
		}
		known := r.checkIntentOf(rec)
		if paths[rec.IntentID] == nil {
			paths[rec.IntentID] = map[string]bool{}
		}
		for _, c := range rec.Changes {
			for _, p := range changedPaths(c) {
				paths[rec.IntentID][p] = true
				r.checkPath(rec, p, known, approved[approval{rec.IntentID, p}])
			}
		}
	}
	for id, touched := range paths {
		r.intent(id).Paths = len(touched)
	}
	if len(r.records) > 0 && r.base.unreadable == nil && r.base.intents == nil {
		r.unproven("the base declares no intents, so the records were judged by those that this range brings")
	}
}

type approval struct{ intent, path string }

// approvals are the paths about which an operator's consent is recorded.
func (r *review) approvals() map[approval]bool {
	found := map[approval]bool{}
	for _, rec := range r.records {
		if d := rec.Decision; d != nil && rec.Kind == record.KindDecision && d.Outcome == "approved" {
			for _, p := range d.Paths {
				found[approval{rec.IntentID, p}] = true
			}
		}
	}
	return found
}

// checkIntentOf reports whether the intent of a record is declared, in the base or in HEAD.
func (r *review) checkIntentOf(rec *added) bool {
	id := rec.IntentID
	f := Finding{Check: CheckIntent, Severity: Error, Intent: id, Advice: "Find out what made these changes, and whether they are wanted; redo them under an intent."}
	was, based := r.base.get(id)
	now, heads := r.head.get(id)
	switch {
	case id == "" || id == untracked:
		f.Message = "a record of changes names no intent"
	case !based && !heads && !intent.ValidID(id):
		f.Message = "a record names an intent with an id that no intent can have"
	case !based && !heads:
		f.Message, f.Advice = id+" is declared neither in the base nor in HEAD", "Declare it (orchestra-mcp intents add), or find out who removed it within the range."
	case based && r.base.ignore().IntentBlocked(id):
		f.Message, f.Advice = id+" may make no calls: .intentignore of the base names it", "Take the changes back, or the rule out of the base."
		r.gather(rec, "", "blocked", f)
		return true
	case based && heads && !was.Status.Selectable() && !now.Status.Selectable():
		f.Severity, f.Message = Warning, fmt.Sprintf("%s was %s in the base already", id, was.Status)
		f.Advice = "Check that it was reopened for this work."
		r.gather(rec, "", "finished", f)
		return true
	default:
		return true
	}
	r.gather(rec, "", "unknown", f)
	return false
}

// checkPath judges one path of a record. It counts what the base declares; what HEAD alone allows is a warning.
func (r *review) checkPath(rec *added, path string, known, approved bool) {
	f := Finding{Check: CheckScope, Severity: Error, Intent: rec.IntentID, Advice: "Take the change back, or let the operator widen the scope in the base first."}
	if !writable(path) {
		f.Message = fmt.Sprintf("%q was changed, which no tool may write", path)
		f.Advice = "A record like this was not made by the server: find out how it got into the ledger."
		r.gather(rec, path, "protected", f)
		return
	}
	if rec.Kind == record.KindBuild && r.changed[path] == nil {
		return // output of a command in the places for it, which is not even committed
	}
	if rule, blocked := r.base.ignore().PathBlocked(path); blocked {
		f.Message = fmt.Sprintf("%q was changed, which %s:%d of the base forbids (%s)", path, rule.File, rule.Line, rule.Text)
		r.addApproved(rec, path, "ignored", approved, f)
		return
	}
	if !known || inScope(r.base, rec.IntentID, path) {
		return
	}
	owned := "it is not declared there"
	if in, ok := r.base.get(rec.IntentID); ok {
		owned = "owned_scope is " + strings.Join(quoted(in.OwnedScope), ", ")
	}
	switch {
	case inScope(r.head, rec.IntentID, path):
		if _, based := r.base.get(rec.IntentID); !based {
			return // that the intent is new is one finding of its own
		}
		f.Severity, f.Message = Warning, fmt.Sprintf("%q is in the scope of %s in HEAD and not in the base, where %s", path, rec.IntentID, owned)
		f.Advice = "Decide whether this path was meant to be allowed."
		r.gather(rec, path, "widened", f)
	case rec.Kind == record.KindBuild:
		f.Severity, f.Message = Warning, fmt.Sprintf("%q is recorded as build output and committed, and not in the scope of %s", path, rec.IntentID)
		r.gather(rec, path, "build", f)
	default:
		f.Message = fmt.Sprintf("%q is not in the scope of %s, in the base nor in HEAD: in the base %s", path, rec.IntentID, owned)
		r.addApproved(rec, path, "scope", approved, f)
	}
}

// addApproved makes a failure that an operator is recorded to have agreed to one that a reviewer has to look at.
func (r *review) addApproved(rec *added, path, reason string, approved bool, f Finding) {
	if approved {
		f.Severity, reason = Warning, reason+" approved"
		f.Message += "; an approval is recorded"
		f.Advice = "Check that the operator did approve it: orchestra-mcp log --kind decision."
	}
	r.gather(rec, path, reason, f)
}

// writable tells paths of the workspace that tools for files may write under some intent.
func writable(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return fs.ValidPath(path) && path != "." && first != home && first != ".git" && path != ignoreFile
}

func inScope(snap *snapshot, id, path string) bool {
	in, ok := snap.get(id)
	if !ok {
		return false
	}
	_, unscoped := snap.ignore().Unscoped(path)
	return unscoped || in.Scope().Match(path)
}

// checkViolations reports what a command changed beyond its scope.
func (r *review) checkViolations(rec *added) {
	for _, v := range rec.Violations {
		f := Finding{Check: CheckViolation, Severity: Warning, Intent: rec.IntentID, Advice: "Look at what the command did: orchestra-mcp log --kind command."}
		f.Message = fmt.Sprintf("a command left the scope of %s: %q %s", rec.IntentID, v.Path, v.Op)
		if v.Reverted {
			f.Severity, f.Message = Note, f.Message+", which was undone"
		}
		r.gather(rec, v.Path, "violation "+string(f.Severity), f)
	}
}

// checkTraced reports what no record explains, and fails below the least that was asked for.
func (r *review) checkTraced() {
	rep := r.report
	rep.Percent = rep.Lines.Percent()
	for i := range rep.Files {
		r.addUntraced(&rep.Files[i])
	}
	if changed := rep.Lines.Changed(); float64(rep.Lines.Traced)*100 < rep.MinTraced*float64(changed) {
		r.find(CheckUntraced, Error, r.firstUntraced(), fmt.Sprintf("%s of the changed lines are traced (%d of %d), and %s are asked for",
			FormatPercent(rep.Percent), rep.Lines.Traced, changed, FormatPercent(rep.MinTraced)),
			"Make the other changes through the server's tools, or explain them to the reviewer.")
	}
	if rep.Beyond > 0 {
		r.unproven("%d changed files are outside the workspace, where no record is made: they were not reviewed", rep.Beyond)
	}
}

const maxRanges = 10 // of one file that become findings

func (r *review) addUntraced(f *File) {
	missing := Finding{Check: CheckUntraced, Severity: Note, File: f.Path, Advice: "Review it as a change from outside: nothing recorded explains it."}
	if f.Kind != "" && f.Lines.Traced == 0 {
		missing.Message = fmt.Sprintf("no record explains this change (%s, %s)", f.Status, f.Kind)
		r.add(missing)
		return
	}
	for i, lines := range f.Untraced {
		if i == maxRanges {
			missing.Line, missing.End = 0, 0
			missing.Message = fmt.Sprintf("%d more runs of lines that no record explains", len(f.Untraced)-i)
			r.add(missing)
			break
		}
		missing.Line, missing.End, missing.Message = lines.Start, lines.End, "no record explains these lines"
		r.add(missing)
	}
	if f.Removed > 0 {
		missing.Line, missing.End, missing.Message = 0, 0, fmt.Sprintf("no record explains why %d lines are gone", f.Removed)
		r.add(missing)
	}
}

func (r *review) firstUntraced() string {
	i := slices.IndexFunc(r.report.Files, func(f File) bool { return f.Lines.Traced < f.Lines.Changed() })
	return r.report.Files[max(i, 0)].Path
}

// FormatPercent rounds down, so that 100% means all.
func FormatPercent(percent float64) string {
	return fmt.Sprintf("%.1f%%", float64(int(percent*10))/10)
}
