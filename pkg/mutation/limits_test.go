package mutation_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// Whatever arrives, there is a verdict, and it is not that a change is proven.
func TestHostileInput(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for name, c := range map[string]struct {
		path, before, after string
		evidence            mutation.Evidence
		reason              string
	}{
		"ten megabytes of Go":      {"a.go", "package a", "package a //" + long, mutation.Unproven, "more than are compared"},
		"too much together":        {"a.zig", strings.Repeat(long, 3), long, mutation.Unproven, "compared together"},
		"parentheses":              {"a.go", "package a", "package a\nvar x = " + strings.Repeat("(", 200_000) + "1" + strings.Repeat(")", 200_000), mutation.Unproven, ""},
		"unary operators":          {"a.go", "package a", "package a\nvar x = " + strings.Repeat("!", 90_000) + "b", mutation.Unproven, "nested too deeply"},
		"a long sum":               {"a.go", "package a", "package a\nvar x = " + strings.Repeat("1+", 90_000) + "1", mutation.Unproven, "nested too deeply"},
		"blocks":                   {"a.go", "package a", "package a\nfunc f() " + strings.Repeat("{", 50_000) + strings.Repeat("}", 50_000), mutation.Unproven, "nested too deeply"},
		"pointers":                 {"a.go", "package a", "package a\nvar x " + strings.Repeat("*", 90_000) + "int", mutation.Unproven, "nested too deeply"},
		"many declarations":        {"a.go", "package a\n" + strings.Repeat("func _() {}\n", 30_000), "package a", mutation.Unproven, ""},
		"JSON lists":               {"a.json", "1", strings.Repeat("[", 100_000), mutation.Unproven, ""},
		"JSON lists that close":    {"a.json", "1", strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), mutation.Unproven, "nested too deeply"},
		"YAML lists":               {"a.yaml", "1", strings.Repeat("[", 100_000), mutation.Unproven, "nested too deeply"},
		"YAML block lists":         {"a.yaml", "1", strings.Repeat("- ", 100_000) + "1", mutation.Unproven, ""},
		"YAML aliases":             {"a.yaml", "1", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n", mutation.Unproven, ""},
		"TOML tables":              {"a.toml", "a = 1", "a = " + strings.Repeat("[", 100_000), mutation.Unproven, ""},
		"TOML dotted key":          {"a.toml", "a = 1", strings.Repeat("a.", 50_000) + "a = 1", mutation.Unproven, ""},
		"blank lines":              {"a.md", "a\nb", "a" + strings.Repeat("\n", 1<<20) + "b", mutation.Unproven, ""},
		"binary":                   {"a.go", "package a", "package a\x00", mutation.Unproven, "not UTF-8 text"},
		"Latin-1":                  {"a.go", "package a // \xe9", "package a // e", mutation.Unproven, "not UTF-8 text"},
		"UTF-16":                   {"a.json", "1", "\xff\xfe1\x00", mutation.Unproven, "not UTF-8 text"},
		"no syntax on one side":    {"a.go", "package", "package a", mutation.Unproven, "the parser does not understand"},
		"no syntax on both sides":  {"a.go", "package", "package ", mutation.Unproven, "the parser does not understand"},
		"another language":         {"a.go", "package a", "", mutation.Unproven, "the parser does not understand"},
		"nothing is known of this": {"a.unknown", "a", "b", mutation.Unsupported, "no parser"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeOne(t, c.path, []byte(c.before), []byte(c.after))
			if v.Evidence != c.evidence || !strings.Contains(v.Reason, c.reason) || len(v.Reason) > 500 {
				t.Errorf("%s: %.600s", v.Evidence, v.Reason)
			}
		})
	}
}

// A comparison ends with its time, and its context.
func TestTime(t *testing.T) {
	var body strings.Builder
	for range 20_000 {
		body.WriteString("func f() { x := 1; _ = x }\n")
	}
	files := []mutation.File{{Path: "a.go", Before: []byte("package a\n" + body.String()), After: []byte("package a\n//\n" + body.String())}}
	limits := mutation.DefaultLimits()
	limits.Time = time.Nanosecond
	if v := mutation.JudgeAmong(t.Context(), files, nil, limits); v.Evidence != mutation.Unproven {
		t.Errorf("after no time: %s (%s)", v.Evidence, v.Reason)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"a.go", "a.json", "a.yaml", "a.toml", "a.md"} {
		if v := mutation.JudgeAmong(ended, []mutation.File{{Path: path, Before: []byte("a: 1"), After: []byte("a: 1\n\n")}}, nil, mutation.DefaultLimits()); v.Evidence != mutation.Unproven {
			t.Errorf("%s after the end: %s (%s)", path, v.Evidence, v.Reason)
		}
	}
}

