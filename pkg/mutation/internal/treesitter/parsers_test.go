package treesitter_test

import (
	"context"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// hello has one small text of each language.
func hello() map[treesitter.Language]string {
	return map[treesitter.Language]string{
		treesitter.C:          "int main(void) { return 0; }\n",
		treesitter.CPlusPlus:  "namespace a { template <class T> T one(T t) { return t; } }\n",
		treesitter.CSharp:     "class A { int B(int c) => c + 1; }\n",
		treesitter.Java:       "class A { int b(int c) { return c + 1; } }\n",
		treesitter.JavaScript: "const a = (b) => <p>{b}</p>;\n",
		treesitter.Kotlin:     "fun main() { val a = 1; println(a) }\n",
		treesitter.PHP:        "<?php function a($b) { return $b; }\n",
		treesitter.Python:     "def a(b):\n    return b\n",
		treesitter.Ruby:       "def a(b)\n  b.map { |c| c }\nend\n",
		treesitter.Rust:       "fn main() { let a = 1; println!(\"{}\", a); }\n",
		treesitter.TSX:        "const a = (b: string) => <p>{b}</p>;\n",
		treesitter.TypeScript: "const a = <T,>(b: T): T => b;\n",
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
