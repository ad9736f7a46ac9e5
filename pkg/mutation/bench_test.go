package mutation_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// BenchmarkJudge is what a class costs: a renamed name in a file of 4 KiB, and in one of 1,000 lines.
func BenchmarkJudge(b *testing.B) {
	goFunction := func(n int) string {
		return fmt.Sprintf("// f%d adds.\nfunc f%d(list []int) (total int) {\n\tfor _, n := range list {\n\t\tif n > 0 {\n\t\t\ttotal += n\n\t\t}\n\t}\n\treturn total\n}\n\n", n, n)
	}
	jsonLine := func(n int) string { return fmt.Sprintf("\"key %d\": {\"name\": [%d, true, null]},\n", n, n) }
	yamlLine := func(n int) string { return fmt.Sprintf("key%d: {name: [%d, true, text]}\n", n, n) }
	tomlLine := func(n int) string { return fmt.Sprintf("key%d = {name = [%d, 1, 2]}\n", n, n) }
	for _, c := range []struct {
		path, head, tail string
		piece            func(int) string
		from, to         string
	}{
		{"a.go", "package a\n\n", "", goFunction, "total", "sum"},
		{"a.json", "{", "\"end\": 1}", jsonLine, ": ", ":  "},
		{"a.yaml", "", "", yamlLine, "[", "[ "},
		{"a.toml", "", "", tomlLine, "[", "[ "},
	} {
		for _, lines := range []int{0, 1000} {
			var text strings.Builder
			text.WriteString(c.head)
			for n := 0; lines == 0 && text.Len() < 4096 || strings.Count(text.String(), "\n") < lines; n++ {
				text.WriteString(c.piece(n))
			}
			text.WriteString(c.tail)
			before := []byte(text.String())
			after := bytes.ReplaceAll(before, []byte(c.from), []byte(c.to))
			name := c.path + "/4KiB"
			if lines > 0 {
				name = c.path + "/1000lines"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(before)))
				for b.Loop() {
					v := mutation.JudgeAmong(b.Context(), []mutation.File{{Path: c.path, Before: before, After: after}}, nil, patient())
					check.Must(b, v.Evidence == mutation.Proven, "%v", v.Reason)
				}
			})
		}
	}
}

// BenchmarkEdit is what one edit of a TypeScript file of 5,000 lines costs, whose text before was read or written by a
// session: in its middle a name, a comment, or what it does.
func BenchmarkEdit(b *testing.B) {
	var text strings.Builder
	for n := range 500 {
		fmt.Fprintf(&text, "// f%d adds.\nexport function f%d(list: number[]): number {\n  let total%d = 0;\n  for (const n of list) {\n    if (n > 0) {\n      total%d += n;\n    }\n  }\n  return total%d;\n}\n", n, n, n, n, n)
	}
	before := text.String()
	for _, c := range []struct {
		name, from, to string
		evidence       mutation.Evidence
	}{
		{"rename", "total250", "sum250", mutation.Proven},
		{"comment", "// f250 adds.", "// f250 adds up.", mutation.Proven},
		{"evolution", "total250 += n", "total250 -= n", mutation.Unproven},
	} {
		b.Run(c.name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				was := []byte(fmt.Sprintf("// %d\n", n) + before) // so that no text was judged before
				is := bytes.ReplaceAll(was, []byte(c.from), []byte(c.to))
				b.StopTimer()
				mutation.JudgeAmong(b.Context(), []mutation.File{{Path: "a.ts", Before: []byte(" "), After: was}}, nil, mutation.DefaultLimits())
				b.StartTimer()
				if v := mutation.JudgeAmong(b.Context(), []mutation.File{{Path: "a.ts", Before: was, After: is}}, nil, mutation.DefaultLimits()); v.Evidence != c.evidence {
					b.Fatal(v.Evidence, v.Reason)
				}
			}
		})
	}
}
