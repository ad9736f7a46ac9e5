package tools

import (
	"context"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// SearchBounds are the sizes with which a search looks into files, in bytes.
type SearchBounds struct{ Whole, Stretch, Piece, Line, Back int }

// UsualSearchBounds are those of search_files.
func UsualSearchBounds() SearchBounds {
	s := usualSizes()
	return SearchBounds{int(s.whole), int(s.stretch), s.piece, s.line, int(s.back)}
}

// Search is search_files below a directory, as `path:line:text [before] [after]`.
func Search(ctx context.Context, dir *workspace.Target, regex string, b SearchBounds) (lines []string, skipped int, truncated bool, err error) {
	s := &search{
		secret: func(string) bool { return false },
		sizes:  sizes{int64(b.Whole), int64(b.Stretch), b.Piece, b.Line, int64(b.Back)},
	}
	_, result, err := s.run(ctx, onTarget{dir, &hooks.FileEffect{}}, searchArgs{Regex: regex})
	if err != nil {
		return nil, 0, false, err
	}
	r := result.(*searchResult)
	for _, m := range r.Matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%s %q %q", m.Path, m.Line, m.Text, m.Before, m.After))
	}
	return lines, r.Skipped, r.Truncated, nil
}

// Amended is what is added to the result of another server.
var Amended = amended

// Ranked are tools by the words of a query, the best first.
func Ranked(all []catalogue.Tool, query string) []catalogue.Tool { return ranked(all, wordsOf(query)) }
