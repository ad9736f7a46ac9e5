package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// reindenter finds the indentation that the new lines of a placement have in
// the file, where the search matched apart from whitespace.
//
// What the author of the block did to its indentation is not known. So every
// reading that explains how the lines of the search came to differ from those
// of the file is worked out, and only a result on which they agree, or which
// alone fits the blocks of the file, is taken.
type reindenter struct {
	*corpus
	p    placement
	runs []run
	kept []int // by new line: the old line that has its text, -1 for none
	base []indents
	at   []int // by old line: its position in base, -1 for a blank line
	top  int   // the first new line that is not blank
}

// indents is the indentation of one line of the search, and of the line of the
// file that it matched.
type indents struct{ search, file string }

// rule carries an indentation of the block over to the file; ok is false where
// it gives none.
type rule func(indent string) (file string, ok bool)

// indent gives the lines of p as they are to stand in the file. The error says
// why that is not certain.
func (c *corpus) indent(p placement) ([]string, error) {
	if p.how == Exact || p.how == Inserted || len(p.new) == 0 {
		return p.new, nil
	}
	in := newReindenter(c, p)
	if doubt := in.otherTwin(); doubt != nil {
		return nil, doubt
	}
	if doubt := in.baresBlock(); doubt != nil {
		return nil, doubt
	}
	lines := make([]string, len(p.new))
	for j, line := range p.new {
		if lines[j] = line; in.same(j) {
			lines[j] = in.file(in.kept[j])
		}
	}
	if !slices.ContainsFunc(in.news(), func(j int) bool { return !in.same(j) }) {
		return lines, nil
	}
	found, err := in.choose()
	if err != nil {
		return nil, err
	}
	for _, j := range in.news() {
		if !in.same(j) {
			lines[j] = found[j] + in.body(j)
		}
	}
	return lines, nil
}

func newReindenter(c *corpus, p placement) *reindenter {
	in := &reindenter{corpus: c, p: p, runs: p.runs(), at: make([]int, len(p.old)), top: -1}
	for i, line := range p.old {
		if in.at[i] = -1; !isBlank(line) && !isBlank(in.file(i)) {
			in.at[i] = len(in.base)
			in.base = append(in.base, indents{indentOf(line), indentOf(in.file(i))})
		}
	}
	in.kept = keptLines(p.old, p.new, in.runs)
	if news := in.news(); len(news) > 0 {
		in.top = news[0]
	}
	return in
}

// file is the line of the file that line i of the search matched.
func (in *reindenter) file(i int) string { return in.text[in.p.start+i] }

// same reports whether new line j is a line of the search, indentation included.
func (in *reindenter) same(j int) bool {
	return in.kept[j] >= 0 && in.p.new[j] == in.p.old[in.kept[j]]
}

// body is new line j without indentation, in the file's own text if it has it.
func (in *reindenter) body(j int) string {
	line := in.p.new[j]
	if in.kept[j] >= 0 {
		line = in.file(in.kept[j])
	}
	return line[len(indentOf(line)):]
}

// news lists the new lines that have an indentation.
func (in *reindenter) news() []int {
	var list []int
	for j, line := range in.p.new {
		if !isBlank(line) {
			list = append(list, j)
		}
	}
	return list
}

// choose gives the indentation of each new line.
func (in *reindenter) choose() ([]string, error) {
	wrong := func(b indents) bool { return b.search != b.file }
	if !slices.ContainsFunc(in.base, wrong) || in.lostMarks() {
		return in.through(literally)
	}
	readings, certain := in.readings()
	o := in.outline()
	switch {
	case len(readings) == 0 && in.searchFlat():
		return nil, in.doubt("its lines all have the same one there, while the new ones have several")
	case len(readings) == 0:
		return in.lineByLine()
	case len(readings) == 1 && in.flat() && in.hidesBlocks(readings[0]):
		return nil, in.doubt("its lines, which all have the same one, do not tell which of the new ones is inside which")
	case len(readings) == 1 && certain:
		return readings[0], nil
	}
	var fitting [][]string
	for _, r := range readings {
		if o.regular && o.fits(in.rendered(r)) {
			fitting = append(fitting, r)
		}
	}
	switch {
	case len(fitting) == 1 && in.keeps(fitting[0]):
		return fitting[0], nil
	case len(readings) == 1:
		return in.lineByLine()
	}
	a, b := readings[0], readings[1]
	j := in.news()[0]
	for a[j] == b[j] {
		j++
	}
	return nil, in.doubt("the new line %q could stand at %s or at %s", shorten(strings.TrimSpace(in.p.new[j]), 80), width(a[j]), width(b[j]))
}

