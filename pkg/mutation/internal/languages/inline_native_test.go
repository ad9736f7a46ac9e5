package languages_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// operand is an expression of a made program: a variable, a number, or an
// operation.
type operand struct {
	of, text string // its type; the name, number or operator
	kids     []*operand
}

// native says how programs with types of fixed width are written.
type native struct {
	language, file, truth string
	types                 []string
	strength              map[string]int
	function, local, cast string
	condition             string
}

var natives = []native{
	{"c", "a.c", "int", []string{"int", "long", "unsigned", "unsigned long", "size_t"}, clangStrength, "static %[1]s %[2]s(%[3]s) { %[4]s }\n", "%[1]s %[2]s", "(%[1]s)%[2]s",
		"if (%s) { %s }"},
	{"cpp", "a.cpp", "bool", []string{"int", "long", "unsigned", "unsigned long", "long long"}, clangStrength, "static %[1]s %[2]s(%[3]s) { %[4]s }\n", "%[1]s %[2]s",
		"(%[1]s)%[2]s", "if (%s) { %s }"},
	{"rust", "a.rs", "bool", []string{"i32", "i64", "u8", "u32", "usize"}, rustStrength, "fn %[2]s(%[3]s) -> %[1]s { %[4]s }\n", "%[2]s: %[1]s", "%[2]s as %[1]s", "if %s { %s }"},
}

