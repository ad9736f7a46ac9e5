package review

import (
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// checkClasses judges again what records claim to be refactors: each call by its own contents where git has them, the
// others by what they came to together.
func (r *review) checkClasses() {
	unchecked := 0
	var together []*added
	for _, call := range r.calls() {
		if !claimsRefactor(call[0]) {
			continue
		}
		first := call[0]
		if c := first.Class; c != nil && c.Evidence == string(mutation.Unproven) {
			r.contradict(first, "the record itself says that it is unproven")
			continue
		}
		files, complete := r.contentsOf(call)
		if !complete {
			together = append(together, call...)
			continue
		}
		switch v := r.opts.Judge(r.ctx, files); v.Evidence {
		case mutation.Unproven:
			r.contradict(first, v.Reason)
		case mutation.Unsupported:
			unchecked++
		}
	}
	if len(together) > 0 && !r.checkTogether(together) {
		unchecked += len(together)
	}
	if unchecked > 0 {
		r.unproven("%d records claim a refactor that could not be checked again: there is no parser for the language, or git does not "+
			"have the contents in between", unchecked)
	}
}

// calls gives the records of the range that changed files, those that are parts of one call together.
func (r *review) calls() (calls [][]*added) {
	index := map[string]int{}
	for _, rec := range r.records {
		if len(rec.Changes) == 0 {
			continue
		}
		if rec.Part != nil {
			if i, ok := index[rec.Part.Of]; ok {
				calls[i] = append(calls[i], rec)
				continue
			}
			index[rec.Part.Of] = len(calls)
		}
		calls = append(calls, []*added{rec})
	}
	return calls
}

func claimsRefactor(rec *added) bool { return rec.MutationClass == string(mutation.Refactor) }

func (r *review) contradict(rec *added, reason string) {
	path := rec.Changes[0].Path
	r.gather(rec, path, reason, Finding{
		Check: CheckClass, Severity: Error, Intent: rec.IntentID, Message: fmt.Sprintf("%q is claimed to be a refactor: %s", path, reason),
		Advice: "Review it as a change of what the code does.",
	})
}

// contentsOf gives the contents before and after a call; not complete if git lacks one.
func (r *review) contentsOf(call []*added) (files []mutation.File, complete bool) {
	for _, rec := range call {
		for _, c := range rec.Changes {
			if c.Op == change.Unchanged || c.Before.Hash == c.After.Hash {
				continue
			}
			f := mutation.File{Path: c.Path, From: c.From}
			var before, after bool
			f.Before, before = r.blob(c.Before.OID)
			f.After, after = r.blob(c.After.OID)
			if !before || !after {
				return nil, false
			}
			files = append(files, f)
		}
	}
	return files, true
}

func (r *review) blob(id string) ([]byte, bool) {
	if id == "" {
		return nil, true
	}
	return r.blobs.content(id)
}

// checkTogether compares the merge base with HEAD over the files of calls whose contents in between are gone. That says
// something about them only if nothing else changed these files: then a chain of refactors must be one.
func (r *review) checkTogether(records []*added) (checked bool) {
	var files []mutation.File
	seen := map[string]bool{}
	for _, rec := range records {
		for _, c := range rec.Changes {
			if seen[c.Path] {
				continue
			}
			seen[c.Path] = true
			f := r.changed[c.Path]
			if f == nil || f.Kind != "" || f.Lines.Traced < f.Lines.Changed() || slices.ContainsFunc(r.touched[c.Path], isEvolution) {
				return false
			}
			before, hasBefore := r.blobs.content(r.ends[c.Path][0])
			after, hasAfter := r.blobs.content(r.ends[c.Path][1])
			if !hasBefore || !hasAfter {
				return false
			}
			files = append(files, mutation.File{Path: c.Path, Before: before, After: after})
		}
	}
	switch v := r.opts.Judge(r.ctx, files); v.Evidence {
	case mutation.Unproven:
		r.contradict(records[0], "all records that changed these files claim so, and the change from the merge base to HEAD is none: "+v.Reason)
	case mutation.Unsupported:
		return false
	}
	return true
}

func isEvolution(rec *added) bool { return !claimsRefactor(rec) }
