package languages_test

import (
	"context"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

func limits() verdict.Limits { return verdict.Limits{Depth: 2000} }

func judge(t *testing.T, language, before, after string) verdict.Verdict {
	t.Helper()
	j := languages.Judge(language)
	if j == nil {
		t.Fatalf("no judge for %s", language)
	}
	return j(context.Background(), []verdict.File{{Path: "file", Before: []byte(before), After: []byte(after)}}, limits())
}

func TestScript(t *testing.T) {
	for name, c := range map[string]struct {
		language, before, after string
		want                    verdict.Evidence
	}{
		"layout":               {"typescript", "const a = 1;\nf(a);\n", "const a=1\n\n\nf( a ) // x\n", verdict.Proven},
		"local":                {"javascript", "import 'x';\nfunction f(a) { return a + 1 }", "import 'x';\nfunction f(b) { return b + 1 }", verdict.Proven},
		"shorthand":            {"javascript", "function f(a) { return {a} }", "function f(b) { return {a: b} }", verdict.Proven},
		"pattern":              {"typescript", "function f({a = 1}: T) { return a }", "function f({a: b = 1}: T) { return b }", verdict.Proven},
		"one of two":           {"javascript", "function f(a) { return a + 1 }", "function f(b) { return a + 1 }", verdict.Unproven},
		"capture":              {"javascript", "function f(a) { return a + b }", "function f(b) { return b + b }", verdict.Unproven},
		"capture by inner":     {"javascript", "function f(a) { return b => a + b }", "function f(b) { return b => b + b }", verdict.Unproven},
		"exported":             {"javascript", "export function f(a) { return f }", "export function g(a) { return g }", verdict.ProvenLocal},
		"return line":          {"javascript", "function f() { return a }", "function f() { return\n a }", verdict.Unproven},
		"comment with line":    {"javascript", "function f() { return /* */ a }", "function f() { return /*\n*/ a }", verdict.Unproven},
		"quotes":               {"javascript", "f('a', \"b\\'c\")", "f(\"a\", 'b\\'c')", verdict.Proven},
		"text":                 {"javascript", "f('a')", "f('b')", verdict.Unproven},
		"operator":             {"javascript", "f(a + b)", "f(a - b)", verdict.Unproven},
		"parentheses":          {"javascript", "x = (a + b) * c", "x = a + b * c", verdict.Unproven},
		"parentheses for show": {"javascript", "x = (a * b) + c", "x = a * b + c", verdict.Proven},
		"optional chain":       {"javascript", "x = (a?.b).c", "x = a?.b.c", verdict.Unproven},
		"eval":                 {"javascript", "function f(a) { eval(s); return a }", "function f(b) { eval(s); return b }", verdict.Unproven},
		"private":              {"javascript", "class A { #a = 1; m() { return this.#a } }", "class A { #b = 1; m() { return this.#b } }", verdict.Proven},
		"arrow":                {"typescript", "const f = a => a;export {}", "const f = (b) => b;export {}", verdict.Proven},
		"directive":            {"typescript", "// @ts-ignore\nf()", "f()", verdict.Unproven},
		"trailing":             {"tsx", "f(a, b,); x = [a, b,]", "f(a, b); x = [a, b]", verdict.Proven},
		"hole":                 {"javascript", "x = [a,,]", "x = [a,]", verdict.Unproven},
		"jsx":                  {"tsx", "x = <A b='c'>\n  hi {y}\n  there\n</A>", "x = (\n<A b=\"c\">hi {y} there</A>)", verdict.Unproven},
		"jsx space":            {"tsx", "x = <A>{b} {c}</A>", "x = <A>{b}{c}</A>", verdict.Unproven},
		"jsx lines":            {"tsx", "x = <A>{b}\n {c}</A>", "x = <A>{b}{c}</A>", verdict.Proven},
		"jsx text":             {"tsx", "x = <A b='c'>\n  hi {y}\n  there\n</A>", "x = (\n<A b=\"c\">\n hi {y}\n\n there\n</A>)", verdict.Proven},
		"fault":                {"javascript", "x = 1", "x = ", verdict.Unproven},
		"property":             {"javascript", "function f(a) { return a.b }", "function f(a) { return a.c }", verdict.Unproven},
		"global of script":     {"javascript", "function f() { return f }", "function g() { return g }", verdict.ProvenLocal},
		"type":                 {"typescript", "export {}; interface A { x: A }", "export {}; interface B { x: B }", verdict.Proven},
	} {
		t.Run(name, func(t *testing.T) {
			if v := judge(t, c.language, c.before, c.after); v.Evidence != c.want {
				t.Errorf("%s, want %s: %s", v.Evidence, c.want, v.Reason)
			}
		})
	}
}

func TestPython(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          verdict.Evidence
	}{
		"layout":         {"a = f( 1,\n  2 )\n", "a = f(1, 2)  # c\n", verdict.Proven},
		"local":          {"def f():\n    a = 1\n    return a\n", "def f():\n    b = 1\n    return b\n", verdict.Proven},
		"parameter":      {"def f(a):\n    return a\n", "def f(b):\n    return b\n", verdict.ProvenLocal},
		"named in call":  {"def f(a):\n    return a\nf(a=1)\n", "def f(b):\n    return b\nf(a=1)\n", verdict.Unproven},
		"block":          {"if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n", verdict.Unproven},
		"tuple":          {"a = (1,)\n", "a = (1)\n", verdict.Unproven},
		"tuple of two":   {"a = (1, 2,)\n", "a = (1, 2)\n", verdict.Proven},
		"docstring":      {"def f():\n    'a'\n", "def f():\n    'b'\n", verdict.Unproven},
		"quotes":         {"a = 'b'\n", "a = \"b\"\n", verdict.Proven},
		"prefix":         {"a = b'b'\n", "a = 'b'\n", verdict.Unproven},
		"f-string":       {"def f():\n    a = 1\n    return f'{a}'\n", "def f():\n    b = 1\n    return f'{b}'\n", verdict.Proven},
		"shown":          {"def f():\n    a = 1\n    return f'{a=}'\n", "def f():\n    b = 1\n    return f'{b=}'\n", verdict.Unproven},
		"comprehension":  {"def f(x):\n    return [a for a in x]\n", "def f(x):\n    return [b for b in x]\n", verdict.Proven},
		"class scope":    {"class A:\n    x = 1\n    def f(self):\n        return x\n", "class A:\n    y = 1\n    def f(self):\n        return x\n", verdict.Unproven},
		"global":         {"def f():\n    global a\n    a = 1\n", "def f():\n    global b\n    b = 1\n", verdict.Unproven},
		"locals":         {"def f():\n    a = 1\n    return locals()\n", "def f():\n    b = 1\n    return locals()\n", verdict.Unproven},
		"top":            {"def f(): pass\nf()\n", "def g(): pass\ng()\n", verdict.ProvenLocal},
		"coding":         {"# coding: latin-1\na = 1\n", "a = 1\n", verdict.Unproven},
		"local to outer": {"def f():\n    a = 1\n    def g():\n        return b\n", "def f():\n    b = 1\n    def g():\n        return b\n", verdict.Unproven},
		"default":        {"a = 1\ndef f(a=a): return a\n", "a = 1\ndef f(b=a): return b\n", verdict.ProvenLocal},
	} {
		t.Run(name, func(t *testing.T) {
			if v := judge(t, "python", c.before, c.after); v.Evidence != c.want {
				t.Errorf("%s, want %s: %s", v.Evidence, c.want, v.Reason)
			}
		})
	}
}