// readings lists the results of all that can have happened to the indentation
// of the block. certain is set if the lines of the search leave no doubt what it
// was.
func (in *reindenter) readings() (list [][]string, certain bool) {
	known := func(found []string) bool {
		return slices.ContainsFunc(list, func(l []string) bool { return slices.Equal(l, found) })
	}
	add := func(found []string, err error) {
		if err == nil && in.keeps(found) && !known(found) {
			list = append(list, found)
		}
	}
	first, top := in.base[0], indentOf(in.p.new[in.top])
	// Only the search is wrong.
	if top == first.file && in.keptRight() {
		add(in.through(literally))
	}
	// The whole block was moved, or written in other units.
	whole, settled := in.rules(in.base)
	for _, r := range whole {
		add(in.through(r))
	}
	certain = len(list) > 0
	if top == first.file && top != first.search {
		add(in.through(literally))
	}
	// Only the first line of both parts lost its indentation.
	if first.search == "" && first.file != "" && top == "" && !in.flat() && !settled {
		others := in.base[1:]
		switch {
		case !slices.ContainsFunc(others, func(b indents) bool { return b.search != b.file }):
			certain = certain || len(others) > 0
			in.withFirst(literally, add)
		case len(whole) == 0 && !in.searchFlat():
			rest, _ := in.rules(others)
			for _, r := range rest {
				in.withFirst(r, add)
			}
		}
	}
	// Search and replacement were moved apart: the replacement stands where the
	// search stood.
	if in.touchesEdge() && (top != first.search || len(whole) == 0 && !in.allFlat()) {
		place := first.file
		if i := in.kept[in.top]; i >= 0 {
			place = indentOf(in.file(i))
		}
		alone, _ := in.rules([]indents{{top, place}})
		for _, r := range alone {
			found, err := in.through(r)
			add(found, err)
			if err == nil && top != first.search && !known(found) {
				list = append(list, found) // no answer, but it shows the doubt
			}
		}
	}
	return list, certain
}

// keptRight reports whether all lines that the replacement keeps have the
// file's indentation in it, where those of the search have not.
func (in *reindenter) keptRight() bool {
	differ := indentOf(in.p.new[in.top]) != in.base[0].search
	for _, j := range in.news() {
		if i := in.kept[j]; i >= 0 {
			indent := indentOf(in.p.new[j])
			if indent != indentOf(in.file(i)) {
				return false
			}
			differ = differ || indent != indentOf(in.p.old[i])
		}
	}
	return differ
}

// touchesEdge reports whether both parts of the block have a line without
// indentation, as texts have whose common indentation was taken off.
func (in *reindenter) touchesEdge() bool {
	return slices.ContainsFunc(in.base, func(b indents) bool { return b.search == "" }) &&
		slices.ContainsFunc(in.news(), func(j int) bool { return indentOf(in.p.new[j]) == "" })
}

func literally(indent string) (string, bool) { return indent, true }

// through gives the indentation of every new line by a rule.
func (in *reindenter) through(r rule) ([]string, error) {
	found := make([]string, len(in.p.new))
	for _, j := range in.news() {
		file, ok := r(indentOf(in.p.new[j]))
		if !ok {
			return nil, errNoRule
		}
		found[j] = file
	}
	return found, nil
}

// withFirst is through, but for the first line, whose indentation is lost: it
// stands where the first line of the search does, or where its own text did.
func (in *reindenter) withFirst(r rule, add func([]string, error)) {
	found, err := in.through(r)
	if err != nil {
		return
	}
	places := []string{in.base[0].file}
	if i := in.kept[in.top]; i >= 0 {
		places = append(places, indentOf(in.file(i)))
	}
	for _, place := range places {
		found = slices.Clone(found)
		found[in.top] = place
		add(found, nil)
	}
}

// keeps reports whether a reading leaves the lines alone that search and
// replacement share.
func (in *reindenter) keeps(found []string) bool {
	return !slices.ContainsFunc(in.news(), func(j int) bool { return in.same(j) && found[j] != indentOf(in.file(in.kept[j])) })
}

// rules lists what can have turned the file's indentation into that of the
// search. settled is set if lines of more than one indentation were all moved
// alike.
func (in *reindenter) rules(base []indents) (list []rule, settled bool) {
	levels := make(map[string]bool)
	for _, b := range base {
		levels[b.search] = true
	}
	shift, shifted := shiftOf(base)
	if shifted && in.sameCharacters(shift) {
		list = append(list, shift.rule())
		if len(levels) > 1 {
			return list, true
		}
	}
	for _, ratio := range in.ratios(base) {
		if r, ok := in.scaling(base, ratio); ok {
			list = append(list, r)
		}
	}
	return list, false
}

