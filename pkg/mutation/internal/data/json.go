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

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// JSON is a verdict.Judge for .json and .jsonc files.
func JSON(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
	return judge(ctx, files, limits, readJSON)
}

var errNested = errors.New("it is nested too deeply to be compared")

// jsonReader walks the tokens of one document.
type jsonReader struct {
	ctx     context.Context
	tokens  *jsontext.Decoder
	content []byte
	depth   int
	// counted is up to where lines were counted, line the number there.
	counted, line int
}

func readJSON(ctx context.Context, name string, content []byte, limits verdict.Limits) (value, error) {
	if hasComments(name) {
		standard, err := hujson.Standardize(bytes.Clone(content))
		if err != nil {
			return value{}, err
		}
		content = standard
	}
	r := &jsonReader{ctx: ctx, tokens: jsontext.NewDecoder(bytes.NewReader(content)), content: content, depth: limits.Depth, line: 1}
	v, err := r.value(0, false)
	if err != nil {
		return value{}, fmt.Errorf("line %d: %w", r.lineAt(r.tokens.InputOffset()), err)
	}
	if _, err := r.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return value{}, fmt.Errorf("line %d: there is more than one value", r.lineAt(r.tokens.InputOffset()))
	}
	if path.Base(name) == "package.json" {
		keepOrder(&v, "exports", "imports")
	}
	return v, nil
}

// hasComments tells of files that are JSON with comments by custom. Their
// readers differ in what else they take, but not in what the value is.
func hasComments(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".jsonc") || strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig")
}

// lineAt counts lines up to an offset, which only grows.
func (r *jsonReader) lineAt(offset int64) int {
	to := min(int(offset), len(r.content))
	if to > r.counted {
		r.line += bytes.Count(r.content[r.counted:to], []byte("\n"))
		r.counted = to
	}
	return r.line
}

func (r *jsonReader) value(nested int, ordered bool) (value, error) {
	if nested > r.depth {
		return value{}, errNested
	}
	if err := r.ctx.Err(); err != nil {
		return value{}, err
	}
	t, err := r.tokens.ReadToken()
	if err != nil {
		return value{}, err
	}
	v := value{kind: scalar, line: r.lineAt(r.tokens.InputOffset())}
	switch t.Kind() {
	case '{':
		return r.object(v, nested)
	case '[':
		v.kind = list
		for r.tokens.PeekKind() != ']' {
			item, err := r.value(nested+1, ordered)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
		_, err = r.tokens.ReadToken()
	case '"':
		v.text = "string " + t.String()
	default: // numbers as they are spelled, true, false, null
		v.text = t.String()
	}
	return v, err
}

func (r *jsonReader) object(v value, nested int) (value, error) {
	v.kind = object
	for r.tokens.PeekKind() != '}' {
		key, err := r.tokens.ReadToken()
		if err != nil {
			return value{}, err
		}
		name := key.String() // the token is void after the next one
		item, err := r.value(nested+1, false)
		if err != nil {
			return value{}, err
		}
		v.entries = append(v.entries, entry{name, name, item})
	}
	_, err := r.tokens.ReadToken()
	return v, err
}

// keepOrder marks what stands under top-level keys whose readers take the first key that fits.
func keepOrder(v *value, keys ...string) {
	var mark func(*value)
	mark = func(v *value) {
		v.ordered = true
		for i := range v.items {
			mark(&v.items[i])
		}
		for i := range v.entries {
			mark(&v.entries[i].value)
		}
	}
	for i, e := range v.entries {
		for _, key := range keys {
			if e.key == key {
				mark(&v.entries[i].value)
			}
		}
	}
}
