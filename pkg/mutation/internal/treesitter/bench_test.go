package treesitter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// BenchmarkParse parses a file of 1,000 lines, in fresh memory as always.
func BenchmarkParse(b *testing.B) {
	for _, language := range treesitter.Languages() {
		b.Run(language, func(b *testing.B) {
			line := lines()[language]
			text := []byte(line.head + strings.Repeat(line.body, 1000/strings.Count(line.body, "\n")) + line.tail)
			var parsers treesitter.Parsers
			defer parsers.Release()
			for b.Loop() {
				tree := check.Value(parsers.Parse(context.Background(), language, text))(b)
				at, faulty := tree.Fault()
				check.Must(b, !faulty, "a fault at byte %d", at)
			}
		})
	}
}

// BenchmarkFirst parses a small text in a process that has compiled nothing.
func BenchmarkFirst(b *testing.B) {
	for _, language := range treesitter.Languages() {
		b.Run(language, func(b *testing.B) {
			for b.Loop() {
				var parsers treesitter.Parsers
				_, err := parsers.Parse(context.Background(), language, []byte(hello()[language]))
				check.OK(b, err)
				parsers.Release()
			}
		})
	}
}

type file struct{ head, body, tail string }

// lines have about 40 characters and 10 tokens a line, as code has.
func lines() map[string]file {
	braces := "  int item(int first, char *second) {\n    if (first > 10 && second != 0) {\n" +
		"      return item(first - 1, second + 4) * 2;\n    }\n    return first % 3;\n  }\n\n\n"
	java := strings.NewReplacer("char *", "char ").Replace(braces)
	script := "function item(first, second) {\n  if (first > 10 && second !== null) {\n" +
		"    return item(first - 1, second.next) * 2;\n  }\n  return first % 3;\n}\n\n\n"
	typed := strings.NewReplacer("first, second)", "first: number, second: Node): number").Replace(script)
	typed = strings.NewReplacer("item(first: number", "item(first: number").Replace(typed)
	return map[string]file{
		"c":          {"", braces, ""},
		"cpp":        {"namespace a {\n", braces, "}\n"},
		"csharp":     {"class A {\n", java, "}\n"},
		"java":       {"class A {\n", java, "}\n"},
		"javascript": {"", script, ""},
		"typescript": {"", typed, ""},
		"tsx":        {"", typed, ""},
		"php": {"<?php\n", "function item($first, $second) {\n  if ($first > 10 && $second !== null) {\n" +
			"    return item($first - 1, $second->next) * 2;\n  }\n  return $first % 3;\n}\n\n\n", ""},
		"kotlin": {"", "fun item(first: Int, second: Node?): Int {\n  if (first > 10 && second != null) {\n" +
			"    return item(first - 1, second.next) * 2\n  }\n  return first % 3\n}\n\n\n", ""},
		"rust": {"", "fn item(first: i32, second: &Node) -> i32 {\n  if first > 10 && second.is_some() {\n" +
			"    return item(first - 1, second.next) * 2;\n  }\n  return first % 3;\n}\n\n\n", ""},
		"python": {"", "def item(first, second):\n    if first > 10 and second is not None:\n" +
			"        return item(first - 1, second.next) * 2\n    total = first % 3\n    return total\n\n\n\n", ""},
		"ruby": {"", "def item(first, second)\n  if first > 10 && !second.nil?\n" +
			"    return item(first - 1, second.next) * 2\n  end\n  first % 3\nend\n\n\n", ""},
	}
}