// shift is an indentation that was taken off, or put in front.
type shift indents

func shiftOf(base []indents) (s shift, ok bool) {
	for i, b := range base {
		x, y := b.search, b.file
		for x != "" && y != "" && x[len(x)-1] == y[len(y)-1] {
			x, y = x[:len(x)-1], y[:len(y)-1]
		}
		if x != "" && y != "" || i > 0 && s != (shift{x, y}) {
			return s, false
		}
		s = shift{x, y}
	}
	return s, true
}

func (s shift) rule() rule {
	return func(indent string) (string, bool) {
		rest, ok := strings.CutPrefix(indent, s.search)
		return s.file + rest, ok
	}
}

// sameCharacters reports whether a shift leaves no mixture of tabs and spaces
// that the file and the block do not have themselves.
func (in *reindenter) sameCharacters(s shift) bool {
	block := in.characters()
	return s.file == "" || block == "" || strings.Contains(s.file, block) || len(block) > 1
}

// characters are those of which the indentation of the block is made.
func (in *reindenter) characters() string {
	all := make([]string, 0, len(in.base)+len(in.p.new))
	for _, b := range in.base {
		all = append(all, b.search)
	}
	for _, j := range in.news() {
		all = append(all, indentOf(in.p.new[j]))
	}
	return charactersOf(all)
}

func charactersOf(indents []string) string {
	found := ""
	for _, c := range []string{"\t", " "} {
		if slices.ContainsFunc(indents, func(indent string) bool { return strings.Contains(indent, c) }) {
			found += c
		}
	}
	return found
}

// ratio says that so many characters of the search stand for so many of the
// file, which are mark.
type ratio struct {
	search, file int
	mark         string
}

// ratios lists the units that can be meant.
func (in *reindenter) ratios(base []indents) []ratio {
	files := make([]string, len(base))
	for i, b := range base {
		files[i] = b.file
	}
	mark, written := charactersOf(files), in.characters()
	if len(mark) != 1 || len(written) > 1 {
		return nil
	}
	first := base[0]
	for _, b := range base[1:] {
		s, f := len(b.search)-len(first.search), len(b.file)-len(first.file)
		if s != 0 {
			return []ratio{{s, f, mark}} // two levels tell
		}
	}
	var list []ratio
	s, f := len(first.search), len(first.file)
	if mark == written {
		if s == 2*f || f == 2*s {
			list = append(list, ratio{s, f, mark})
		}
		if step := in.step(); slices.Contains([]int{2, 3, 4, 8}, step) && mark == " " {
			list = append(list, ratio{step, in.outline().unit, mark})
		}
		return list
	}
	if s > 0 && f > 0 && (s%f == 0 || f%s == 0) {
		list = append(list, ratio{s, f, mark})
	}
	if mark == "\t" {
		return append(list, ratio{in.step(), 1, mark})
	}
	return append(list, ratio{1, in.outline().unit, mark})
}

// step is the greatest common divisor of the differences between the
// indentations of the block.
func (in *reindenter) step() int {
	step, from := 0, len(in.base[0].search)
	add := func(n int) {
		for n != 0 {
			step, n = n, step%n
		}
	}
	for _, b := range in.base {
		add(abs(len(b.search) - from))
	}
	for _, j := range in.news() {
		add(abs(len(indentOf(in.p.new[j])) - from))
	}
	return step
}

// scaling is the rule of a ratio; ok is false if the lines contradict it.
func (in *reindenter) scaling(base []indents, r ratio) (result rule, ok bool) {
	if r.search*r.file <= 0 {
		return nil, false
	}
	first, unit := base[0], max(1, in.outline().unit)
	result = func(indent string) (string, bool) {
		product := (len(indent) - len(first.search)) * r.file
		length := len(first.file) + product/r.search
		if product%r.search != 0 || length < 0 || indent != first.search && product/r.search%unit != 0 {
			return "", false
		}
		return strings.Repeat(r.mark, length), true
	}
	for _, b := range base {
		if file, fits := result(b.search); !fits || file != b.file {
			return nil, false
		}
	}
	return result, true
}

// lostMarks reports whether the context lines of a diff have lost the space in
// front of them, and so one of their indentation, while the others are right.
func (in *reindenter) lostMarks() bool {
	if _, marked := in.p.marked(); !marked {
		return false
	}
	lost, i := false, 0
	for _, mark := range in.p.marks {
		if mark == '+' {
			continue
		}
		if at := in.at[i]; at >= 0 {
			b := in.base[at]
			if mark == ' ' && b.file != b.search+" " || mark == '-' && b.file != b.search {
				return false
			}
			lost = lost || mark == ' '
		}
		i++
	}
	return lost
}