// How closely operators bind; a cast of Rust is an operator, too.
var (
	clangStrength = map[string]int{"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, ">": 7, "<=": 7, "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
	rustStrength  = map[string]int{"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "&": 7, "^": 6, "|": 5, "<": 4, ">": 4, "<=": 4, "==": 4, "!=": 4, "&&": 2, "||": 1}
)

// maker makes programs by chance.
type maker struct {
	native
	random *rand.Rand
	// plain is set to write no brackets but those that are needed.
	plain bool
}

func (m *maker) pick(from ...string) string { return from[m.random.IntN(len(from))] }

// made is an expression of a type over variables v0… of the types of the
// language, each of its own.
func (m *maker) made(of string, depth int) *operand {
	variable := func(of string) *operand {
		return &operand{of: of, text: fmt.Sprintf("v%d", 2*slices.Index(m.types, of)+m.random.IntN(2))}
	}
	switch {
	case of == "truth" && (depth == 0 || m.random.IntN(3) > 0):
		with := m.types[m.random.IntN(len(m.types))]
		return &operand{of, m.pick("<", ">", "<=", "==", "!="), []*operand{m.made(with, max(depth-1, 0)), m.right(with, depth)}}
	case of == "truth":
		return &operand{of, m.pick("&&", "||"), []*operand{m.made(of, depth-1), m.made(of, depth-1)}}
	case depth == 0:
		return variable(of)
	case m.random.IntN(6) == 0:
		return &operand{of, "cast", []*operand{m.made(m.types[m.random.IntN(len(m.types))], depth-1)}}
	case m.random.IntN(5) == 0:
		number := fmt.Sprint(1 + m.random.IntN(7))
		return &operand{of, m.pick("/", "%", "<<", ">>"), []*operand{m.made(of, depth-1), {of: of, text: number}}}
	}
	return &operand{of, m.pick("+", "-", "*", "&", "|", "^"), []*operand{m.made(of, depth-1), m.right(of, depth)}}
}

func (m *maker) right(of string, depth int) *operand {
	if m.random.IntN(2) == 0 {
		return &operand{of: of, text: fmt.Sprint(m.random.IntN(100))}
	}
	return m.made(of, max(depth-1, 0))
}

// print writes an expression, with the names that variables have.
func (m *maker) print(o *operand, names map[string]string) string {
	part := func(kid *operand, least int) string {
		text := m.print(kid, names)
		strength, operator := m.strength[kid.text], len(kid.kids) > 0
		if kid.text == "cast" {
			strength = 11
		}
		if operator && (strength < least || m.language == "rust" && (least < 5 || least == 8) && (strength == least || endsInCast(kid)) || !m.plain && m.random.IntN(4) == 0) {
			return "(" + text + ")"
		}
		return text
	}
	switch {
	case len(o.kids) == 0 && names[o.text] != "":
		return names[o.text]
	case len(o.kids) == 0:
		return o.text
	case o.text == "cast":
		return fmt.Sprintf(m.cast, o.of, part(o.kids[0], 12))
	}
	strength := m.strength[o.text]
	return part(o.kids[0], strength) + " " + o.text + " " + part(o.kids[1], strength+1)
}

// endsInCast: what follows could be read as a part of the type.
func endsInCast(o *operand) bool {
	return o.text == "cast" || len(o.kids) == 2 && endsInCast(o.kids[1])
}

// variables are the names in an expression, in the order in which they come.
func (o *operand) variables(found []string) []string {
	if len(o.kids) == 0 && o.text[0] == 'v' && !slices.Contains(found, o.text) {
		return append(found, o.text)
	}
	for _, k := range o.kids {
		found = k.variables(found)
	}
	return found
}

// moved is an expression with other variables: the second of each type for the
// first, and the other way round.
func (o *operand) moved() *operand {
	other := *o
	if len(o.kids) == 0 && o.text[0] == 'v' {
		other.text = "v" + string(o.text[1]^1)
	}
	other.kids = nil
	for _, k := range o.kids {
		other.kids = append(other.kids, k.moved())
	}
	return &other
}

func (o *operand) each(do func(*operand)) {
	do(o)
	for _, k := range o.kids {
		k.each(do)
	}
}

// pair is a program without a helper, and with it.
type pair struct{ before, after string }

// inlining makes a program in which an expression stands twice, with other
// variables the second time.
func (m *maker) inlining() (p pair, expression *operand) {
	of := m.types[m.random.IntN(len(m.types))]
	if m.random.IntN(3) == 0 {
		of = "truth"
	}
	for expression == nil || len(expression.variables(nil)) < 2 {
		expression = m.made(of, 2)
	}
	second := expression.moved()
	return pair{m.program("", m.statements(expression, second)), m.program(m.helper(expression), m.statements(m.call(expression), m.call(second)))}, expression
}

func (m *maker) typeName(of string) string {
	if of == "truth" {
		return m.truth
	}
	return of
}

func (m *maker) typeOf(variable string) string { return m.types[(variable[1]-'0')/2] }

func (m *maker) helper(expression *operand) string {
	var params []string
	names := map[string]string{}
	for i, v := range expression.variables(nil) {
		names[v] = fmt.Sprintf("q%d", i)
		params = append(params, fmt.Sprintf(m.local, m.typeOf(v), names[v]))
	}
	body := m.print(expression, names)
	if m.language != "rust" {
		body = "return " + body + ";"
	}
	return fmt.Sprintf(m.function, m.typeName(expression.of), "helper", strings.Join(params, ", "), body)
}

func (m *maker) call(expression *operand) *operand {
	return &operand{of: expression.of, text: "helper(" + strings.Join(expression.variables(nil), ", ") + ")"}
}

// statements use two expressions, as they are and as parts of others.
func (m *maker) statements(first, second *operand) string {
	around := rand.New(rand.NewPCG(uint64(len(first.of)), 9))
	if first.of == "truth" {
		not := "!(" + m.print(second, nil) + ")"
		if len(second.kids) == 0 {
			not = "!" + second.text
		}
		return fmt.Sprintf(m.condition, m.print(first, nil), m.result("1")) + " " + fmt.Sprintf(m.condition, not, m.result("2")) + " " + m.result("3")
	}
	variable := fmt.Sprintf("v%d", 2*slices.Index(m.types, first.of))
	sum := &operand{first.of, []string{"+", "*", "^"}[around.IntN(3)], []*operand{{of: first.of, text: variable}, first}}
	less := &operand{"truth", "<", []*operand{second, {of: first.of, text: variable}}}
	return fmt.Sprintf("%s = %s; ", variable, m.print(sum, nil)) + fmt.Sprintf(m.condition, m.print(less, nil), m.result("1")) + " " + m.result("2")
}

func (m *maker) result(of string) string { return "return " + of + ";" }

func (m *maker) program(helper, statements string) string {
	var params []string
	for i := range 2 * len(m.types) {
		name := fmt.Sprintf("v%d", i)
		if m.language == "rust" {
			name = "mut " + name
		}
		params = append(params, fmt.Sprintf(m.local, m.types[i/2], name))
	}
	if m.language == "rust" {
		return helper + "pub fn f(" + strings.Join(params, ", ") + ") -> i32 { " + statements + " }\n"
	}
	return helper + "int f(" + strings.Join(params, ", ") + ") { " + statements + " }\n"
}

// broken are programs that a pair is not, and why.
func (m *maker) broken(p pair, expression *operand) map[string]pair {
	vars, list := expression.variables(nil), map[string]pair{}
	after := func(what, from, to string) {
		if text := strings.Replace(p.after, from, to, 1); text != p.after {
			list[what] = pair{p.before, text}
		}
	}
	both := func(what, from, to string) {
		if !strings.Contains(p.before, from) {
			return
		}
		list[what] = pair{strings.Replace(p.before, from, to, 1), strings.Replace(p.after, from, to, 1)}
	}
	call := m.call(expression).text
	swapped := slices.Clone(vars)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	after("arguments swapped", call, "helper("+strings.Join(swapped, ", ")+")")
	after("another argument", call, strings.Replace(call, vars[0], "v"+string(vars[0][1]^1), 1))
	after("one call is another expression", call, m.print(expression.moved(), nil))
	written := func(at int, of string) string { return fmt.Sprintf(m.local, of, fmt.Sprintf("q%d", at)) }
	for _, of := range m.types {
		if of != m.typeOf(vars[0]) {
			after("another type of a parameter: "+of, written(0, m.typeOf(vars[0])), written(0, of))
		}
		if of != m.typeName(expression.of) && !(expression.of == "truth" && m.language != "rust") {
			head := strings.SplitAfter(p.after, "\n")[0]
			after("another result: "+of, head, strings.Replace(strings.Replace(head, "static "+expression.of+" ", "static "+of+" ", 1), "-> "+expression.of, "-> "+of, 1))
		}
	}
	other := m.types[(slices.Index(m.types, m.typeOf(vars[0]))+1)%len(m.types)]
	name := func(of string) string { return m.declared(p, vars[0], of) }
	both("another type of the variable", name(m.typeOf(vars[0])), name(other))
	changed := false
	expression.each(func(o *operand) {
		if old := o.text; !changed && m.strength[old] > 0 {
			changed = true
			o.text = map[string]string{"<": ">", ">": "<", "<=": "==", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "^", "^": "*", "&": "|", "|": "&",
				"/": "%", "%": "/", "<<": ">>", ">>": "<<"}[old]
			list["another operator"] = pair{p.before, m.helper(expression) + strings.SplitAfterN(p.after, "\n", 2)[1]}
			o.text = old
		}
	})
	m.surrounded(p, vars[0], expression.of, both, list)
	return list
}

// surrounded are programs with something around the function that makes it
// another one, or uncertain.
func (m *maker) surrounded(p pair, variable, of string, both func(what, from, to string), list map[string]pair) {
	if m.language == "rust" {
		list["a macro has it"] = pair{"macro_rules! m { () => { helper(1, 2) } }\n" + p.before, "macro_rules! m { () => { helper(1, 2) } }\n" + p.after}
		list["an attribute"] = pair{strings.Replace(p.before, "pub fn", "#[wrapping]\npub fn", 1), strings.Replace(p.after, "pub fn", "#[wrapping]\npub fn", 1)}
		return
	}
	for what, line := range map[string]string{"a macro has it": "#define m helper(1, 2)\n", "a macro is its name": "#define helper(a, b) (a)\n", "a macro is a parameter": "#define q0 q1\n",
		"a macro is a type": "#define int short\n", "another one": "static short helper(short a) { return a; }\n"} {
		list[what] = pair{strings.Replace(line, "static short helper(short a) { return a; }\n", "", 1) + p.before, line + p.after}
	}
	written := m.declared(p, variable, m.typeOf(variable))
	both("a volatile variable", written, "volatile "+written)
	if of != "truth" {
		both("beside a call", "= v", "= g(&"+variable+") + v")
	} else {
		list["beside a call"] = pair{strings.Replace(p.before, "if (", "if (g("+variable+"++) + ", 1), strings.Replace(p.after, "if (", "if (g("+variable+"++) + ", 1)}
	}
}

// declared is the declaration of a parameter of the program, up to what follows.
func (m *maker) declared(p pair, variable, of string) string {
	if m.language == "rust" {
		return "mut " + variable + ": " + of
	}
	if strings.Contains(p.before, variable+") {") {
		return of + " " + variable + ")"
	}
	return of + " " + variable + ","
}

// TestInlineNative: an expression of a program made by chance becomes a function
// of its own, and comes back, and is recognised; what is not the same is not.
func TestInlineNative(t *testing.T) {
	times := 2
	switch {
	case sweptDirectory() != "":
		times = 200
	case testing.Short():
		times = 1
	}
	for i, n := range natives {
		m := &maker{native: n, random: seeded(uint64(300 + i))}
		recognised, tried, falsely := 0, 0, 0
		for round := range times {
			m.plain = round%2 == 0
			p, expression := m.inlining()
			for _, turned := range []pair{p, {p.after, p.before}} {
				if v := evidence(n.language, n.file, turned.before, turned.after); isProven(v) {
					recognised++
				} else {
					t.Errorf("%s: %s\n%s\n%s", n.language, v.Reason, turned.before, turned.after)
				}
			}
			for what, broken := range m.broken(p, expression) {
				for _, turned := range []pair{broken, {broken.after, broken.before}} {
					tried++
					if v := evidence(n.language, n.file, turned.before, turned.after); isProven(v) {
						falsely++
						t.Errorf("%s: %s: falsely %s\n%s\n%s", n.language, what, v.Evidence, turned.before, turned.after)
					}
				}
			}
		}
		t.Logf("%s: recognised %d of %d; of %d broken ones %d falsely", n.language, recognised, 2*times, tried, falsely)
	}
}
