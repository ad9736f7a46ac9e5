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
	if r.pinned != nil {
		return r.bringPinned()
	}
	anchors, err := gitref.Anchors(r.ctx, r.root, "--end-of-options", r.head.commit)
	if err != nil {
		return err
	}
	if !locate.IsBeside(r.root) {
		if !r.opts.Fetched && (len(anchors) > 0 || r.head.keepsLedgerOut()) {
			return ErrNoLedger
		}
		r.missingAnchors(anchors, anchors)
		return nil
	}
	named, err := gitref.Anchors(r.ctx, r.root, "--end-of-options", r.head.commit, "^"+r.base.commit)
	if err != nil {
		return err
	}
	if len(named) == 0 {
		r.unproven("no commit of the range names the ledger that it relies on, so that those records count whose changes its commits have " +
			"(orchestra-mcp git install-hooks has commits name it)")
		anchors = nil
	}
	missing, err := r.bringLedger(r.head, anchors, len(named) == 0)
	if err != nil {
		return err
	}
	r.missingAnchors(missing, named)
	return r.bringBases()
}

// bringPinned is bringLedgers where somebody has said which heads HEAD relies on.
func (r *review) bringPinned() error {
	switch {
	case locate.IsBeside(r.root):
	case len(r.pinned) == 0:
		return nil // nothing was recorded yet
	default:
		return ErrNoLedger
	}
	var anchors []gitref.Anchor
	for _, head := range r.pinned {
		anchors = append(anchors, gitref.Anchor{Commit: r.head.commit, Head: head})
	}
	missing, err := r.bringLedger(r.head, anchors, false)
	if err != nil {
		return err
	}
	r.missingAnchors(missing, missing)
	return r.bringBases()
}

func (r *review) bringBases() error {
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
		var gone []record.Hash
		gone, err = verify.Closure(r.ctx, r.root, heads(anchors), write)
		missing = slices.DeleteFunc(slices.Clone(anchors), func(a gitref.Anchor) bool { return !slices.Contains(gone, a.Head) })
	}
	if err = errors.Join(err, text.Flush(), file.Close()); err != nil {
		return nil, fmt.Errorf("bring the ledger of commit %s together: %w", short(snap.commit), err)
	}
	return missing, nil
}

func heads(anchors []gitref.Anchor) []record.Hash {
	found := make([]record.Hash, len(anchors))
	for i, a := range anchors {
		found[i] = a.Head
	}
	return found
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