// Files of several languages have the weakest verdict of all.
func TestSeveralLanguages(t *testing.T) {
	same := mutation.File{Path: "a.go", Before: []byte("package a"), After: []byte("package a\n")}
	local := mutation.File{Path: "b/b.go", Before: []byte("package b\nfunc f() {}"), After: []byte("package b\nfunc g() {}")}
	changed := mutation.File{Path: "c.json", Before: []byte("1"), After: []byte("2")}
	unknown := mutation.File{Path: "d.zig", Before: []byte("1"), After: []byte("2")}
	equal := mutation.File{Path: "e.zig", Before: []byte("1"), After: []byte("1")}
	moved := mutation.File{Path: "z.go", From: "y.go", Before: []byte("package y"), After: []byte("package y")}
	other := mutation.File{Path: "z.md", From: "y.txt", Before: []byte("y"), After: []byte("y")}
	for _, c := range []struct {
		files []mutation.File
		want  mutation.Evidence
	}{
		{[]mutation.File{same}, mutation.Proven},
		{[]mutation.File{same, equal}, mutation.Proven},
		{[]mutation.File{equal}, mutation.Proven},
		{[]mutation.File{same, local}, mutation.ProvenLocal},
		{[]mutation.File{same, local, unknown}, mutation.Unsupported},
		{[]mutation.File{unknown, changed, same}, mutation.Unproven},
		{[]mutation.File{moved}, mutation.Unproven},
		{[]mutation.File{other}, mutation.Unsupported},
		{nil, mutation.Unsupported},
	} {
		v := mutation.JudgeAmong(t.Context(), c.files, nil, mutation.DefaultLimits())
		if v.Evidence != c.want || v.Reason == "" {
			t.Errorf("%d files, the first %s: %s (%s), want %s", len(c.files), firstPath(c.files), v.Evidence, v.Reason, c.want)
		}
		if !isRefactor(v) && (v.Renames != nil || v.Moves != nil) {
			t.Errorf("%s with renames %v and moves %v", v.Evidence, v.Renames, v.Moves)
		}
	}
}

func firstPath(files []mutation.File) string {
	if len(files) == 0 {
		return ""
	}
	return files[0].Path
}

// Line endings and byte order marks are layout to Go, and to no JSON reader.
func TestLineEndings(t *testing.T) {
	lf := []byte("package a\n\nvar s = `a\nb`\n\nfunc f() {}\n")
	crlf := bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))
	for name, c := range map[string]struct {
		path          string
		before, after []byte
		want          mutation.Evidence
	}{
		"Go":            {"a.go", lf, crlf, mutation.Proven},
		"Go with a BOM": {"a.go", lf, append([]byte("\xef\xbb\xbf"), lf...), mutation.Proven},
		"JSON":          {"a.json", []byte("[1,\n2]"), []byte("[1,\r\n2]"), mutation.Proven},
		"JSON and BOM":  {"a.json", []byte("[1]"), []byte("\xef\xbb\xbf[1]"), mutation.Unproven},
		"YAML":          {"a.yaml", []byte("a: |\n x\n"), []byte("a: |\r\n x\r\n"), mutation.Proven},
		"YAML and CR":   {"a.yaml", []byte("a: b c\n"), []byte("a: b\rc\n"), mutation.Unproven},
		"Markdown":      {"a.md", []byte("a\n\nb\n"), []byte("a\r\n\r\nb"), mutation.Proven},
		"text":          {"a.txt", []byte("a\nb\n"), []byte("a\r\nb"), mutation.Proven},
	} {
		v := judgeOne(t, c.path, c.before, c.after)
		check.That(t, v.Evidence == c.want, "%s: %s (%s), want %s", name, v.Evidence, v.Reason, c.want)
	}
}
