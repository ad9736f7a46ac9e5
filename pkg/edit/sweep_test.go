package edit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// The sweep makes edits whose result is known: a file, a window of it, a change of that window in the file's own
// indentation. Then the indentation of search and replacement is damaged, as models do it, and the edit is sent. The
// answer must be the known result or a refusal.

// source is a line of a file that the sweep makes.
type source struct {
	level int
	text  string
}

// language says how blocks are written.
type language struct {
	name         string
	open         func(r *rand.Rand) string
	close        string
	function     string
	structureful bool
}

var words = []string{"load", "save", "log", "render", "update", "check", "trace", "sum", "merge", "flush"}

func word(r *rand.Rand) string { return words[r.IntN(len(words))] }

var languages = []language{
	{"python", func(r *rand.Rand) string {
		return []string{"if " + word(r) + ":", "for x in " + word(r) + "():", "while " + word(r) + "(x):"}[r.IntN(3)]
	}, "", "def %s(self):", true},
	{"brace", func(r *rand.Rand) string {
		return []string{"if (" + word(r) + ") {", "for (x of " + word(r) + "()) {", "while (" + word(r) + ") {"}[r.IntN(3)]
	}, "}", "function %s(x) {", true},
	{"ruby", func(r *rand.Rand) string { return []string{"if " + word(r), "while " + word(r) + "(x)"}[r.IntN(2)] }, "end", "def %s(x)", true},
	{"outline", func(r *rand.Rand) string { return word(r) + " " + word(r) }, "", "chapter %s", false},
}

// sweep is one edit of the sweep.
type sweep struct {
	r        *rand.Rand
	lang     language
	unit     string
	file     []source
	from, to int      // the window
	now      []source // what is to stand there
	kind     string
	fresh    bool // lines come that replace none
}

func (s *sweep) statement() string {
	if s.r.IntN(6) == 0 {
		return "return x"
	}
	return fmt.Sprintf("%s(%s)", word(s.r), []string{"", "x", "1", `"a b"`}[s.r.IntN(4)])
}

func (s *sweep) block(level, depth int) []source {
	var lines []source
	for range 1 + s.r.IntN(4) {
		if depth > 0 && s.r.IntN(3) == 0 {
			lines = append(lines, source{level, s.lang.open(s.r)})
			lines = append(lines, s.block(level+1, depth-1)...)
			lines = s.closed(lines, level)
			continue
		}
		lines = append(lines, source{level, s.statement()})
	}
	return lines
}

func (s *sweep) closed(lines []source, level int) []source {
	if s.lang.close != "" {
		lines = append(lines, source{level, s.lang.close})
	}
	return lines
}

func (s *sweep) functionLines(level int) []source {
	lines := []source{{level, fmt.Sprintf(s.lang.function, word(s.r))}}
	return s.closed(append(lines, s.block(level+1, 3)...), level)
}

func newSweep(seed uint64) *sweep {
	s := &sweep{r: rand.New(rand.NewPCG(seed, 13))}
	s.lang = languages[s.r.IntN(len(languages))]
	s.unit = []string{"    ", "  ", "\t"}[s.r.IntN(3)]
	base := s.r.IntN(2)
	if base == 1 {
		s.file = append(s.file, source{0, strings.Replace(fmt.Sprintf(s.lang.function, "Outer"), "def", "class", 1)})
	}
	for range 1 + s.r.IntN(4) {
		s.file = append(s.file, s.functionLines(base)...)
		if s.r.IntN(2) == 0 {
			s.file = append(s.file, source{0, ""})
		}
	}
	if base == 1 {
		s.file = s.closed(s.file, 0)
	}
	s.change()
	return s
}

// simple reports whether line i is a statement that no block belongs to.
func (s *sweep) simple(i int) bool {
	return i >= 0 && i < len(s.file) && s.file[i].text != "" && !s.opener(i) && s.file[i].text != s.lang.close
}

func (s *sweep) opener(i int) bool {
	if s.file[i].text == "" {
		return false
	}
	for j := i + 1; j < len(s.file); j++ {
		if s.file[j].text != "" {
			return s.file[j].level > s.file[i].level
		}
	}
	return false
}

