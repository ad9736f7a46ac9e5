package blame_test

import (
	"slices"
	"strings"
)

// reformatted sets lines otherwise. Who wrote them does not change.
func (h *hand) reformatted(f simFile) simFile {
	switch h.rand.IntN(7) {
	case 0:
		return h.aligned(f)
	case 1:
		return mappedText(f, func(s string) string { return strings.ReplaceAll(s, "\t", "    ") })
	case 2:
		return mappedText(f, tabbed)
	case 3:
		return h.wrapped(f)
	case 4:
		from, to := h.span(f, 40)
		return slices.Concat(f[:from], indentedOnce(f[from:to]), f[to:])
	case 5:
		return mappedText(f, func(s string) string { // blanks around operators, as formatters put them
			return strings.NewReplacer("=", " = ", "(", "( ", ")", " )").Replace(strings.TrimRight(s, " "))
		})
	}
	return h.spaced(f)
}

func mappedText(f simFile, change func(string) string) simFile {
	f = slices.Clone(f)
	for i := range f {
		f[i].text = change(f[i].text)
	}
	return f
}

func indentedOnce(f simFile) simFile {
	return mappedText(f, func(s string) string {
		if s == "" {
			return s
		}
		return "\t" + s
	})
}

// tabbed has tabs for each two spaces at the beginning.
func tabbed(s string) string {
	text := strings.TrimLeft(s, " ")
	n := len(s) - len(text)
	return strings.Repeat("\t", n/2) + strings.Repeat(" ", n%2) + text
}

// aligned brings the first sign of assignment of neighbours into one column, as gofmt does with comments and fields.
func (h *hand) aligned(f simFile) simFile {
	f = slices.Clone(f)
	for _, sign := range []string{"=", ":", " //"} {
		for first := 0; first < len(f); {
			last, column := first, 0
			for ; last < len(f); last++ {
				at := strings.Index(f[last].text, sign)
				if at < 0 {
					break
				}
				column = max(column, at)
			}
			for i := first; last-first > 1 && i < last; i++ {
				at := strings.Index(f[i].text, sign)
				f[i].text = f[i].text[:at] + strings.Repeat(" ", column-at) + f[i].text[at:]
			}
			first = last + 1
		}
	}
	return f
}

// wrapped breaks some long lines behind commas.
func (h *hand) wrapped(f simFile) simFile {
	var out simFile
	for _, l := range f {
		if len(l.text) < 60 || strings.Count(l.text, ", ") == 0 || !h.chance(40) {
			out = append(out, l)
			continue
		}
		indent := l.text[:len(l.text)-len(strings.TrimLeft(l.text, " \t"))]
		for i, part := range strings.SplitAfter(l.text, ", ") {
			part = strings.TrimSuffix(part, " ")
			if i > 0 {
				part = indent + "\t" + part
			}
			out = append(out, h.own(part, l.owner))
		}
	}
	return out
}

// spaced puts blank lines between paragraphs, or takes doubled ones away.
func (h *hand) spaced(f simFile) simFile {
	var out simFile
	for i, l := range f {
		if l.text == "" && i > 0 && f[i-1].text == "" {
			continue
		}
		if l.text != "" && i > 0 && f[i-1].text != "" && h.chance(5) {
			out = append(out, h.own("", ""))
		}
		l.text = strings.TrimRight(l.text, " \t")
		out = append(out, l)
	}
	return out
}