// flat reports whether all lines of the block have the same indentation, so
// that it does not tell which of them stands inside which.
func (in *reindenter) flat() bool {
	return in.allFlat() && len(in.p.new) > 1 && len(in.base)+len(in.p.new) > 2
}

func (in *reindenter) allFlat() bool {
	level := in.base[0].search
	return !slices.ContainsFunc(in.base, func(b indents) bool { return b.search != level }) &&
		!slices.ContainsFunc(in.news(), func(j int) bool { return indentOf(in.p.new[j]) != level })
}

// searchFlat reports whether the search has lost its indentation and the
// replacement has not.
func (in *reindenter) searchFlat() bool {
	first := in.base[0]
	return !in.allFlat() && slices.ContainsFunc(in.base, func(b indents) bool { return b.file != first.file }) &&
		!slices.ContainsFunc(in.base, func(b indents) bool { return b.search != first.search })
}

// hidesBlocks reports whether a new line can be inside another where the flat
// indentation of the block does not show it.
func (in *reindenter) hidesBlocks(found []string) bool {
	if o := in.outline(); !o.regular {
		return o.rises && slices.ContainsFunc(in.runs, func(r run) bool { return r.newTo-r.newFrom > r.to-r.from })
	}
	if in.appendsToBlock(found) {
		return true
	}
	news := in.news()
	for n, j := range news {
		below, fresh := in.lineFrom(in.p.stop()), !in.same(j)
		deeper := len(indentOf(below)) > len(found[j])
		if n+1 < len(news) {
			below, deeper = in.p.new[news[n+1]], false
			fresh = fresh || !in.same(news[n+1])
		}
		if fresh && opens(in.p.new[j]) >= likely && !deeper && closing(below) == no {
			return true
		}
	}
	return false
}

// appendsToBlock reports whether lines are put below the last one of a block
// that ends with its indentation: they can be inside it or behind it.
func (in *reindenter) appendsToBlock(found []string) bool {
	last := len(in.p.new) - 1
	if len(in.runs) == 0 || in.p.stop() == in.len() || in.same(last) || isBlank(in.p.new[last]) {
		return false
	}
	r, below := in.runs[len(in.runs)-1], in.text[in.p.stop()]
	return r.newTo-r.newFrom > r.to-r.from && !isBlank(below) && len(indentOf(below)) < len(found[last]) && closing(below) == no
}

// baresBlock refuses to take away the line that opens a block and to leave the
// lines in it, where the flat indentation of the block does not tell whether
// they are to move.
func (in *reindenter) baresBlock() error {
	if len(in.base) == 0 || !in.allFlat() || !slices.ContainsFunc(in.base, func(b indents) bool { return b.file != in.base[0].file }) {
		return nil
	}
	for _, r := range in.runs {
		for j := r.newFrom; j < r.newTo; j++ {
			if in.kept[j] >= 0 { // only a diff writes a line that stays as one that goes and comes
				return in.doubt("it moves the line %q, but its flat lines do not tell where to", shorten(strings.TrimSpace(in.p.new[j]), 80))
			}
		}
		opener := in.lineBefore(in.p.start + r.to)
		if r.from == r.to || isBlank(in.text[in.p.start+r.to-1]) || r.to == len(in.p.old) ||
			len(indentOf(in.lineFrom(in.p.start+r.to))) <= len(indentOf(opener)) {
			continue
		}
		if r.newFrom == r.newTo || in.outline().regular && opens(in.p.new[r.newTo-1]) == no {
			return in.doubt("it takes the line %q away, but its flat lines do not tell where those below it belong then", shorten(strings.TrimSpace(opener), 80))
		}
	}
	return nil
}

var errNoRule = errors.New("no rule gives it")

// doubt is the refusal of a block whose lines match but whose indentation does
// not carry over.
func (in *reindenter) doubt(format string, args ...any) error {
	return fmt.Errorf("the searched text is at lines %d-%d, but with other indentation, and %s. "+
		"Send the block again with the indentation that the file has, in both parts",
		in.p.start+1, in.p.stop(), fmt.Sprintf(format, args...))
}

// width names an indentation.
func width(indent string) string {
	switch tabs, spaces := strings.Count(indent, "\t"), strings.Count(indent, " "); {
	case indent == "":
		return "the left edge"
	case tabs == 0:
		return fmt.Sprintf("%d spaces", spaces)
	case spaces == 0:
		return fmt.Sprintf("%d tabs", tabs)
	}
	return fmt.Sprintf("%q", indent)
}

func abs(n int) int { return max(n, -n) }
