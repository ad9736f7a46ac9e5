package gitref

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// TrailerKey is that of the line in a commit's message that names a head of the ledger, 64 hex digits: the commit relies on
// that record and on all before it.
const TrailerKey = "Orchestra-Ledger"

// Anchor is a head of the ledger that a commit names.
type Anchor struct {
	Head   record.Hash
	Commit string // the newest that names it
}

// Anchors are the heads that commits name, those of the newest commits first, each once. The selection is git log's, such as
// a revision. A forge that squashes a branch puts the messages of its commits into one, so that the whole message counts and
// not its last paragraph alone.
func Anchors(ctx context.Context, root *os.Root, selection ...string) ([]Anchor, error) {
	args := append([]string{"log", "--no-show-signature", "--encoding=UTF-8", "--grep=^" + TrailerKey + ": ", "--format=%H%n%B%x00"}, selection...)
	text, err := gitread.Repository{Dir: root.Name()}.Ask(ctx, append(args, "--")...)
	if err != nil {
		return nil, fmt.Errorf("read the messages of commits: %w", err)
	}
	var anchors []Anchor
	seen := map[record.Hash]bool{}
	for said := range strings.SplitSeq(text, "\x00") {
		commit, message, _ := strings.Cut(strings.TrimPrefix(said, "\n"), "\n")
		for line := range strings.Lines(message) {
			value, is := strings.CutPrefix(strings.TrimSpace(line), TrailerKey+": ")
			if head, err := record.ParseHash(value); is && err == nil && !seen[head] {
				seen[head] = true
				anchors = append(anchors, Anchor{Head: head, Commit: commit})
			}
		}
	}
	return anchors, nil
}

// ProblemAnchor: a commit relies on a record that the ledger does not have.
const ProblemAnchor ledger.ProblemKind = "missing_anchor"

// MissingAnchors are the anchors of HEAD and the commits before it, or of another selection, that the ledger does not have.
func MissingAnchors(ctx context.Context, root *os.Root, selection ...string) ([]Anchor, error) {
	anchors, err := Anchors(ctx, root, selection...)
	if err != nil || len(anchors) == 0 {
		return nil, err
	}
	missing := map[record.Hash]bool{}
	for _, a := range anchors {
		missing[a.Head] = true
	}
	_, err = locate.EachLine(ctx, root, func(line ledger.RawLine) error {
		if line.Whole {
			delete(missing, line.Hash)
		}
		return nil
	})
	return slices.DeleteFunc(anchors, func(a Anchor) bool { return !missing[a.Head] }), err
}
