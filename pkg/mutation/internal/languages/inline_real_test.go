package languages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// taken is an expression that became a function of its own.
type taken struct {
	native
	text string
	e    languages.Expression
	// names and types are those of its variables.
	names, types []string
}

func (n native) take(text string, e languages.Expression) *taken {
	x := &taken{native: n, text: text, e: e}
	for _, v := range e.Variables {
		if !slices.Contains(x.names, v.Name) {
			x.names, x.types = append(x.names, v.Name), append(x.types, v.Type)
		}
	}
	return x
}

// extracted is the program with a function that returns a type, of parameters of
// some types, which is given some arguments.
func (x *taken) extracted(of string, types, arguments []string) string {
	var params []string
	for i, t := range types {
		params = append(params, fmt.Sprintf(x.local, t, fmt.Sprintf("zq%d", i)))
	}
	body, at := "", x.e.Start
	for _, v := range x.e.Variables {
		body += x.text[at:v.Start] + fmt.Sprintf("zq%d", slices.Index(x.names, v.Name))
		at = v.End
	}
	body += x.text[at:x.e.End]
	if x.language != "rust" {
		body = "return " + body + ";"
	}
	helper := fmt.Sprintf(x.function, of, "zqExtracted", strings.Join(params, ", "), body)
	call := "zqExtracted(" + strings.Join(arguments, ", ") + ")"
	if x.language == "rust" {
		return x.text[:x.e.Start] + call + x.text[x.e.End:] + "\n" + helper
	}
	return x.text[:x.e.Item] + helper + x.text[x.e.Item:x.e.Start] + call + x.text[x.e.End:]
}

// results are the types that a function could return.
var results = map[string][]string{
	"c":    {"int", "long", "unsigned", "unsigned long", "long long", "unsigned long long", "size_t", "int64_t", "uint64_t"},
	"cpp":  {"bool", "int", "long", "unsigned", "unsigned long", "long long", "unsigned long long"},
	"rust": {"bool", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"},
}

// TestInlineReal makes functions of the expressions of real programs. With one
// type of the result the change is recognised; with another type, of the result
// or of a parameter, or with other arguments, it is not.
func TestInlineReal(t *testing.T) {
	files, perFile := 1, 3
	if sweptDirectory() != "" {
		files, perFile = 60, 8
	}
	for i, n := range natives {
		random := seeded(uint64(400 + i))
		texts, _ := sources(t, n.language, files)
		candidates, recognised, tried := 0, 0, 0
		misses := map[string]int{}
		for _, s := range texts {
			found := languages.Expressions(n.language, []byte(s.text))
			random.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
			for _, e := range found[:min(len(found), perFile)] {
				x := n.take(s.text, e)
				candidates++
				judge := func(after string) bool {
					tried++
					return isProven(evidence(n.language, filepath.Base(s.path), s.text, after))
				}
				var proven []string
				for _, of := range results[n.language] {
					if judge(x.extracted(of, x.types, x.names)) {
						proven = append(proven, of)
					}
				}
				if len(proven) == 0 {
					misses[general(x)]++
					if os.Getenv("ORCHESTRA_LONG") == "1" {
						t.Logf("%s: %s", shortPath(s.path), x.line())
					}
					continue
				}
				recognised++
				if len(proven) > 1 && n.language == "rust" || len(proven) > 1 && !strings.ContainsAny(s.text[e.Start:e.End], "<>=!&|") {
					t.Errorf("%s: %q has several types: %q", shortPath(s.path), s.text[e.Start:e.End], proven)
				}
				for what, after := range x.others(proven[0]) {
					if judge(after) {
						t.Errorf("%s: %q: falsely proven: %s", shortPath(s.path), x.line(), what)
					}
				}
			}
		}
		t.Logf("%s: recognised %d of %d expressions of %d files; %d programs judged; not recognised: %v", n.language, recognised, candidates, len(texts), tried, misses)
	}
}

// others are programs that the extraction is not.
func (x *taken) others(of string) map[string]string {
	list := map[string]string{}
	for i, name := range x.names {
		for _, other := range x.native.types {
			if other != x.types[i] {
				types := slices.Clone(x.types)
				types[i] = other
				list[name+" as "+other] = x.extracted(of, types, x.names)
				break
			}
		}
		if j := (i + 1) % len(x.names); j != i {
			arguments := slices.Clone(x.names)
			arguments[i], arguments[j] = arguments[j], arguments[i]
			list[name+" for "+x.names[j]] = x.extracted(of, x.types, arguments)
		}
		arguments := slices.Clone(x.names)
		arguments[i] = "(" + name + " + 1)"
		list[name+" and one more"] = x.extracted(of, x.types, arguments)
	}
	return list
}

// line is the expression with what stands around it.
func (x *taken) line() string {
	from := strings.LastIndexByte(x.text[:x.e.Start], '\n') + 1
	to := x.e.End + strings.IndexByte(x.text[x.e.End:]+"\n", '\n')
	return strings.TrimSpace(x.text[from:x.e.Start] + "[" + x.text[x.e.Start:x.e.End] + "]" + x.text[x.e.End:to])
}

// general says what may be the cause of a miss.
func general(x *taken) string {
	line := x.line()
	switch before, _, _ := strings.Cut(line, "["); {
	case strings.HasPrefix(line, "#"):
		return "directive"
	case strings.Contains(before, "++") || strings.Contains(line, "++"):
		return "counts"
	case strings.Contains(before, "!("):
		return "macro of Rust"
	case strings.Contains(before, "("):
		return "in a call or condition"
	}
	return "other"
}
