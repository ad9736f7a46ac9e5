package redact

import "strings"

// view is a text as a shell inside of the shell has it, or a program: without what only quotes.
type view struct {
	text string
	at   []int // where each byte stood in the line; nil: where it stands
}

func (v view) span(from, to int) span {
	if v.at == nil {
		return span{from, to}
	}
	return span{v.at[from], v.at[to-1] + 1}
}

// maxViews bounds how deep shells in shells are looked into.
const maxViews = 4

// longLine is where a line is looked into less deep, in bytes: each view costs as much as the line.
const longLine = 32 << 10

// views are the line as it stands, the line as each shell inside of it has it, and the line without any quotes.
func views(line string) []view {
	all := []view{{text: line}}
	for i := 0; i < maxViews && (i == 0 || len(line) <= longLine); i++ {
		last := all[i]
		next := last.without(true)
		if len(next.text) == len(last.text) {
			break
		}
		all = append(all, next)
	}
	if bare := all[0].without(false); len(bare.text) < len(line) {
		all = append(all, bare)
	}
	return all
}

// without is the view of a shell inside, without the backslashes that escape something, or the view without any quotes.
func (v view) without(inside bool) view {
	var b strings.Builder
	at := make([]int, 0, len(v.text))
	for i := 0; i < len(v.text); i++ {
		behind := byte(0)
		if v.text[i] == '\\' && i+1 < len(v.text) {
			behind = v.text[i+1]
		}
		switch {
		case behind == '\n':
			i++
			continue
		case inside && behind != 0 && strings.IndexByte("\"\\$`'", behind) >= 0:
			i++ // what is escaped stays, whatever it is
		case !inside && strings.IndexByte("\"\\'", v.text[i]) >= 0:
			continue
		}
		b.WriteByte(v.text[i])
		if v.at == nil {
			at = append(at, i)
		} else {
			at = append(at, v.at[i])
		}
	}
	return view{b.String(), at}
}
