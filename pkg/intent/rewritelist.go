package intent

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// list gives a list other entries, in its style. Entries that stay keep their text.
func (w *rewrite) list(key, list, value *yaml.Node) error {
	var was, want []string
	for _, item := range list.Content {
		if !isText(deref(item)) {
			return layoutError(item, "an entry that is no text")
		}
		was = append(was, deref(item).Value)
	}
	for _, item := range value.Content {
		want = append(want, item.Value)
	}
	l := listRewrite{rewrite: w, items: list.Content, was: was, want: want, at: places(was, want), becomes: slices.Repeat([]int{-1}, len(was))}
	for i, at := range l.at {
		if at >= 0 {
			l.becomes[at] = i
		}
	}
	for _, item := range list.Content {
		at, ok := w.source.nodeSpan(item)
		if !ok {
			return layoutError(item, "an entry of "+key.Value)
		}
		l.values, l.starts = append(l.values, at), append(l.starts, w.source.offset(item))
	}
	if list.Style&yaml.FlowStyle != 0 {
		return l.flow(list)
	}
	return l.block(key, list)
}

// places tells of each wanted entry which of the old ones it is, -1 for one that is new. As many entries as before, of which
// those that stay keep their places, are the old ones with other texts.
func places(was, want []string) []int {
	at, used, last, moved := make([]int, len(want)), make([]bool, len(was)), -1, false
	find := func(text string, from, to int) int {
		for i := from; i < to; i++ {
			if !used[i] && was[i] == text {
				return i
			}
		}
		return -1
	}
	for i, text := range want {
		if at[i] = find(text, last+1, len(was)); at[i] < 0 {
			at[i] = find(text, 0, last+1)
		}
		if at[i] >= 0 {
			used[at[i]], last, moved = true, at[i], moved || at[i] != i
		}
	}
	if len(was) != len(want) || moved {
		return at
	}
	for i := range want {
		at[i] = i
	}
	return at
}

// listRewrite is a rewrite of one list.
type listRewrite struct {
	*rewrite
	items     []*yaml.Node // the old entries
	was, want []string
	at        []int  // of each wanted entry, which of the old ones it is; -1 for a new one
	becomes   []int  // of each old entry, which of the wanted ones it is; -1 for one that goes
	values    []span // of the old entries
	starts    []int  // of the old entries with their anchors and tags
}

func (l *listRewrite) kept(i int) bool { return l.becomes[i] >= 0 }

// entry is what the lines of an entry of a block list say, from the end of the line before to the end of the last.
type entry struct{ above, text string }

