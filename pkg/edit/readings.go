package edit

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// rule carries an indentation of the block over to the file; ok is false where it gives none.
type rule func(indent string) (file string, ok bool)

func literally(indent string) (string, bool) { return indent, true }

// wrong is true of a line of the search that has not the file's indentation.
func wrong(b indents) bool { return b.search != b.file }

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
	first, top := in.base[0], in.wanted(in.news[0])
	if top == first.file && in.keptRight() { // only the search is wrong
		add(in.through(literally))
	}
	moved, agreed := in.rules(in.base) // the whole block was moved, or written in other units
	for _, r := range moved {
		add(in.through(r))
	}
	certain = len(list) > 0
	if top == first.file && top != first.search {
		add(in.through(literally))
	}
	if first.search == "" && first.file != "" && top == "" && !in.flat() && !agreed && (in.allFlat() || !in.flattened()) {
		// Only the first line of both parts lost its indentation.
		others, rest := in.base[1:], []rule{literally}
		switch {
		case !slices.ContainsFunc(others, wrong):
			certain = certain || len(others) > 0
		case len(moved) > 0:
			rest = nil
		default:
			rest, _ = in.rules(others)
		}
		for _, r := range rest {
			in.withFirst(r, add)
		}
	}
	if in.touchesEdge() && (top != first.search || len(moved) == 0 && !in.allFlat()) {
		// Search and replacement were moved apart: the replacement stands where the search stood.
		alone, _ := in.rules([]indents{{top, in.placeOfFirst()}})
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

// placeOfFirst is where the first new line stands: where its text stood in the file, else where the search begins.
func (in *reindenter) placeOfFirst() string {
	if i := in.kept[in.news[0]]; i >= 0 {
		return indentOf(in.file(i))
	}
	return in.base[0].file
}

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
	for _, place := range []string{in.base[0].file, in.placeOfFirst()} {
		found = slices.Clone(found)
		found[in.news[0]] = place
		add(found)
	}
}

// keeps reports whether a reading leaves the lines alone that search and replacement share.
func (in *reindenter) keeps(found []string) bool {
	return !slices.ContainsFunc(in.news, func(j int) bool { return in.same(j) && found[j] != indentOf(in.file(in.kept[j])) })
}

// keptRight reports whether all lines that the replacement keeps have the
// file's indentation in it, where those of the search have not.
func (in *reindenter) keptRight() bool {
	if len(in.news) == 0 {
		return false
	}
	differ := in.wanted(in.news[0]) != in.base[0].search
	for _, j := range in.news {
		if i := in.kept[j]; i >= 0 {
			if in.wanted(j) != indentOf(in.file(i)) {
				return false
			}
			differ = differ || !in.same(j)
		}
	}
	return differ
}

// touchesEdge reports whether both parts of the block have a line without
// indentation, as texts have whose common indentation was taken off.
func (in *reindenter) touchesEdge() bool {
	written := in.written()
	return slices.Contains(written[:len(in.base)], "") && slices.Contains(written[len(in.base):], "")
}

// hasTwins reports whether a line stands in the search more than once, and with several indentations in the file.
func (in *reindenter) hasTwins() bool {
	if _, marked := in.p.marked(); marked {
		return false
	}
	places := make(map[string]string)
	for i, line := range in.p.old {
		here := indentOf(in.file(i))
		if there, twice := places[line]; twice && there != here && !isBlank(line) {
			return true
		}
		places[line] = here
	}
	return false
}

// flattened reports whether the search has lost its indentation, and so tells nothing of the file's.
func (in *reindenter) flattened() bool {
	first := in.base[0]
	return slices.ContainsFunc(in.base, func(b indents) bool { return b.file != first.file }) &&
		!slices.ContainsFunc(in.base, func(b indents) bool { return b.search != first.search })
}

// allFlat reports whether all lines of the block have the same indentation.
func (in *reindenter) allFlat() bool { return len(slices.Compact(in.written())) == 1 }

// written are the indentations of the block's lines: those of the search, then those of the replacement.
func (in *reindenter) written() (all []string) {
	for _, b := range in.base {
		all = append(all, b.search)
	}
	for _, j := range in.news {
		all = append(all, in.wanted(j))
	}
	return all
}

// flat reports whether it is so with several lines, so that the block does not tell which of them stands inside which.
func (in *reindenter) flat() bool {
	return in.allFlat() && len(in.p.new) > 1 && len(in.base)+len(in.p.new) > 2
}

// lostMarks reports whether the context lines of a diff have lost the space in
// front of them, and so one of their indentation, while the others are right.
func (in *reindenter) lostMarks() bool {
	if _, marked := in.p.marked(); !marked {
		return false
	}
	lost, i := false, -1
	for _, mark := range in.p.marks {
		if mark == '+' {
			continue
		}
		if i++; isBlank(in.p.old[i]) || isBlank(in.file(i)) {
			continue
		}
		want := indentOf(in.p.old[i])
		if mark == ' ' {
			want, lost = want+" ", true
		}
		if indentOf(in.file(i)) != want {
			return false
		}
	}
	return lost
}

