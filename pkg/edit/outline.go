package edit

import (
	"slices"
	"strings"
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

// opens tells whether the lines below must be deeper.
func opens(line string) answer {
	text := strings.TrimSpace(line)
	for _, comment := range []string{" #", " //", " --"} {
		if code, _, found := strings.Cut(text, comment); found {
			text = strings.TrimSpace(code)
		}
	}
	if text == "" {
		return maybe
	}
	switch last := text[len(text)-1]; {
	case strings.IndexByte("{([:", last) >= 0:
		return surely
	case strings.IndexByte(`,=\+-*/&|<>.?`, last) >= 0:
		return maybe
	case last == ';':
		return no
	}
	switch strings.ToLower(firstWord(text)) {
	case "if", "elif", "elsif", "else", "unless", "for", "while", "until", "do", "loop", "def", "class", "module", "begin",
		"case", "when", "switch", "default", "function", "try", "catch", "rescue", "ensure", "finally", "then":
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
	case text != "" && strings.IndexByte("})]", text[0]) >= 0:
		return surely
	case strings.HasPrefix(text, "</"):
		return maybe
	}
	switch strings.ToLower(firstWord(text)) {
	case "end", "else", "elif", "elsif", "except", "catch", "rescue", "ensure", "finally", "fi", "done", "esac", "then", "case", "when", "default", "public", "private", "protected", "until":
		return maybe
	}
	return no
}

func firstWord(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_') })
	if end < 0 {
		return text
	}
	return text[:end]
}

// outline reads the file once.
func (c *corpus) outline() *outline {
	if c.shape != nil {
		return c.shape
	}
	o := &outline{}
	c.shape = o
	rises, explained, openers, followed := 0, 0, 0, 0
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
			if openers++; rise > 0 || closing(line) != no {
				followed++
			}
		}
		above = line
	}
	if o.mark = " "; tabs {
		o.mark = "\t"
	}
	for unit, n := range units {
		if best := units[o.unit]; n > best || n == best && unit < o.unit {
			o.unit = unit
		}
	}
	o.rises = rises > 0
	o.regular = rises > 0 && tabs != spaces && explained*10 >= rises*9 && followed*10 >= openers*9
	return o
}

// outlined is a run of lines that is to stand in the file. Those at its ends stand there already.
type outlined struct {
	lines     []string
	enclosing []int // the widths of the blocks around the first line, ascending
}

// maxAbove is how many lines above a place are looked at for the blocks around it.
const maxAbove = 2000

// rendered gives the new lines with the indentation found, between the lines around them.
func (in *reindenter) rendered(found []string) outlined {
	var o outlined
	for i := in.p.start - 1; i >= max(0, in.p.start-maxAbove); i-- {
		width := len(indentOf(in.text[i]))
		if isBlank(in.text[i]) || len(o.enclosing) > 0 && width >= o.enclosing[0] {
			continue
		}
		o.enclosing = slices.Insert(o.enclosing, 0, width)
		if width == 0 {
			break
		}
	}
	for _, line := range []string{in.lineBefore(in.p.start), in.lineFrom(in.p.stop())} {
		if line != "" {
			o.lines = append(o.lines, line)
		}
	}
	var lines []string
	for _, j := range in.news {
		lines = append(lines, found[j]+in.body(j))
	}
	o.lines = slices.Insert(o.lines, min(len(o.enclosing), 1), lines...)
	return o
}

// lineBefore is the last line with text before line i, "" for none.
func (c *corpus) lineBefore(i int) string {
	for i--; i >= 0; i-- {
		if !isBlank(c.text[i]) {
			return c.text[i]
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

// fits reports whether lines are nested as those of the file are.
func (o *outline) fits(part outlined) bool {
	levels := slices.Clone(part.enclosing)
	for i, line := range part.lines {
		indent := indentOf(line)
		width := len(indent)
		if strings.Trim(indent, o.mark) != "" {
			return false
		}
		if i == 0 {
			if len(part.enclosing) == 0 {
				levels = append(levels, width)
			}
			continue
		}
		above := part.lines[i-1]
		before := len(indentOf(above))
		opening, closed := opens(above), closing(line)
		switch {
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
	}
	return true
}