// change picks the window and what becomes of it.
func (s *sweep) change() {
	at := s.r.IntN(len(s.file))
	for !s.simple(at) && !(s.opener(at) && s.r.IntN(3) == 0) {
		at = s.r.IntN(len(s.file))
	}
	line := s.file[at]
	until := at + 1 // the lines that change are [at, until)
	var now []source
	s.kind = []string{"modify", "modify", "insert", "insert", "block", "delete", "wrap", "unwrap", "replace", "rewrite", "function"}[s.r.IntN(11)]
	if s.opener(at) && s.kind != "unwrap" && s.kind != "insert" && s.kind != "block" {
		s.kind = "modify"
	}
	switch s.kind {
	case "modify":
		now = []source{{line.level, s.modified(line.text)}}
		for s.r.IntN(3) == 0 && s.simple(until) {
			now = append(now, source{s.file[until].level, s.modified(s.file[until].text)})
			until++
		}
	case "insert":
		now = append([]source{line}, s.inserted(at)...)
	case "block":
		level := line.level
		if s.opener(at) {
			level++
		}
		now = append([]source{line, {level, s.lang.open(s.r)}}, s.block(level+1, 1)...)
		now = s.closed(now, level)
	case "delete":
		for s.r.IntN(2) == 0 && s.simple(until) {
			until++
		}
	case "wrap":
		for s.r.IntN(2) == 0 && s.simple(until) && s.file[until].level == line.level {
			until++
		}
		now = []source{{line.level, s.lang.open(s.r)}}
		for _, l := range s.file[at:until] {
			now = append(now, source{l.level + 1, l.text})
		}
		now = s.closed(now, line.level)
	case "unwrap":
		now, until = s.unwrapped(at)
	case "replace", "rewrite":
		for s.kind == "rewrite" && s.r.IntN(2) == 0 && s.simple(until) {
			until++
		}
		for range 1 + s.r.IntN(3) {
			now = append(now, source{line.level, s.statement() + " + " + s.statement()})
		}
	case "function":
		now = append([]source{line, {0, ""}}, s.functionLines(s.file[s.parent(at)].level)...)
	}
	s.fresh = len(now) > until-at
	s.widen(at, until, now)
}

func (s *sweep) parent(at int) int {
	for i := at; i > 0; i-- {
		if s.file[i].text != "" && s.file[i].level < s.file[at].level {
			return i
		}
	}
	return 0
}

func (s *sweep) modified(text string) string {
	if i := strings.LastIndexAny(text, ":{)"); i >= 0 {
		return text[:i] + "y" + text[i:]
	}
	return text + "y"
}

// inserted gives lines that can stand below line at.
func (s *sweep) inserted(at int) []source {
	level := s.file[at].level
	switch next := at + 1; {
	case s.opener(at):
		level++
	case s.r.IntN(3) == 0 && next < len(s.file) && s.simple(next):
		level = s.file[next].level
	}
	lines := []source{{level, s.statement() + "  # new"}}
	if s.r.IntN(3) == 0 {
		lines = append(lines, source{level, s.statement() + "  # newer"})
	}
	return lines
}

// unwrapped takes off an opening line, if that is what line at is.
func (s *sweep) unwrapped(at int) (now []source, until int) {
	until = at + 1
	if !s.opener(at) || s.file[at].level == 0 {
		return nil, until
	}
	level := s.file[at].level
	for until < len(s.file) && (s.file[until].text == "" || s.file[until].level > level) {
		now = append(now, source{max(0, s.file[until].level-1), s.file[until].text})
		until++
	}
	if s.lang.close != "" {
		until++
	}
	return now, until
}

// widen adds the lines around the change that the edit quotes.
func (s *sweep) widen(at, until int, now []source) {
	above, below := s.r.IntN(4), s.r.IntN(4)
	s.from, s.to = max(0, at-above), min(len(s.file), until+below)
	for s.from < at && s.file[s.from].text == "" {
		s.from++
	}
	for s.to > until && s.file[s.to-1].text == "" {
		s.to--
	}
	s.now = slices.Concat(s.file[s.from:at], now, s.file[until:s.to])
}

