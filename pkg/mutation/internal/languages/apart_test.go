package languages_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// classHead is a line that begins a class; group 1 is its indentation, group 2
// its name.
var classHead = regexp.MustCompile(`(?m)^([ \t]*)(?:[a-z@\[\]]+[ \t]+)*(?:class|struct|interface|trait|object|record)[ \t]+(\w+)[^;{}\n]*(?:\n[ \t]*[^;{}\n]*)?\{[^}\n]*$`)

// apartByClass tells whether a member became one that only other classes have:
// all places of the old name stand in classes, and in the functions of C++ that
// are defined outside of them, none of them is behind anything but this, nothing
// is made from these classes, and they do not have the new name. Then it is the
// same program, whoever has the new name elsewhere.
func apartByClass(text, old, new string) bool {
	if old == "" || new == "" {
		return false
	}
	places := wordOf(old).FindAllStringIndex(text, -1)
	covered := make([]bool, len(places))
	for _, m := range classHead.FindAllStringSubmatchIndex(text, -1) {
		stop := strings.Index(text[m[1]:], "\n"+text[m[2]:m[3]]+"}")
		if stop < 0 {
			continue
		}
		name := text[m[4]:m[5]]
		outside := regexp.MustCompile(`(?m)^(?:[^\s#/][^;{}\n]*)?\b` + name + `::~?\w+\((?s:[^;]*?)\{(?s:.*?)\n\}`)
		derived := regexp.MustCompile(`\b(class|struct|interface|object|enum|record)\s+\w+[^;{}]*[\s:,.]` + name + `\b|\bobject\s*:[^;{}]*\b` + name + `\b|\bnew\s+` + name + `\b[^;{}]*\{`)
		own := append(outside.FindAllStringIndex(text, -1), []int{m[0], m[1] + stop})
		if derived.MatchString(text[:m[0]]+"\n"+text[m[1]+stop:]) || slices.ContainsFunc(own, func(x []int) bool { return wordOf(new).MatchString(text[x[0]:x[1]]) }) {
			continue
		}
		for i, place := range places {
			within := func(x []int) bool { return x[0] <= place[0] && place[1] <= x[1] }
			covered[i] = covered[i] || slices.ContainsFunc(own, within) && bareOrThis(text[:place[0]])
		}
	}
	return len(places) > 0 && !slices.Contains(covered, false)
}

func wordOf(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimPrefix(name, "$")) + `\b`)
}

// bareOrThis tells whether nothing but this stands before a name.
func bareOrThis(before string) bool {
	before = strings.TrimRight(before, " \t\n")
	for _, accessor := range []string{".", "->"} {
		of := strings.TrimRight(strings.TrimSuffix(before, accessor), "?")
		if strings.HasSuffix(before, accessor) && !strings.HasSuffix(of, "this") && !strings.HasSuffix(of, "self") {
			return false
		}
	}
	return true
}

func TestApartByClass(t *testing.T) {
	const box = "class Box {\n    int one;\n    int f() { return this.one + one; }\n}\n"
	const lid = "class Lid {\n    int two;\n}\n"
	for _, c := range []struct {
		text, new string
		want      bool
	}{
		{box + lid, "two", true},
		{box + "class Lid extends Box {\n    int two;\n}\n", "two", false},
		{box + lid, "f", false},
		{box + lid + "int one;\n", "two", false},
		{box + strings.Replace(box, "Box", "Pot", 1) + lid, "two", true},
		{box + strings.Replace(box, "Box", "Pot", 1) + "class Lid extends Pot {\n    int two;\n}\n", "two", false},
		{box + lid + "int Box::g() {\n    return one;\n}\n", "two", true},
		{box + lid + "int Box::g() {\n    return one + two;\n}\n", "two", false},
		{box + lid + "int Lid::g() {\n    return one;\n}\n", "two", false},
		{box + lid + "Box b = new Box() {\n    int two;\n};\n", "two", false},
		{strings.Replace(box, "this.one", "other.one", 1) + lid, "two", false},
	} {
		if got := apartByClass(c.text, "one", c.new); got != c.want {
			t.Errorf("%s: one became %s: %v", c.text, c.new, got)
		}
	}
}

// parameterAlone tells whether a mutant of PHP renamed a parameter, or a variable,
// with all its uses in one function, and left only the declaration of the
// property of that name, which is another thing.
func parameterAlone(text string, m mutant) bool {
	if !strings.HasPrefix(m.old, "$") || m.new == "" || strings.Contains(text, m.new) {
		return false
	}
	variable := regexp.MustCompile(regexp.QuoteMeta(m.old) + `\b`)
	property := regexp.MustCompile(`(?m)^[ \t]+(?:(?:private|protected|public|static|readonly|var)[ \t]+)+(?:[?\w\\|]+[ \t]+)?` + regexp.QuoteMeta(m.old) + `[ \t]*(?:=[^;]*)?;`)
	if left := variable.FindAllString(m.text, -1); len(left) == 0 || len(left) != len(property.FindAllString(m.text, -1)) {
		return false
	}
	renamed := regexp.MustCompile(regexp.QuoteMeta(m.new)+`\b`).FindAllStringIndex(m.text, -1)
	within := m.text[renamed[0][0]:renamed[len(renamed)-1][1]]
	return !regexp.MustCompile(`\bfunction\b|\bfn\b|\$\$|\bcompact\b|\bextract\b`).MatchString(within)
}

func TestParameterAlone(t *testing.T) {
	const text = "<?php\nclass Box {\n    private $one;\n    function __construct($one) {\n        $this->one = $one;\n    }\n    function f() { return $this->one; }\n}\n"
	parameter := strings.NewReplacer("($one)", "($two)", "= $one", "= $two").Replace(text)
	for _, c := range []struct {
		after string
		want  bool
	}{
		{parameter, true},
		{strings.Replace(text, "($one)", "($two)", 1), false},
		{strings.Replace(text, "= $one", "= $two", 1), false},
		{strings.Replace(text, "private $one", "private $two", 1), false},
		{strings.Replace(parameter, "return ", "return $two . ", 1), false},
	} {
		if got := parameterAlone(text, mutant{text: c.after, old: "$one", new: "$two"}); got != c.want {
			t.Errorf("%s: %v", c.after, got)
		}
	}
}
