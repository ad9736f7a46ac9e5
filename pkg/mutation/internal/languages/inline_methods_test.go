package languages_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

func init() {
	inlined["php"] = [2]string{`<?php
class Box {
  private $rate = 2;
  private static function half(int $a, int $b): string { return $a / 2 . '-' . $b; }
  private function big($a, $t) { return $a > $this->rate && $t === "x"; }
  function f(int $x, int $y, $s) { $v = self::half($x, $y) . 3; if ($this->big($x, $s)) { return $this->g(self::half($y, $x)); } return !$this->big($y, $s) ? [$v] : $v; }
  function g($x) { return $x; }
}
`, `<?php
class Box {
  private $rate = 2;
  function f(int $x, int $y, $s) { $v = $x / 2 . '-' . $y . 3; if ($x > $this->rate && $s === "x") { return $this->g($y / 2 . '-' . $x); } return !($y > $this->rate && $s === "x") ? [$v] : $v; }
  function g($x) { return $x; }
}
`}
	inlined["ruby"] = [2]string{`class Box
  def f(x, y, s)
    v = half(x, y) * 3
    return g(half(y, x)) if big?(x, s)
    [v, ready? ? "a#{half(v, x)}" : !big?(y, s)]
  end

  def g(x) = x

  private

  def half(a, b) = a / 2 - b

  def big?(a, t)
    a > @rate && t == "x"
  end

  def ready?
    return @ready
  end
end
`, `class Box
  def f(x, y, s)
    v = (x / 2 - y) * 3
    return g(y / 2 - x) if x > @rate && s == "x"
    [v, @ready ? "a#{v / 2 - x}" : !(y > @rate && s == "x")]
  end

  def g(x) = x
end
`}
}

// TestExtractions puts expressions of real programs into private methods of
// their own, counts how many are recognised, and breaks each of these: none of
// that may be proven, in either direction.
func TestExtractions(t *testing.T) {
	files, perFile := 1, 3
	switch {
	case sweptDirectory() != "":
		files, perFile = 120, 6
	case testing.Short():
		perFile = 1
	}
	for _, language := range []string{"php", "ruby"} {
		texts, _ := sources(t, language, files)
		if sweptDirectory() == "" && len(texts) > 0 {
			texts = append(texts, source{"inlined", inlined[language][1]})
		}
		tried, recognised, broken, files := 0, 0, map[string]int{}, 0
		for i, s := range texts {
			random := seeded(uint64(7000 + i))
			list := languages.Extractions(language, []byte(s.text))
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			if len(list) > 0 {
				files++
			}
			for _, e := range list[:min(perFile, len(list))] {
				tried++
				if v := evidence(language, "file", s.text, e.Text); !isProven(v) {
					if testing.Verbose() {
						t.Logf("missed: %s: %q: %s", shortPath(s.path), e.Expression, v.Reason)
					}
					continue
				}
				recognised++
				t.Logf("recognised: %s: %q", shortPath(s.path), e.Expression)
				if v := evidence(language, "file", e.Text, s.text); !isProven(v) {
					t.Errorf("%s: %q: back again: %s", shortPath(s.path), e.Expression, v.Reason)
				}
				for what, text := range breakages(random, language, s.text, e) {
					broken[what]++
					for _, v := range []string{s.text + "\x00" + text, text + "\x00" + s.text} {
						before, after, _ := strings.Cut(v, "\x00")
						if v := evidence(language, "file", before, after); isProven(v) {
							t.Errorf("%s: %q: %s: falsely %s: %s", shortPath(s.path), e.Expression, what, v.Evidence, v.Reason)
							keepMiss("extraction-"+what, before, after)
						}
					}
				}
			}
		}
		t.Logf("%s: %d extractions in %d files, %d recognised; broken in both directions: %v", language, tried, files, recognised, broken)
		if len(texts) > 0 && sweptDirectory() == "" && recognised == 0 {
			t.Errorf("%s: nothing is recognised", language)
		}
	}
}

var phpOperator = regexp.MustCompile(` (===|!==|==|!=|&&|\|\||\.|\+|-|\*|/|<=|>=|<|>|\?\?) `)

// breakages are programs in which an extraction is not one.
func breakages(random *rand.Rand, language, original string, e languages.Extraction) map[string]string {
	made := map[string]string{}
	edit := func(what string, call, method func(string) string) {
		c, m := call(e.Call), method(e.Method)
		if c == e.Call && m == e.Method {
			return
		}
		text := e.Text[:e.MethodAt] + m + e.Text[e.MethodAt+len(e.Method):]
		made[what] = text[:e.CallAt] + c + text[e.CallAt+len(e.Call):]
	}
	same := func(text string) string { return text }
	given := strings.Join(e.Names, ", ")
	if len(e.Names) > 1 {
		swapped := slices.Clone(e.Names)
		i := random.IntN(len(swapped) - 1)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		edit("arguments swapped", func(c string) string { return strings.Replace(c, given, strings.Join(swapped, ", "), 1) }, same)
		edit("parameters swapped", same, func(m string) string {
			return strings.Replace(m, "("+given+")", "("+strings.Join(swapped, ", ")+")", 1)
		})
		edit("argument given twice", func(c string) string { return strings.Replace(c, e.Names[1], e.Names[0], 1) }, same)
	}
	edit("operator", same, func(m string) string {
		at := phpOperator.FindStringIndex(m)
		if at == nil {
			return m
		}
		for {
			other := []string{" === ", " && ", " - ", " * ", " < "}[random.IntN(5)]
			if other != m[at[0]:at[1]] {
				return m[:at[0]] + other + m[at[1]:]
			}
		}
	})
	if len(e.Names) > 0 {
		reference, typed := "(&"+e.Names[0], "(\\Nowhere "+e.Names[0]
		if language == "ruby" {
			reference, typed = "(*"+e.Names[0], "(&"+e.Names[0]
		}
		edit("by reference or many", same, func(m string) string { return strings.Replace(m, "("+e.Names[0], reference, 1) })
		edit("typed or a block", same, func(m string) string { return strings.Replace(m, "("+e.Names[0], typed, 1) })
		edit("default", same, func(m string) string { return strings.Replace(m, e.Names[0]+")", e.Names[0]+" = 1)", 1) })
	}
	twice := strings.Replace(strings.Replace(e.Method, "private\n", "", 1), e.Expression, "1", 1)
	edit("declared again", same, func(m string) string { return m + twice })
	edit("call left out", func(string) string { return "1" }, same)
	edit("call stays", same, func(string) string { return "" })
	edit("called once more", func(c string) string { return "g(" + c + ", " + c + ")" }, same)
	edit("not private", same, func(m string) string { return strings.NewReplacer("private ", "", "private\n", "public\n").Replace(m) })
	return made
}