// byLine gives each new line the indentation that the search lines with its own have in the file, or that of the one line
// that it replaces, where no one rule explains all of these.
func (in *reindenter) byLine() ([]string, error) {
	found := make([]string, len(in.p.new))
	for _, r := range in.runs {
		pairs := in.inPairs(r)
		if in.flattened() && !pairs {
			return nil, in.doubt("its lines all have the same one there")
		}
		for j := r.ReplStart; j < r.ReplEnd; j++ {
			if in.same(j) || isBlank(in.p.new[j]) {
				continue
			}
			file, ok := in.ofLevel(in.wanted(j))
			if !ok && !pairs {
				return nil, in.doubt("the indentation of the new line %q does not tell where it belongs", short(in.p.new[j]))
			}
			if found[j] = file; !ok {
				found[j] = indentOf(in.file(r.Start + j - r.ReplStart))
			}
		}
	}
	return found, nil
}

// ofLevel is the indentation in the file of the lines of the search that have the indentation wanted, if they agree.
func (in *reindenter) ofLevel(wanted string) (file string, ok bool) {
	for _, b := range in.base {
		if b.search != wanted {
			continue
		}
		if ok && b.file != file {
			return "", false
		}
		file, ok = b.file, true
	}
	return file, ok
}

// inPairs reports whether each new line of a run stands for one old line: it has its indentation, begins and ends a block
// where that does, and reads much like it.
func (in *reindenter) inPairs(r lcs.Diff) bool {
	if r.End-r.Start != r.ReplEnd-r.ReplStart {
		return false
	}
	for i := range r.End - r.Start {
		old, line := in.p.old[r.Start+i], in.p.new[r.ReplStart+i]
		if in.kept[r.ReplStart+i] >= 0 || indentOf(old) != indentOf(line) || closing(line) != closing(old) ||
			(opens(line) >= likely) != (opens(old) >= likely) || newPattern(loosen(old)).similarity(loosen(line)) < 0.5 {
			return false
		}
	}
	return true
}

// rules lists what can have turned the file's indentation into that of the search. agreed is set if lines of more than
// one indentation were all moved alike.
func (in *reindenter) rules(base []indents) (list []rule, agreed bool) {
	first := base[0]
	explains := func(r rule) bool {
		return !slices.ContainsFunc(base, func(b indents) bool {
			file, ok := r(b.search)
			return !ok || file != b.file
		})
	}
	// An indentation was put in front, or taken off.
	put, isPut := strings.CutSuffix(first.file, first.search)
	taken, isTaken := strings.CutSuffix(first.search, first.file)
	if isPut {
		taken = ""
	} else {
		put = ""
	}
	shift := func(indent string) (string, bool) {
		rest, ok := strings.CutPrefix(indent, taken)
		return put + rest, ok
	}
	if (isPut || isTaken) && in.mixesNothing(put) && explains(shift) {
		list = append(list, shift)
		if slices.ContainsFunc(base, func(b indents) bool { return b.search != first.search }) {
			return list, true
		}
	}
	for _, r := range in.ratios(base) {
		if scaled := in.scaling(first, r); r.search*r.file > 0 && explains(scaled) {
			list = append(list, scaled)
		}
	}
	return list, false
}

// mixesNothing reports whether an indentation in front of the block leaves no mixture of tabs and spaces that the file and
// the block do not have themselves.
func (in *reindenter) mixesNothing(put string) bool {
	block := in.characters()
	return put == "" || len(block) != 1 || strings.Contains(put, block)
}

// characters are those of which the indentation of the block is made.
func (in *reindenter) characters() string { return charactersOf(strings.Join(in.written(), "")) }

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
	s, f := len(base[0].search), len(base[0].file)
	for _, b := range base[1:] {
		if len(b.search) != s {
			return []ratio{{len(b.search) - s, len(b.file) - f, mark}} // two levels tell
		}
	}
	var list []ratio
	step, unit := in.step(), in.outline().unit
	if s > 0 && f > 0 && (s == 2*f || f == 2*s || mark != written && (s%f == 0 || f%s == 0)) {
		list = append(list, ratio{s, f, mark})
	}
	switch {
	case mark != written && mark == "\t":
		list = append(list, ratio{step, 1, mark})
	case mark != written:
		list = append(list, ratio{1, unit, mark})
	case mark == " " && slices.Contains([]int{2, 3, 4, 8}, step):
		list = append(list, ratio{step, unit, mark})
	}
	return list
}

// step is the greatest common divisor of the differences between the indentations of the block.
func (in *reindenter) step() (step int) {
	written := in.written()
	for _, indent := range written {
		for n := abs(len(indent) - len(written[0])); n != 0; {
			step, n = n, step%n
		}
	}
	return step
}

func abs(n int) int { return max(n, -n) }

// scaling is the rule of a ratio, from the first line on.
func (in *reindenter) scaling(first indents, r ratio) rule {
	unit := max(1, in.outline().unit)
	return func(indent string) (string, bool) {
		product := (len(indent) - len(first.search)) * r.file
		length := len(first.file) + product/r.search
		if product%r.search != 0 || length < 0 || indent != first.search && product/r.search%unit != 0 {
			return "", false
		}
		return strings.Repeat(r.mark, length), true
	}
}
