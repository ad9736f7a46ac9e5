package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// RawLine is one line of the ledger as it stands, not parsed.
type RawLine struct {
	Segment string // relative to .orchestration
	Number  int    // 1-based
	Hash    Hash
	Data    []byte // without the newline; valid until visit returns
	// Whole is false for what is no line of a ledger: torn, too long, or not a JSON object.
	Whole bool
}

// EachLine gives every line that is not blank, segment by segment, in the order in which they stand. Lines that stand
// there twice come twice. It costs a hash for each, and no parsing.
func EachLine(ctx context.Context, root *os.Root, visit func(RawLine) error) ([]Problem, error) {
	root, leave, err := stands(root)
	if err != nil {
		return nil, err
	}
	defer leave()
	return eachLine(ctx, root, visit)
}

// eachLine is EachLine where the ledger stands.
func eachLine(ctx context.Context, root *os.Root, visit func(RawLine) error) ([]Problem, error) {
	places, problems, err := extents(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	for _, place := range places {
		file, size, err := place.open(root)
		if errors.Is(err, errRotated) {
			return problems, fmt.Errorf("read the ledger: %w", err)
		}
		if err != nil {
			problems = append(problems, Problem{Kind: ProblemUnreadable, Segment: place.name, Detail: err.Error()})
			continue
		}
		err = readLines(file, size, false, func(line rawLine) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !line.tooLong && len(bytes.TrimSpace(line.data)) == 0 {
				return nil
			}
			return visit(wholeLine(place.name, line))
		}, func(d *framed.Damage) { problems = append(problems, damageProblem(place.name, d)) })
		file.Close()
		if err != nil {
			return problems, fmt.Errorf("read the ledger: %s: %w", place.name, err)
		}
	}
	return problems, nil
}

func wholeLine(segment string, line rawLine) RawLine {
	found := RawLine{Segment: segment, Number: line.number, Data: line.data}
	if line.tooLong {
		return found
	}
	_, kind := classify(line.data)
	found.Whole = (kind == lineRecord || kind == lineForeign) && (!line.torn || isWhole(line.data))
	found.Hash = identity(line.data)
	return found
}
