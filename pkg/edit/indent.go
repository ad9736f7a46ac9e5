package edit

import "strings"

// indenter carries the indentation of a replacement, written relative to a
// search text, over to the lines of the file that the search matched.
type indenter struct {
	base   []indents         // one a non-blank line
	exact  map[string]string // search indentation to file indentation, of the first line that has it
	toTabs bool              // the search is indented by spaces, the file by tabs
	toGaps bool              // the reverse
	width  int               // spaces a tab, where one stands for the other
}

type indents struct{ search, file string }

func newIndenter(search, file []string) *indenter {
	in := &indenter{exact: make(map[string]string)}
	searchTabs, fileTabs, searchGaps, fileGaps := false, false, false, false
	for i, line := range search {
		if i >= len(file) || isBlank(line) || isBlank(file[i]) {
			continue
		}
		pair := indents{indentOf(line), indentOf(file[i])}
		in.base = append(in.base, pair)
		if _, known := in.exact[pair.search]; !known {
			in.exact[pair.search] = pair.file
		}
		searchTabs = searchTabs || strings.Contains(pair.search, "\t")
		searchGaps = searchGaps || strings.Contains(pair.search, " ")
		fileTabs = fileTabs || strings.Contains(pair.file, "\t")
		fileGaps = fileGaps || strings.Contains(pair.file, " ")
	}
	in.toTabs = fileTabs && !searchTabs && (searchGaps || !fileGaps)
	in.toGaps = fileGaps && !fileTabs && searchTabs
	in.width = in.tabWidth()
	return in
}

// tabWidth measures how many spaces of one side stand for a tab of the other.
func (in *indenter) tabWidth() int {
	for i, a := range in.base {
		for _, b := range append(in.base[i+1:len(in.base):len(in.base)], indents{}) {
			spaces, tabs := abs(len(a.search)-len(b.search)), abs(len(a.file)-len(b.file))
			if in.toGaps {
				spaces, tabs = tabs, spaces
			}
			if tabs > 0 && spaces >= tabs && spaces%tabs == 0 {
				return spaces / tabs
			}
		}
		if i == 64 {
			break // enough evidence not found: do not compare every pair of a long block
		}
	}
	return 4
}

func abs(n int) int { return max(n, -n) }

// apply gives the text of source with the indentation that line, a line of the
// replacement, has in the file. A blank line stays as written.
func (in *indenter) apply(line, source string) string {
	if isBlank(line) || len(in.base) == 0 {
		return source
	}
	return in.indent(indentOf(line)) + source[len(indentOf(source)):]
}

func (in *indenter) indent(wanted string) string {
	if file, known := in.exact[wanted]; known {
		return file
	}
	closest := indents{}
	found := false
	for _, pair := range in.base {
		if strings.HasPrefix(wanted, pair.search) && (!found || len(pair.search) > len(closest.search)) {
			closest, found = pair, true
		}
	}
	file := closest.file + in.translate(wanted[len(closest.search):])
	if !found {
		// Shallower than any line of the search: take off as much as it is less
		// than the first line.
		first := in.base[0]
		less := in.translated(max(0, len(first.search)-len(wanted)))
		file = first.file[:max(0, len(first.file)-less)]
	}
	in.exact[wanted] = file
	return file
}

// translate rewrites extra indentation in the characters of the file.
func (in *indenter) translate(extra string) string {
	switch {
	case in.toTabs:
		spaces := strings.Count(extra, " ")
		tabs := strings.Count(extra, "\t") + spaces/in.width
		return strings.Repeat("\t", tabs) + strings.Repeat(" ", spaces%in.width)
	case in.toGaps:
		return strings.ReplaceAll(extra, "\t", strings.Repeat(" ", in.width))
	}
	return extra
}

// translated is the length of translate, for an indentation that is only known
// by its length.
func (in *indenter) translated(length int) int {
	switch {
	case in.toTabs:
		return (length + in.width - 1) / in.width
	case in.toGaps:
		return length * in.width
	}
	return length
}
