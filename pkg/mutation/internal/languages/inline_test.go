package languages_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// inlined are programs with a helper and without, in languages that write
// types down.
var inlined = map[string][2]string{
	"java": {`class Box {
  private static int half(int a, int b) { return a / 2 - b; }
  private static boolean big(long a, String t) { return a > 3 && t == "x"; }
  int f(int x, int y, long z, String s) { int v = half(x, y) * 3; if (big(z, s)) { v = half(v, x); } return g(half(y, x)) - v; }
  int g(int x) { return x; }
}
`, `class Box {
  int f(int x, int y, long z, String s) { int v = (x / 2 - y) * 3; if (z > 3 && s == "x") { v = v / 2 - x; } return g(y / 2 - x) - v; }
  int g(int x) { return x; }
}
`},
	"csharp": {`class Box {
  private static int Half(int a, int b) => a / 2 - b;
  private static bool Big(long a, string t) { return a > 3 && t == "x"; }
  int F(int x, int y, long z, string s) { int v = Half(x, y) * 3; if (Big(z, s)) { v = Half(v, x); } return G(Half(y, x)) - v; }
  int G(int x) { return x; }
}
`, `class Box {
  int F(int x, int y, long z, string s) { int v = (x / 2 - y) * 3; if (z > 3 && s == "x") { v = v / 2 - x; } return G(y / 2 - x) - v; }
  int G(int x) { return x; }
}
`},
	"kotlin": {`private fun half(a: Int, b: Int): Int = a / 2 - b
private fun big(a: Long, t: String): Boolean { return a > 3 && t == "x" }
fun f(x: Int, y: Int, z: Long, s: String): Int {
    var v: Int = half(x, y) * 3
    if (big(z, s)) { v = half(v, x) }
    return g(half(y, x)) - v
}
fun g(x: Int): Int { return x }
`, `fun f(x: Int, y: Int, z: Long, s: String): Int {
    var v: Int = (x / 2 - y) * 3
    if (z > 3 && s == "x") { v = v / 2 - x }
    return g(y / 2 - x) - v
}
fun g(x: Int): Int { return x }
`},
	"rust": {`fn half(a: i32, b: i32) -> i32 { a / 2 - b }
fn big(a: i64, t: &str) -> bool { a > 3 && t == "x" }
pub fn f(x: i32, y: i32, z: i64, s: &str) -> i32 { let mut v: i32 = half(x, y) * 3; if big(z, s) { v = half(v, x); } return g(half(y, x)) - v; }
fn g(x: i32) -> i32 { x.abs() }
`, `pub fn f(x: i32, y: i32, z: i64, s: &str) -> i32 { let mut v: i32 = (x / 2 - y) * 3; if z > 3 && s == "x" { v = v / 2 - x; } return g(y / 2 - x) - v; }
fn g(x: i32) -> i32 { x.abs() }
`},
	"c": {`static int half(int a, int b) { return a / 2 - b; }
static bool big(long a, unsigned t) { return a > 3 && t == 'x'; }
static int g(int x) { return x + h(); }
int f(int x, int y, long z, unsigned s) { int v = half(x, y) * 3; if (big(z, s)) { v = half(v, x); } return g(half(y, x)); }
`, `static int g(int x) { return x + h(); }
int f(int x, int y, long z, unsigned s) { int v = (x / 2 - y) * 3; if (z > 3 && s == 'x') { v = v / 2 - x; } return g(y / 2 - x); }
`},
	"cpp": {`namespace {
int half(int a, int b) { return a / 2 - b; }
}
static bool big(long a, unsigned t) { return a > 3 && t == 'x'; }
static int g(int x) { return x + h(); }
int f(int x, int y, long z, unsigned s) { int v = half(x, y) * 3; if (big(z, s)) { v = half(v, x); } return g(half(y, x)); }
`, `namespace {
}
static int g(int x) { return x + h(); }
int f(int x, int y, long z, unsigned s) { int v = (x / 2 - y) * 3; if (z > 3 && s == 'x') { v = v / 2 - x; } return g(y / 2 - x); }
`},
}

// TestInlinedMutants holds a program whose helpers were put in place of their
// calls to be the same, and no longer so when a token of it was changed.
func TestInlinedMutants(t *testing.T) {
	times := 60
	switch {
	case sweptDirectory() != "":
		times = 2000
	case testing.Short():
		times = 4
	}
	for language, pair := range inlined {
		if v := evidence(language, "file"+extensions[language][0], pair[0], pair[1]); !isProven(v) {
			t.Errorf("%s: %s", language, v.Reason)
		}
		random, tried, same := seeded(77), 0, 0
		for i := range times {
			was, is := pair[0], pair[1]
			if i%2 == 1 {
				was, is = is, was
			}
			m := mutate(random, is, languages.Tokens(language, []byte(is)))
			if m.text == "" {
				continue
			}
			tried++
			v := evidence(language, "file"+extensions[language][0], was, m.text)
			switch {
			case !isProven(v):
			case len(v.Renames) == 1 && m.old != "" && occurrences(is, m.old) == 1:
				same++ // a name that nothing uses
			case strings.Contains(m.what, `"private"`), strings.Contains(m.what, `"static"`), strings.HasPrefix(m.what, `";"`), (language == "c" || language == "cpp") && strings.HasPrefix(m.what, `"bool" became`):
				same++ // a modifier of a helper that calls nothing, an empty statement, a type of which only the truth counts
			case language == "php" && (strings.HasPrefix(m.what, `"int" became ""`) || strings.HasPrefix(m.what, `"f" became`)):
				same++ // the type of a helper's parameter, which the argument has, and a method that nothing calls
			case language == "ruby" && m.what == `"return" became "" in line 19`:
				same++ // the last statement of a method
			default:
				t.Errorf("%s: %s: falsely %s: %s", language, m.what, v.Evidence, v.Reason)
			}
		}
		t.Logf("%s: %d mutants of inlined programs, %d the same", language, tried, same)
	}
}
