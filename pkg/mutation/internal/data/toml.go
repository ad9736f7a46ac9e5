package data

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/pelletier/go-toml/v2"

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

func readTOML(_ context.Context, _ string, content []byte, limits verdict.Limits) (value, error) {
	var doc map[string]any
	if err := toml.Unmarshal(content, &doc); err != nil {
		if at := new(toml.DecodeError); errors.As(err, &at) {
			line, _ := at.Position()
			return value{}, fmt.Errorf("line %d: %w", line, err)
		}
		return value{}, err
	}
	return tomlValue(doc, limits.Depth)
}

func tomlValue(doc any, depth int) (v value, err error) {
	if depth < 0 {
		return value{}, errNested
	}
	switch doc := doc.(type) {
	case map[string]any:
		v.kind = object
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			item, err := tomlValue(doc[key], depth-1)
			if err != nil {
				return value{}, err
			}
			v.entries = append(v.entries, entry{key, key, item})
		}
	case []any:
		v.kind = list
		for _, d := range doc {
			item, err := tomlValue(d, depth-1)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
	default:
		v.kind = scalar
		v.text, err = tomlScalar(doc)
	}
	return v, err
}

// tomlScalar spells a value together with its kind.
func tomlScalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return "string " + v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return "integer " + strconv.FormatInt(v, 10), nil
	case float64:
		return fmt.Sprintf("float %x %v", math.Float64bits(v), v), nil
	case time.Time:
		return "time " + v.Format(time.RFC3339Nano), nil
	case toml.LocalDate:
		return "local date " + v.String(), nil
	case toml.LocalTime:
		return "local time " + v.String(), nil
	case toml.LocalDateTime:
		return "local date-time " + v.String(), nil
	}
	return "", fmt.Errorf("a value of a kind that is not known here (%T)", v)
}

// lineOfKey is the first line that begins with a key, in a table or its heading; 0 if there is none.
func lineOfKey(content []byte, key string) int {
	found := regexp.MustCompile(`(?m)^\s*(\[+[^\]\n]*)?["']?` + regexp.QuoteMeta(key) + `["']?\s*[.=\]]`).FindIndex(content)
	if found == nil {
		return 0
	}
	line := 1
	for _, c := range content[:found[1]] {
		if c == '\n' {
			line++
		}
	}
	return line
}
