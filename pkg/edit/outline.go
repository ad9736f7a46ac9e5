package edit

import (
	"slices"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// outline is what the indentation of a file tells about its blocks.
type outline struct {
	mark    string // the character of its indentation
	unit    int    // how many of them one level has; 0 if unknown
	rises   bool   // there are lines deeper than the one above
	regular bool   // lines are deeper only below one that opens a block, and always there
}

// answer is how far the text of a line tells something.
type answer int

const (
	no answer = iota
	maybe
	likely
	surely
)

// The first words of lines that open a block, and of those that end one.
var (
	openers = wordSet("if elif elsif else unless for while until do loop def class module begin case when switch default function try catch rescue ensure finally then")
	closers = wordSet("end else elif elsif except catch rescue ensure finally fi done esac then case when default public private protected until")
)

func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool)
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
		return set
	})
}

// opens tells whether the lines below must be deeper.
func opens(line string) answer {
	text := strings.TrimSpace(line)
	for _, comment := range []string{" #", " //", " --"} {
		code, _, _ := strings.Cut(text, comment)
		text = strings.TrimSpace(code)
	}
	switch {
	case text == "":
		return maybe
	case strings.ContainsAny(text[len(text)-1:], "{([:"):
		return surely
	case strings.ContainsAny(text[len(text)-1:], `,=\+-*/&|<>.?`):
		return maybe
	case openers()[firstWord(text)] && !strings.HasSuffix(text, ";"):
		return likely
	}
	return no
}

// opensLevel reports whether the lines below are deeper by one level, and not as far as suits a list of arguments.
func opensLevel(line string) bool {
	return opens(line) == likely || strings.HasSuffix(line, ":") || strings.HasSuffix(line, "{")
}

// closing tells whether a line ends a block that is above it.
func closing(line string) answer {
	text := strings.TrimSpace(line)
	switch {
	case text != "" && strings.ContainsAny(text[:1], "})]"):
		return surely
	case strings.HasPrefix(text, "</"), closers()[firstWord(text)]:
		return maybe
	}
	return no
}

// firstWord is in lower case.
func firstWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_') })
	if end >= 0 {
		text = text[:end]
	}
	return strings.ToLower(text)
}

// outline reads the file once.
func (c *corpus) outline() *outline {
	if c.shape != nil {
		return c.shape
	}
	o := &outline{}
	c.shape = o
	rises, explained, opened, followed := 0, 0, 0, 0
	tabs, spaces := false, false
	units := make(map[int]int)
	above := ""
	for _, line := range c.text {
		if isBlank(line) {
			continue
		}
		indent := indentOf(line)
		tabs, spaces = tabs || strings.HasPrefix(indent, "\t"), spaces || strings.HasPrefix(indent, " ")
		rise, opening := len(indent)-len(indentOf(above)), opens(above)
		if rise > 0 {
			if rises++; opening != no {
				explained++
			}
			units[rise]++
		}
		if opening == surely && above != "" {
			if opened++; rise > 0 || closing(line) != no {
				followed++
			}
		}
		above = line
	}
	for unit, n := range units {
		if best := units[o.unit]; n > best || n == best && unit < o.unit {
			o.unit = unit
		}
	}
	if o.mark = " "; tabs {
		o.mark = "\t"
	}
	o.rises = rises > 0
	o.regular = rises > 0 && tabs != spaces && explained*10 >= rises*9 && followed*10 >= opened*9
	return o
}

// maxAbove is how many lines above a place are looked at for the blocks around it.
const maxAbove = 2000

// lineBefore is the last line with text before line i, "" for none.
func (c *corpus) lineBefore(i int) string {
	for _, line := range slices.Backward(c.text[:i]) {
		if !isBlank(line) {
			return line
		}
	}
	return ""
}

// lineFrom is the first line with text from line i on, "" for none.
func (c *corpus) lineFrom(i int) string {
	for _, line := range c.text[i:] {
		if !isBlank(line) {
			return line
		}
	}
	return ""
}

// fits reports whether the new lines, with the indentation found, are nested between those around them as those of the
// file are.
func (in *reindenter) fits(found []string) bool {
	o := in.outline()
	if !o.regular {
		return false
	}
	var levels []int // the widths of the open blocks, ascending
	for _, line := range slices.Backward(in.text[max(0, in.p.start-maxAbove):in.p.start]) {
		if width := len(indentOf(line)); !isBlank(line) && (len(levels) == 0 || width < levels[0]) {
			levels = slices.Insert(levels, 0, width)
		}
	}
	var lines []string
	for _, j := range in.news {
		lines = append(lines, found[j]+in.body(j))
	}
	if under := in.lineFrom(in.p.stop()); under != "" {
		lines = append(lines, under)
	}
	above := in.lineBefore(in.p.start)
	if above == "" { // the first line of the file stands where it stands
		above, lines = lines[0], lines[1:]
		levels = append(levels, len(indentOf(above)))
	}
	if strings.Trim(indentOf(above), o.mark) != "" {
		return false
	}
	for _, line := range lines {
		width, before := len(indentOf(line)), len(indentOf(above))
		opening, closed := opens(above), closing(line)
		switch {
		case strings.Trim(indentOf(line), o.mark) != "":
			return false
		case width > before:
			if opening == no || closed == surely || width-before != o.unit && opensLevel(above) {
				return false
			}
			levels = append(levels, width)
		case opening == surely && closed == no, width == before && opening != surely && closed == surely:
			return false
		default:
			for len(levels) > 0 && levels[len(levels)-1] > width {
				levels = levels[:len(levels)-1]
			}
			if len(levels) == 0 || levels[len(levels)-1] != width {
				return false
			}
		}
		above = line
	}
	return true
}

// hidesBlocks reports whether a new line can be inside another where the flat
// indentation of the block does not show it.
func (in *reindenter) hidesBlocks(found []string) bool {
	grows := func(r lcs.Diff) bool { return r.ReplEnd-r.ReplStart > r.End-r.Start }
	if o := in.outline(); !o.regular {
		return o.rises && slices.ContainsFunc(in.runs, grows)
	}
	under := in.lineFrom(in.p.stop())
	if last, n := len(found)-1, len(in.runs); n > 0 && grows(in.runs[n-1]) && in.p.stop() < in.len() && !in.same(last) && !isBlank(in.p.new[last]) {
		// Lines below the last one of a block that ends with its indentation can be inside it or behind it.
		if below := in.text[in.p.stop()]; !isBlank(below) && len(indentOf(below)) < len(found[last]) && closing(below) == no {
			return true
		}
	}
	for n, j := range in.news {
		below, fresh, deeper := under, !in.same(j), len(indentOf(under)) > len(found[j])
		if n+1 < len(in.news) {
			below, deeper = in.p.new[in.news[n+1]], false
			fresh = fresh || !in.same(in.news[n+1])
		}
		if fresh && opens(in.p.new[j]) >= likely && !deeper && closing(below) == no {
			return true
		}
	}
	return false
}
