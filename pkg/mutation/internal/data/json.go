package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// JSON is a verdict.Judge for .json and .jsonc files.
func JSON(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
	return judge(ctx, files, limits, readJSON)
}

// jsonReader walks the tokens of one document.
type jsonReader struct {
	ctx     context.Context
	tokens  *jsontext.Decoder
	content []byte
	depth   int
	// counted is up to where lines were counted, line the number there.
	counted, line int
}

func readJSON(ctx context.Context, name string, content []byte, limits verdict.Limits) (*yaml.Node, error) {
	if hasComments(name) {
		standard, err := hujson.Standardize(bytes.Clone(content))
		if err != nil {
			return nil, err
		}
		content = standard
	}
	r := &jsonReader{ctx: ctx, tokens: jsontext.NewDecoder(bytes.NewReader(content)), content: content, depth: limits.Depth, line: 1}
	n, err := r.value(0)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.lineNow(), err)
	}
	if _, err := r.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: there is more than one value", r.lineNow())
	}
	return n, nil
}

// hasComments tells of files that are JSON with comments by custom. Their
// readers differ in what else they take, but not in what the value is.
func hasComments(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".jsonc") || strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig")
}

// lineNow is the line up to which tokens were read.
func (r *jsonReader) lineNow() int {
	if to := min(int(r.tokens.InputOffset()), len(r.content)); to > r.counted {
		r.line += bytes.Count(r.content[r.counted:to], []byte("\n"))
		r.counted = to
	}
	return r.line
}

// value reads one with all that is in it. The keys of an object are values as well: the decoder knows where one must stand.
func (r *jsonReader) value(nested int) (*yaml.Node, error) {
	if nested > r.depth {
		return nil, errNested
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	t, err := r.tokens.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Line: r.lineNow()}
	switch t.Kind() {
	case '{':
		n.Kind = yaml.MappingNode
	case '[':
		n.Kind = yaml.SequenceNode
	case '"':
		n.Kind, n.Style, n.Value = yaml.ScalarNode, yaml.DoubleQuotedStyle, t.String()
		return n, nil
	default: // numbers as they are spelled, true, false, null
		n.Kind, n.Value = yaml.ScalarNode, t.String()
		return n, nil
	}
	for r.tokens.PeekKind() != '}' && r.tokens.PeekKind() != ']' {
		part, err := r.value(nested + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, part)
	}
	_, err = r.tokens.ReadToken()
	return n, err
}
