package blame

import (
	"context"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// ParsePorcelain reads the output of git blame for a workspace at prefix in its repository.
func ParsePorcelain(prefix string, out []byte) (map[int]*Commit, error) {
	return (&git{prefix: prefix}).parsePorcelain(string(out))
}

// Story is the story of a line of a content, by records alone.
func Story(ctx context.Context, path string, line int, now []byte, records []record.Entry, contents Contents) ([]Touch, error) {
	texts, err := textLines(now)
	if err != nil {
		return nil, err
	}
	h := newHistory(path, records, contents)
	return h.story(ctx, path, line, now, texts, len(h.steps))
}