func (s *sweep) rendered(lines []source) []string {
	var out []string
	for _, l := range lines {
		if l.text == "" {
			out = append(out, "")
			continue
		}
		out = append(out, strings.Repeat(s.unit, l.level)+l.text)
	}
	return out
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// damage is what happens to the indentation of a block.
type damage struct {
	name string
	// do gives the search and the replacement as they are sent.
	do func(s *sweep, old, new []string) ([]string, []string)
}

func indentation(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

func eachLine(lines []string, do func(indent, text string) string) []string {
	out := slices.Clone(lines)
	for i, line := range out {
		if line != "" {
			indent := indentation(line)
			out[i] = do(indent, line[len(indent):])
		}
	}
	return out
}

func both(do func(indent, text string) string) func(*sweep, []string, []string) ([]string, []string) {
	return func(_ *sweep, old, new []string) ([]string, []string) { return eachLine(old, do), eachLine(new, do) }
}

func shallowest(lines ...string) int {
	least := 1 << 30
	for _, line := range lines {
		if line != "" {
			least = min(least, len(indentation(line)))
		}
	}
	return least
}

func dedented(lines []string, by int) []string {
	return eachLine(lines, func(indent, text string) string { return indent[min(by, len(indent)):] + text })
}

func firstLost(lines []string) []string {
	out := slices.Clone(lines)
	for i, line := range out {
		if line != "" {
			out[i] = strings.TrimLeft(line, " \t")
			break
		}
	}
	return out
}

func inUnit(unit string) func(*sweep, []string, []string) ([]string, []string) {
	return func(s *sweep, old, new []string) ([]string, []string) {
		return both(func(indent, text string) string { return strings.ReplaceAll(indent, s.unit, unit) + text })(s, old, new)
	}
}

func damages() []damage {
	together := func(_ *sweep, old, new []string) ([]string, []string) {
		by := shallowest(slices.Concat(old, new)...)
		return dedented(old, by), dedented(new, by)
	}
	apart := func(_ *sweep, old, new []string) ([]string, []string) {
		return dedented(old, shallowest(old...)), dedented(new, shallowest(new...))
	}
	first := func(_ *sweep, old, new []string) ([]string, []string) { return firstLost(old), firstLost(new) }
	return []damage{
		{"stripped", together},
		{"stripped apart", apart},
		{"first line lost", first},
		{"first line of the search lost", func(_ *sweep, old, new []string) ([]string, []string) { return firstLost(old), new }},
		{"doubled", both(func(indent, text string) string { return indent + indent + text })},
		{"in tabs", inUnit("\t")},
		{"in four spaces", inUnit("    ")},
		{"in two spaces", inUnit("  ")},
		{"stripped, in tabs", func(s *sweep, old, new []string) ([]string, []string) {
			old, new = together(s, old, new)
			return inUnit("\t")(s, old, new)
		}},
		{"stripped, in four spaces", func(s *sweep, old, new []string) ([]string, []string) {
			old, new = together(s, old, new)
			return inUnit("    ")(s, old, new)
		}},
		{"one level more", func(s *sweep, old, new []string) ([]string, []string) {
			return both(func(indent, text string) string { return s.unit + indent + text })(s, old, new)
		}},
		{"flattened", both(func(_, text string) string { return text })},
		{"search flattened", func(_ *sweep, old, new []string) ([]string, []string) {
			return eachLine(old, func(_, text string) string { return text }), new
		}},
	}
}

// bodyLine is a line of a diff.
type bodyLine struct {
	mark byte
	old  int // its place in the search, for ' ' and '-'
	new  int // in the replacement, for ' ' and '+'
}

// body pairs the undamaged lines, as who wrote the diff did.
func body(old, new []string) []bodyLine {
	var lines []bodyLine
	i, j := 0, 0
	keep := func(upTo int) {
		for ; i < upTo; i, j = i+1, j+1 {
			lines = append(lines, bodyLine{' ', i, j})
		}
	}
	for _, h := range edit.Hunks(text(old), text(new)) {
		start := h[0] - 1
		if h[1] == 0 {
			start++
		}
		keep(start)
		for range h[1] {
			lines = append(lines, bodyLine{'-', i, -1})
			i++
		}
		for range h[3] {
			lines = append(lines, bodyLine{'+', -1, j})
			j++
		}
	}
	keep(len(old))
	return lines
}
