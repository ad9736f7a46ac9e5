package treesitter_test

import (
	"context"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// hello has one small text of each language.
func hello() map[string]string {
	return map[string]string{
		"c":          "int main(void) { return 0; }\n",
		"cpp":        "namespace a { template <class T> T one(T t) { return t; } }\n",
		"csharp":     "class A { int B(int c) => c + 1; }\n",
		"java":       "class A { int b(int c) { return c + 1; } }\n",
		"javascript": "const a = (b) => <p>{b}</p>;\n",
		"kotlin":     "fun main() { val a = 1; println(a) }\n",
		"php":        "<?php function a($b) { return $b; }\n",
		"python":     "def a(b):\n    return b\n",
		"ruby":       "def a(b)\n  b.map { |c| c }\nend\n",
		"rust":       "fn main() { let a = 1; println!(\"{}\", a); }\n",
		"tsx":        "const a = (b: string) => <p>{b}</p>;\n",
		"typescript": "const a = <T,>(b: T): T => b;\n",
	}
}

func TestEveryLanguageIsParsed(t *testing.T) {
	var parsers treesitter.Parsers
	defer parsers.Release()
	for _, language := range treesitter.Languages() {
		begin := time.Now()
		tree, err := parsers.Parse(context.Background(), language, []byte(hello()[language]))
		if err != nil {
			t.Errorf("%s: %v", language, err)
			continue
		}
		t.Log(language, time.Since(begin), len(tree.Nodes), tree.Kind(0))
		at, faulty := tree.Fault()
		check.That(t, !faulty, "%s: a fault at byte %d", language, at)
	}
}
