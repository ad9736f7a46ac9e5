package review

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

const (
	ledgerFile     = home + "/agent_trace.jsonl"
	homeIgnoreFile = home + "/.gitignore"
)

// hasLedger: the commit has the ledger in its tree.
func (s *snapshot) hasLedger() bool {
	for name := range s.ids {
		if name == ledgerFile || strings.HasPrefix(name, home+"/trace/") || strings.HasPrefix(name, home+"/archive/") {
			return true
		}
	}
	return false
}

// keepsLedgerOut: the commit says that the ledger does not stand in the tree.
func (s *snapshot) keepsLedgerOut() bool {
	content, err := s.root.ReadFile(homeIgnoreFile)
	return err == nil && slices.Contains(strings.Split(string(content), "\n"), "/agent_trace.jsonl")
}

// bringLedgers puts the ledger of each commit that has none in its tree into its snapshot: what the heads that it and the
// commits before it name stand for. So what nobody relied on is not taken for the range's.
func (r *review) bringLedgers() error {
	if r.head.hasLedger() {
		return nil
	}
	isThere := locate.IsBeside(r.root)
	anchors, named, err := r.headAnchors(isThere)
	switch {
	case err != nil:
		return err
	case !isThere && (len(r.pinned) > 0 || !r.opts.Fetched && (len(anchors) > 0 || r.pinned == nil && r.head.keepsLedgerOut())):
		return ErrNoLedger
	case !isThere:
		r.missingAnchors(anchors, anchors)
		return nil
	}
	all := r.pinned == nil && len(named) == 0
	if all {
		r.unproven("no commit of the range names the ledger that it relies on, so that those records count whose changes its commits have " +
			"(orchestra-mcp git install-hooks has commits name it)")
	}
	missing, err := r.bringLedger(r.head, anchors, all)
	if err != nil {
		return err
	}
	r.missingAnchors(missing, named)
	for _, snap := range slices.Compact([]*snapshot{r.base, r.fork}) {
		if snap == r.head || snap.hasLedger() {
			continue
		}
		anchors, err := gitref.Anchors(r.ctx, r.root, "--end-of-options", snap.commit)
		if err != nil {
			return err
		}
		if _, err := r.bringLedger(snap, anchors, false); err != nil {
			return err
		}
	}
	return nil
}

// headAnchors are the heads of the ledger that HEAD relies on, and, where a ledger is there to be asked, those among them that
// the range's commits name. Where somebody has said which these are they count alone.
func (r *review) headAnchors(isThere bool) (anchors, named []gitref.Anchor, err error) {
	for _, head := range r.pinned {
		anchors = append(anchors, gitref.Anchor{Commit: r.head.commit, Head: head})
	}
	if r.pinned != nil {
		return anchors, anchors, nil
	}
	if anchors, err = gitref.Anchors(r.ctx, r.root, "--end-of-options", r.head.commit); err == nil && isThere {
		named, err = gitref.Anchors(r.ctx, r.root, "--end-of-options", r.head.commit, "^"+r.base.commit)
	}
	return anchors, named, err
}

// bringLedger writes the lines that anchors stand for, or all, and returns the anchors that the ledger does not have.
func (r *review) bringLedger(snap *snapshot, anchors []gitref.Anchor, all bool) (missing []gitref.Anchor, err error) {
	if len(anchors) == 0 && !all {
		return nil, nil
	}
	if err := snap.root.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	file, err := snap.root.OpenFile(ledgerFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	text := bufio.NewWriter(file)
	write := func(line ledger.RawLine) error {
		if !line.Whole {
			return nil
		}
		text.Write(line.Data)
		return text.WriteByte('\n')
	}
	if all {
		_, err = locate.EachLine(r.ctx, r.root, write)
	} else {
		var heads, gone []record.Hash
		for _, a := range anchors {
			heads = append(heads, a.Head)
		}
		gone, err = verify.Closure(r.ctx, r.root, heads, write)
		missing = slices.DeleteFunc(slices.Clone(anchors), func(a gitref.Anchor) bool { return !slices.Contains(gone, a.Head) })
	}
	if err = errors.Join(err, text.Flush(), file.Close()); err != nil {
		return nil, fmt.Errorf("bring the ledger of commit %s together: %w", short(snap.commit), err)
	}
	return missing, nil
}

// missingAnchors are errors where a commit of the range names them.
func (r *review) missingAnchors(missing, named []gitref.Anchor) {
	for _, a := range missing {
		f := Finding{
			Check: CheckLedger, Severity: Error, File: r.inRepository(ledgerFile), Records: []string{a.Head.String()},
			Message: fmt.Sprintf("%s: commit %s relies on the record with this hash, and no copy of the ledger here has it", gitref.ProblemAnchor, short(a.Commit)),
			Advice:  "Whoever made the commit has it: orchestra-mcp sync there sends it.",
		}
		if !slices.ContainsFunc(named, func(n gitref.Anchor) bool { return n.Head == a.Head }) {
			f.Severity = Warning
			f.Message += "; the base relies on it too"
		}
		r.add(f)
	}
}
