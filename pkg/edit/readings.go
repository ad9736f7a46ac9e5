package edit

import (
	"slices"
	"strings"
)

// readings lists the results of all that can have happened to the indentation of the block. certain is set if the lines
// of the search leave no doubt what it was.
func (in *reindenter) readings() (list [][]string, certain bool) {
	known := func(found []string) bool {
		return slices.ContainsFunc(list, func(l []string) bool { return slices.Equal(l, found) })
	}
	add := func(found []string) {
		if found != nil && in.keeps(found) && !known(found) {
			list = append(list, found)
		}
	}
	first, top := in.base[0], in.wanted(in.top)
	// Only the search is wrong.
	if top == first.file && in.keptRight() {
		add(in.through(literally))
	}
	// The whole block was moved, or written in other units.
	whole, agreed := in.rules(in.base)
	for _, r := range whole {
		add(in.through(r))
	}
	certain = len(list) > 0
	if top == first.file && top != first.search {
		add(in.through(literally))
	}
	// Only the first line of both parts lost its indentation.
	if first.search == "" && first.file != "" && top == "" && !in.flat() && !agreed {
		others := in.base[1:]
		switch {
		case !slices.ContainsFunc(others, wrong):
			certain = certain || len(others) > 0
			in.withFirst(literally, add)
		case len(whole) == 0 && !in.searchFlat():
			rest, _ := in.rules(others)
			for _, r := range rest {
				in.withFirst(r, add)
			}
		}
	}
	// Search and replacement were moved apart: the replacement stands where the search stood.
	if in.touchesEdge() && (top != first.search || len(whole) == 0 && !in.allFlat()) {
		place := first.file
		if i := in.kept[in.top]; i >= 0 {
			place = indentOf(in.file(i))
		}
		alone, _ := in.rules([]indents{{top, place}})
		for _, r := range alone {
			found := in.through(r)
			add(found)
			if found != nil && top != first.search && !known(found) {
				list = append(list, found) // no answer, but it shows the doubt
			}
		}
	}
	return list, certain
}

// keptRight reports whether all lines that the replacement keeps have the
// file's indentation in it, where those of the search have not.
func (in *reindenter) keptRight() bool {
	differ := in.wanted(in.top) != in.base[0].search
	for _, j := range in.news {
		if i := in.kept[j]; i >= 0 {
			indent := in.wanted(j)
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
	return in.written("") &&
		slices.ContainsFunc(in.news, func(j int) bool { return in.wanted(j) == "" })
}

func literally(indent string) (string, bool) { return indent, true }

// through gives the indentation of every new line by a rule, nil if it gives none of one.
func (in *reindenter) through(r rule) []string {
	found := make([]string, len(in.p.new))
	for _, j := range in.news {
		file, ok := r(in.wanted(j))
		if !ok {
			return nil
		}
		found[j] = file
	}
	return found
}

// withFirst is through, but for the first line, whose indentation is lost: it
// stands where the first line of the search does, or where its own text did.
func (in *reindenter) withFirst(r rule, add func([]string)) {
	found := in.through(r)
	if found == nil {
		return
	}
	places := []string{in.base[0].file}
	if i := in.kept[in.top]; i >= 0 {
		places = append(places, indentOf(in.file(i)))
	}
	for _, place := range places {
		found = slices.Clone(found)
		found[in.top] = place
		add(found)
	}
}

// keeps reports whether a reading leaves the lines alone that search and replacement share.
func (in *reindenter) keeps(found []string) bool {
	return !slices.ContainsFunc(in.news, func(j int) bool { return in.same(j) && found[j] != indentOf(in.file(in.kept[j])) })
}

// rules lists what can have turned the file's indentation into that of the search. agreed is set if lines of more than
// one indentation were all moved alike.
func (in *reindenter) rules(base []indents) (list []rule, agreed bool) {
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
	var all strings.Builder
	for _, b := range in.base {
		all.WriteString(b.search)
	}
	for _, j := range in.news {
		all.WriteString(in.wanted(j))
	}
	return charactersOf(all.String())
}

func charactersOf(indents string) (found string) {
	for _, c := range []string{"\t", " "} {
		if strings.Contains(indents, c) {
			found += c
		}
	}
	return found
}

// ratio says that so many characters of the search stand for so many of the file, which are mark.
type ratio struct {
	search, file int
	mark         string
}

// ratios lists the units that can be meant.
func (in *reindenter) ratios(base []indents) []ratio {
	files := ""
	for _, b := range base {
		files += b.file
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

// step is the greatest common divisor of the differences between the indentations of the block.
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
	for _, j := range in.news {
		add(abs(len(in.wanted(j)) - from))
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
