package syntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/syntax"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

func evidence(t *testing.T, path, before, after string) verdict.Evidence {
	f := verdict.File{Path: path, Before: []byte(before), After: []byte(after)}
	return syntax.Judge(nil)(t.Context(), []verdict.File{f}, verdict.Limits{Depth: 2000}).Evidence
}

// What ends a line or a comment for some readers only, and what nobody sees, is layout in no language and at no place.
func TestBytesThatAreNotLayout(t *testing.T) {
	files := check.Value(filepath.Glob("testdata/stock/*"))(t)
	for _, name := range files {
		text := string(check.Value(os.ReadFile(name))(t))
		step := check.Rounds(max(1, len(text)/6), 1)
		for _, odd := range []string{"\r", "\v", "\f", "\x1a", "\u0085", "\u2028", "\u2029", "\u200b", "\u200e", "\u202e", "\u2066", "\ufeff"} {
			for at := 1; at < len(text); at += step {
				if got := evidence(t, name, text, text[:at]+odd+text[at:]); got != verdict.Unproven && !strings.HasPrefix(text[at:], "\n") {
					t.Errorf("%s: %q behind %q: %s", name, odd, text[max(0, at-20):at], got)
				}
			}
		}
	}
}

// TestNotLayout has what looks like layout, and is none in its language.
func TestNotLayout(t *testing.T) {
	for _, c := range []struct{ path, before, after string }{
		{"a.c", "int a = 1; // x\nint b = 2;\n", "int a = 1; // x \\\nint b = 2;\n"},
		{"a.c", "int a = 1; // x\nint b = 2;\n", "int a = 1; // x \\ \nint b = 2;\n"},
		{"a.c", "int a = 1; // x\nint b = 2;\n", "int a = 1; // x ??/\nint b = 2;\n"},
		{"a.c", "#define A 1\nint a = A;\n", "#define\r\n A 1\nint a = A;\n"},
		{"a.cpp", "int a = 1; // x\nint b = 2;\n", "int a = 1; // x ??/\nint b = 2;\n"},
		{"a.rb", "f = 1\nputs f - 1\n", "f = 1\nputs f -1\n"},
		{"a.rb", "puts f(1, 2)\n", "puts f(1\n, 2)\n"},
		{"a.rb", "puts a\n  .b\n", "puts a\n\n  .b\n"},
		{"a.rb", "a = 1 +\n  2\n", "a = 1\n  +2\n"},
		{"a.js", "var a = 1\nvar b = 2\n", "var a = 1 <!-- x\nvar b = 2\n"},
		{"a.js", "return_()\nfunction f() { return 1 }\n", "return_()\nfunction f() { return\n1 }\n"},
		{"a.js", "a\n++b\n", "a++\nb\n"},
		{"a.php", "<?php echo 1;\n", "\n<?php echo 1;\n"},
		{"a.php", "<?php echo 1; ?>\n", "<?php echo 1; ?>\n\n"},
		{"a.php", "<?php echo 1;\n", "<?phpecho 1;\n"},
		{"a.php", "<?php // x\necho 1;\n", "<?php // x ?>\necho 1;\n"},
		{"a.py", "if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n"},
		{"a.py", "if a:\n        b()\n        c()\n", "if a:\n        b()\n\tc()\n"},
		{"a.py", "a()\nb()\n", "a()\n    b()\n"},
		{"a.py", "a = 1 + 2\n", "a = 1\n+ 2\n"},
		{"A.java", "class A { int a = 1; /* x */ }\n", "class A { int a = 1; /* x \\u002a/ int b; /* */ }\n"},
		{"a.kt", "fun f(): Int {\n  return 1 + 2\n}\n", "fun f(): Int {\n  return 1\n + 2\n}\n"},
		{"a.go", "package a\n\n//go:build linux\n", "package a\n\n// go:build linux\n"},
		{"a.rs", "/// doc\nfn a() {}\n", "// doc\nfn a() {}\n"},
		{"a.ts", "let a = 1;\n", "let a = 1;;(\n"},
		{"a.ts", "let a = (1;\n", "let a = (1 ;\n"},
		{"A.cs", "#if A\nclass B {}\n#endif\n", "/*\n#if A\n*/class B {}\n#endif\n"},
	} {
		got := evidence(t, c.path, c.before, c.after)
		check.That(t, got != verdict.Proven && got != verdict.ProvenLocal, "%s: %q and %q: %s", c.path, c.before, c.after, got)
	}
}

// A declaration that a parser knows, and a comparison might not, ends no judge.
func TestMembersOfAnnotations(t *testing.T) {
	check.Equal(t, evidence(t, "E.java", "@interface E { int a(); }\n", "@interface E {\n  int a(); // how many\n}\n"), verdict.Proven)
}
