package gitref

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
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
	cmd := gitread.Repository{Dir: root.Name()}.Command(ctx, append(args, "--")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("read the messages of commits: %w", err)
	}
	anchors := readAnchors(out)
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("read the messages of commits: %w", err)
	}
	return anchors, nil
}

// maxMessageLine bounds a line of a message that is looked at, in bytes.
const maxMessageLine = 64 << 10

func readAnchors(out io.Reader) []Anchor {
	var anchors []Anchor
	seen := map[record.Hash]bool{}
	reader := bufio.NewReaderSize(out, maxMessageLine)
	commit, atStart := "", true
	for {
		text, isPrefix, err := reader.ReadLine()
		if err != nil {
			return anchors
		}
		line := string(text)
		for isPrefix && err == nil {
			_, isPrefix, err = reader.ReadLine()
		}
		if before, _, ends := strings.Cut(line, "\x00"); ends {
			line = before // the next line begins the next commit
			atStart = true
			continue
		}
		if atStart {
			commit, atStart = line, false
			continue
		}
		value, is := strings.CutPrefix(strings.TrimSpace(line), TrailerKey+": ")
		if !is {
			continue
		}
		if head, err := record.ParseHash(value); err == nil && !seen[head] {
			seen[head] = true
			anchors = append(anchors, Anchor{Head: head, Commit: commit})
		}
	}
}

// ProblemAnchor: a commit relies on a record that the ledger does not have.
const ProblemAnchor ledger.ProblemKind = "missing_anchor"

// MissingAnchors are the anchors of HEAD and the commits before it, or of another selection, that the ledger does not have.
func MissingAnchors(ctx context.Context, root *os.Root, selection ...string) ([]Anchor, error) {
	anchors, err := Anchors(ctx, root, selection...)
	if err != nil || len(anchors) == 0 {
		return nil, err
	}
	there := map[record.Hash]bool{}
	for _, a := range anchors {
		there[a.Head] = false
	}
	if _, err := locate.EachLine(ctx, root, func(line ledger.RawLine) error {
		if _, asked := there[line.Hash]; asked && line.Whole {
			there[line.Hash] = true
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var missing []Anchor
	for _, a := range anchors {
		if !there[a.Head] {
			missing = append(missing, a)
		}
	}
	return missing, nil
}
