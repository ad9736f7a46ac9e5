package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// reindenter finds the indentation that the new lines of a placement have in
// the file, where the search matched apart from whitespace.
//
// What the author of the block did to its indentation is not known. So every reading that explains how the lines of the
// search came to differ from those of the file is worked out, and only a result on which they agree, or which alone
// fits the blocks of the file, is taken.
type reindenter struct {
	*corpus
	p    placement
	runs []lcs.Diff
	kept []int     // by new line: the old line that has its text, -1 for none
	base []indents // of the lines of the search that have an indentation
	news []int     // the new lines that have one
}

// indents is the indentation of one line of the search, and of the line of the file that it matched.
type indents struct{ search, file string }

// indent gives the lines of p as they are to stand in the file. The error says why that is not certain.
func (c *corpus) indent(p placement) ([]string, error) {
	if p.how == Exact || p.how == Inserted || len(p.new) == 0 {
		return p.new, nil
	}
	in := &reindenter{corpus: c, p: p, runs: p.runs()}
	in.kept = keptLines(p.old, p.new, in.runs)
	for i, line := range p.old {
		if !isBlank(line) && !isBlank(in.file(i)) {
			in.base = append(in.base, indents{indentOf(line), indentOf(in.file(i))})
		}
	}
	for j, line := range p.new {
		if !isBlank(line) {
			in.news = append(in.news, j)
		}
	}
	found, err := in.choose()
	if err != nil {
		return nil, err
	}
	lines := slices.Clone(p.new)
	for j := range lines {
		switch {
		case in.same(j):
			lines[j] = in.file(in.kept[j])
		case !isBlank(lines[j]):
			lines[j] = found[j] + in.body(j)
		}
	}
	return lines, nil
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

// wanted is the indentation of new line j in the block.
func (in *reindenter) wanted(j int) string { return indentOf(in.p.new[j]) }

// choose gives the indentation of each new line.
func (in *reindenter) choose() ([]string, error) {
	fresh := func(j int) bool { return !in.same(j) }
	switch {
	case !slices.ContainsFunc(in.base, wrong), in.lostMarks():
		return in.through(literally), nil
	case in.hasTwins():
		return nil, in.doubt("a line stands there more than once, so it is not certain which of them stays")
	case in.flattened() && !in.keptRight() && (len(in.news) > 1 || !slices.ContainsFunc(in.news, fresh)):
		return in.byLine()
	case !slices.ContainsFunc(in.news, fresh):
		return in.through(literally), nil
	}
	readings, certain := in.readings()
	switch {
	case len(readings) == 0:
		return in.byLine()
	case len(readings) == 1 && in.flat() && in.hidesBlocks(readings[0]):
		return nil, in.doubt("its lines, which all have the same one, do not tell which of the new ones is inside which")
	case len(readings) == 1 && certain:
		return readings[0], nil
	}
	var fitting [][]string
	for _, r := range readings {
		if in.fits(r) {
			fitting = append(fitting, r)
		}
	}
	switch {
	case len(fitting) == 1 && in.keeps(fitting[0]):
		return fitting[0], nil
	case len(readings) == 1:
		return in.byLine()
	}
	a, b := readings[0], readings[1]
	j := in.news[0]
	for a[j] == b[j] {
		j++
	}
	return nil, in.doubt("the new line %q could stand at %s or at %s", short(in.p.new[j]), width(a[j]), width(b[j]))
}

// doubt is the refusal of a block whose lines match but whose indentation does not carry over.
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
