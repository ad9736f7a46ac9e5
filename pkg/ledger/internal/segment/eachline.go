package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// RawLine is one line of the ledger as it stands, not parsed.
type RawLine struct {
	Segment string // relative to .orchestration
	Number  int    // 1-based
	Hash    record.Hash
	Data    []byte // without the newline; valid until visit returns
	// Whole is false for what is no line of a ledger: torn, too long, or not a JSON object.
	Whole bool
}

// EachLine is EachLine where the ledger stands.
func EachLine(ctx context.Context, root *os.Root, visit func(RawLine) error) ([]Problem, error) {
	places, problems, err := List(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	for _, place := range places {
		file, size, err := place.Open(root)
		if errors.Is(err, ErrRotated) {
			return problems, fmt.Errorf("read the ledger: %w", err)
		}
		if err != nil {
			problems = append(problems, Problem{Kind: ProblemUnreadable, Segment: place.Name, Detail: err.Error()})
			continue
		}
		err = ReadLines(file, size, false, func(line Line) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !line.TooLong && len(bytes.TrimSpace(line.Data)) == 0 {
				return nil
			}
			return visit(wholeLine(place.Name, line))
		}, func(d *framed.Damage) { problems = append(problems, DamageProblem(place.Name, d)) })
		file.Close()
		if err != nil {
			return problems, fmt.Errorf("read the ledger: %s: %w", place.Name, err)
		}
	}
	return problems, nil
}

func wholeLine(segment string, line Line) RawLine {
	found := RawLine{Segment: segment, Number: line.Number, Data: line.Data}
	if line.TooLong {
		return found
	}
	_, kind := record.Classify(line.Data)
	found.Whole = (kind == record.LineRecord || kind == record.LineForeign) && (!line.Torn || record.IsWhole(line.Data))
	found.Hash = record.Identity(line.Data)
	return found
}

// WholeLines gives the lines of a segment that a ledger can have, and goes around what is damaged.
func WholeLines(ctx context.Context, root *os.Root, place Extent, yield func([]byte) error) error {
	file, size, err := place.Open(root)
	if err != nil {
		return IgnoreGone(err)
	}
	defer file.Close()
	return ReadLines(file, size, false, func(line Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, _, kind := ReadChain(line); kind != record.LineRecord && kind != record.LineForeign {
			return nil // verify tells of it where it stands
		}
		return yield(line.Data)
	}, func(*framed.Damage) {})
}
