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
	if strings.Contains(line, `\`) {
		for i := range maxViews {
			if i > 0 && len(line) > longLine {
				break
			}
			last := all[len(all)-1]
			next := last.without(true, func(text string, i int) int {
				switch {
				case text[i] != '\\' || i+1 == len(text):
					return 0
				case text[i+1] == '\n':
					return 2
				case strings.IndexByte("\"\\$`'", text[i+1]) >= 0:
					return 1
				}
				return 0
			})
			if len(next.text) == len(last.text) {
				break
			}
			all = append(all, next)
		}
	}
	bare := all[0].without(false, func(text string, i int) int {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '\n':
			return 2
		case strings.IndexByte("\"\\'", text[i]) >= 0:
			return 1
		}
		return 0
	})
	if len(bare.text) < len(line) {
		all = append(all, bare)
	}
	return all
}

// without is the view without the bytes of which drop counts some at a place. If literal, what follows one stays, whatever
// it is.
func (v view) without(literal bool, drop func(text string, i int) int) view {
	var b strings.Builder
	at := make([]int, 0, len(v.text))
	for i := 0; i < len(v.text); i++ {
		n := drop(v.text, i)
		if i += n; n > 1 || n == 1 && !literal {
			i--
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
