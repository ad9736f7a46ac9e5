package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TOML is a verdict.Judge for .toml files.
func TOML(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
	for _, f := range files {
		if line := newerTOML(f.After); line > 0 && newerTOML(f.Before) == 0 {
			return verdict.Unprovenf(f.Path, line, "this is TOML 1.1, which readers of 1.0 refuse")
		}
	}
	return judge(ctx, files, limits, readTOML)
}

func readTOML(_ context.Context, _ string, content []byte, limits verdict.Limits) (*yaml.Node, error) {
	var doc map[string]any
	if err := toml.Unmarshal(content, &doc); err != nil {
		if at := new(toml.DecodeError); errors.As(err, &at) {
			line, _ := at.Position()
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		return nil, err
	}
	return tomlNode(doc, limits.Depth)
}

func tomlNode(doc any, depth int) (*yaml.Node, error) {
	if depth < 0 {
		return nil, errNested
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	add := func(parts ...any) error {
		for _, part := range parts {
			made, err := tomlNode(part, depth-1)
			if err != nil {
				return err
			}
			n.Content = append(n.Content, made)
		}
		return nil
	}
	switch doc := doc.(type) {
	case map[string]any:
		n.Kind = yaml.MappingNode
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			if err := add(key, doc[key]); err != nil {
				return nil, err
			}
		}
	case []any:
		n.Kind = yaml.SequenceNode
		return n, add(doc...)
	case string:
		return text(doc), nil
	case float64:
		n.Value = fmt.Sprintf("=float %x", math.Float64bits(doc))
	case time.Time:
		n.Value = "=time " + doc.Format(time.RFC3339Nano)
	case bool, int64, toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		n.Value = fmt.Sprintf("=%T %v", doc, doc)
	default:
		return nil, fmt.Errorf("a value of a kind that is not known here (%T)", doc)
	}
	return n, nil
}

// tomlPatterns are those of comments and strings, of a string with an escape of TOML 1.1, and of what else is new there.
var tomlPatterns = sync.OnceValue(func() (p struct{ opaque, escape, other *regexp.Regexp }) {
	p.opaque = regexp.MustCompile(`#[^\n]*|"""(?s:\\.|[^\\])*?"{3,5}|'''(?s:.)*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'`)
	p.escape = regexp.MustCompile(`^"(?s:\\[^ex]|[^\\])*\\[ex]`)
	p.other = regexp.MustCompile(`[^\x00-\x7f]|,\s*\}|(^|[\sTt=\[,])\d\d:\d\d([^:\d]|$)`)
	return p
})

// newerTOML is the first line that uses what TOML 1.1 added: line breaks, comments and a last comma in inline tables,
// the escapes \e and \x, times without seconds, keys in other scripts. 0 if there is none.
func newerTOML(content []byte) int {
	p := tomlPatterns()
	bare := p.opaque.ReplaceAllFunc(content, func(text []byte) []byte {
		if p.escape.Match(text) {
			return []byte("é") // as new as the escape
		}
		return bytes.Repeat([]byte("\n"), bytes.Count(text, []byte("\n")))
	})
	number, open := 0, []byte{0} // the brackets around a place
	for line := range bytes.Lines(bare) {
		number++
		for _, c := range line {
			switch innermost := len(open) - 1; {
			case c == '\n' && open[innermost] == '{':
				return number
			case c == '{' || c == '[':
				open = append(open, c)
			case (c == '}' || c == ']') && innermost > 0:
				open = open[:innermost]
			}
		}
		if p.other.Match(line) {
			return number
		}
	}
	return 0
}