// block writes the lines of the list anew. An entry takes along the lines above it; those above an entry that goes stay.
func (l *listRewrite) block(key, list *yaml.Node) error {
	src := l.source
	entries, indent, region, err := l.blockEntries(list)
	if err != nil {
		return err
	}
	left := ""
	for i := range entries {
		if l.kept(i) {
			entries[i].above, left = left+entries[i].above, ""
		} else {
			left += entries[i].above
		}
	}
	var out strings.Builder
	for i, text := range l.want {
		if at := l.at[i]; at >= 0 {
			out.WriteString(entries[at].above + entries[at].text)
		} else {
			out.WriteString(src.eol + strings.Repeat(" ", indent) + "- " + quote(text))
		}
	}
	if len(l.want) == 0 {
		end, ok := src.fieldEnd(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"})
		if !ok {
			return layoutError(key, key.Value)
		}
		for at := src.skipSpace(end); at < region.start && (src.data[at] == '&' || src.data[at] == '!'); at = src.skipSpace(end) {
			end = src.wordEnd(at)
		}
		l.splices = append(l.splices, splice{end, end, " []"})
	}
	l.splices = append(l.splices, splice{region.start, region.end, out.String() + left})
	return nil
}

func (l *listRewrite) blockEntries(list *yaml.Node) (entries []entry, indent int, region span, err error) {
	src := l.source
	behind := 0 // the line behind the entry before
	for i, item := range list.Content {
		from := item.Line - 1
		for from > behind && !strings.HasPrefix(strings.TrimLeft(src.line(from), " "), "-") {
			from--
		}
		to := src.lineAt(l.values[i].end)
		if from == 0 || from < behind || !strings.HasPrefix(strings.TrimLeft(src.line(from), " "), "-") {
			return nil, 0, region, layoutError(item, "an entry that does not begin its line")
		}
		before := src.lineEnd(src.lines[from-1])
		if i == 0 {
			indent, region.start, behind = indentOf(src.line(from)), before, from
		}
		end := src.lineEnd(src.lines[to])
		entries = append(entries, entry{
			above: string(src.data[src.lineEnd(src.lines[behind-1]):before]),
			text:  l.entryText(i, before, end),
		})
		behind, region.end = to+1, end
	}
	return entries, indent, region, nil
}

// entryText is the text from one offset to another around an old entry, with the new text where that has another.
func (l *listRewrite) entryText(i, start, end int) string {
	data, value := l.source.data, l.values[i]
	to := l.becomes[i]
	if to < 0 || l.want[to] == l.was[i] {
		return string(data[start:end])
	}
	text := string(data[start:value.start]) + quote(l.want[to])
	if isBlockScalar(l.items[i]) { // a comment can stand behind its indicators
		header := l.source.blockHeader(value.start)
		text += string(data[header:l.source.lineEnd(header)])
	}
	return text + string(data[value.end:end])
}

// flow puts new entries behind those that they follow, and cuts out what goes.
func (l *listRewrite) flow(list *yaml.Node) error {
	open := l.source.behindProperties(l.source.offset(list))
	end := l.source.flowEnd(list, open)
	if end == 0 {
		return layoutError(list, "a list whose end is not found")
	}
	commas, comments := l.commas()
	if !slices.IsSorted(slices.DeleteFunc(slices.Clone(l.at), func(at int) bool { return at < 0 })) {
		if comments {
			return layoutError(list, "another order of a list with comments")
		}
		l.reorder()
		return nil
	}
	l.insert(open)
	cut := cutting{source: l.source, from: open + 1, gone: make([]bool, end-1-(open+1))}
	last := -1 // of those that stay
	for i := range l.was {
		if l.kept(i) {
			last = i
			continue
		}
		cut.out(l.starts[i], l.values[i].end)
		cut.comma(commas[i])
	}
	if n := len(l.was) - 1; last >= 0 && last < n && commas[n] < 0 {
		cut.comma(commas[last])
	}
	l.splices = append(l.splices, cut.splices()...)
	return nil
}

// commas finds the one behind each entry, -1 where there is none, and whether there is a comment before one.
func (l *listRewrite) commas() (commas []int, comments bool) {
	for i, value := range l.values {
		at, comment := l.source.skipComments(value.end)
		comments = comments || comment
		if at == len(l.source.data) || l.source.data[at] != ',' {
			commas = append(commas, -1)
			continue
		}
		commas = append(commas, at)
		if i+1 < len(l.starts) {
			_, comment = l.source.skipComments(at + 1)
			comments = comments || comment
		}
	}
	return commas, comments
}

// reorder writes all entries anew, on one line.
func (l *listRewrite) reorder() {
	var texts []string
	for i, text := range l.want {
		if at := l.at[i]; at >= 0 {
			texts = append(texts, l.entryText(at, l.starts[at], l.values[at].end))
		} else {
			texts = append(texts, quote(text))
		}
	}
	l.splices = append(l.splices, splice{l.starts[0], l.values[len(l.values)-1].end, strings.Join(texts, ", ")})
}

// insert adds the new entries, and puts other texts in the place of old ones.
func (l *listRewrite) insert(open int) {
	behind := -1 // the entry that stays and comes before
	var first []string
	for i, text := range l.want {
		at := l.at[i]
		switch {
		case at < 0 && behind < 0:
			first = append(first, quote(text))
		case at < 0:
			l.splices = append(l.splices, splice{l.values[behind].end, l.values[behind].end, ", " + quote(text)})
		default:
			if behind = at; l.was[at] != text {
				l.splices = append(l.splices, splice{l.values[at].start, l.values[at].end, quote(text)})
			}
		}
	}
	if len(first) == 0 {
		return
	}
	at, text := open+1, strings.Join(first, ", ")
	if behind >= 0 {
		at = l.starts[slices.Min(slices.DeleteFunc(slices.Clone(l.at), func(at int) bool { return at < 0 }))]
		text += ", "
	}
	l.splices = append(l.splices, splice{at, at, text})
}

// cutting takes parts out of the text between the brackets of a list.
type cutting struct {
	*source
	from int
	gone []bool // of each byte from there on
}

func (c *cutting) out(start, end int) {
	for at := start; at < end; at++ {
		c.gone[at-c.from] = true
	}
}

// comma takes out a comma with the blanks behind it, which a comment needs.
func (c *cutting) comma(at int) {
	if at < 0 {
		return
	}
	end := at + 1
	for end < c.from+len(c.gone) && (c.data[end] == ' ' || c.data[end] == '\t') {
		end++
	}
	if c.data[end] == '#' {
		end = at + 1
	}
	c.out(at, end)
}

// splices cut out what is gone. Where nothing but a comment is left of a line, the line goes.
func (c *cutting) splices() (all []splice) {
	for i := c.lineAt(c.from) + 1; i < len(c.lines) && c.lines[i] <= c.from+len(c.gone); i++ {
		start, end := c.lines[i-1], c.lines[i]
		if start < c.from || !slices.Contains(c.gone[start-c.from:end-c.from], true) {
			continue
		}
		rest := ""
		for at := start; at < end; at++ {
			if !c.gone[at-c.from] {
				rest += string(c.data[at : at+1])
			}
		}
		if rest = strings.TrimSpace(rest); rest == "" || rest[0] == '#' {
			c.out(start, end)
		}
	}
	for i := 0; i < len(c.gone); i++ {
		from := i
		for i < len(c.gone) && c.gone[i] {
			i++
		}
		if i > from {
			all = append(all, splice{c.from + from, c.from + i, ""})
		}
	}
	return all
}
