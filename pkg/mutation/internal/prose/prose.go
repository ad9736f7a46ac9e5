// Package prose judges changes of Markdown and plain text.
//
// Text is its own meaning, so that only white space that the format ignores may change: line endings, the end of the
// file, white space at the end of lines, and in Markdown the number of blank lines between paragraphs. In Markdown,
// code, front matter, raw HTML and quotations that hold code keep every character, and so do the two spaces at the end
// of a line that break it.
package prose

import (
	"context"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// Text is a verdict.Judge for plain text.
func Text(_ context.Context, files []verdict.File, _ verdict.Limits) verdict.Verdict {
	return judge(files, func(lines []line) []line {
		for i := range lines {
			lines[i].text = strings.TrimRight(lines[i].text, " \t")
		}
		return lines
	})
}

// Markdown is a verdict.Judge for CommonMark and its dialects.
func Markdown(_ context.Context, files []verdict.File, _ verdict.Limits) verdict.Verdict {
	return judge(files, plain)
}

type line struct {
	number int
	text   string
}

func judge(files []verdict.File, normal func([]line) []line) verdict.Verdict {
	for _, f := range files {
		if v, unpaired := f.Unpaired("what links to"); unpaired {
			return v
		}
		before, after := normal(split(f.Before)), normal(split(f.After))
		for i := range max(len(before), len(after)) {
			switch {
			case i >= len(after):
				return verdict.Unprovenf(f.Path, 0, "text was removed at the end")
			case i >= len(before):
				return verdict.Unprovenf(f.Path, after[i].number, "text was added at the end")
			case before[i].text != after[i].text:
				return verdict.Unprovenf(f.Path, after[i].number, "%s", change(before[i].text, after[i].text))
			}
		}
	}
	return verdict.Verdict{Evidence: verdict.Proven}
}

func change(before, after string) string {
	if strings.TrimSpace(before) == strings.TrimSpace(after) {
		return "white space changed where it means something"
	}
	return "the text changed"
}

// split gives the lines without their endings, and without the empty ones at the end.
func split(content []byte) (lines []line) {
	for i, text := range strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n") {
		lines = append(lines, line{i + 1, text})
	}
	for len(lines) > 0 && strings.Trim(lines[len(lines)-1].text, " \t") == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

var (
	fence = lazy.Regexp("^([ ]{0,3}|[ ]*)(`{3,}|~{3,})")
	// opaque lines hold what is not followed here: raw HTML, code in
	// quotations or directly behind the mark of a list.
	opaque = lazy.Regexp("^[ \t]*<|^[ \t]*(>|[-+*]|[0-9]+[.)]).*(```|~~~)")
)

// codeFence is what closes the code that a place stands in, "" outside of any.
type codeFence string

// pass goes on by a line, and tells whether it belongs to code or is a fence of it.
func (f *codeFence) pass(text string) bool {
	closing := string(*f)
	if closing == "" {
		m := fence().FindStringSubmatch(text)
		if m != nil {
			*f = codeFence(m[2])
		}
		return m != nil
	}
	if strings.HasPrefix(strings.TrimLeft(text, " "), closing) && strings.Trim(text, " \t"+closing[:1]) == "" {
		*f = ""
	}
	return true
}

// plain drops the white space that Markdown ignores.
func plain(lines []line) (kept []line) {
	var all, code codeFence
	isFrontMatter := len(lines) > 0 && (lines[0].text == "---" || lines[0].text == "+++")
	for _, l := range lines {
		all.pass(l.text)
	}
	if all != "" || isFrontMatter || slices.ContainsFunc(lines, func(l line) bool { return opaque().MatchString(l.text) }) {
		return lines
	}
	near := nearCode(lines)
	for i, l := range lines {
		switch {
		case code.pass(l.text):
		case isBlank(l.text):
			if !near[i] {
				if i > 0 && isBlank(lines[i-1].text) {
					continue
				}
				l.text = ""
			}
		case !isIndented(l.text):
			l.text = ended(l.text)
		}
		kept = append(kept, l)
	}
	return kept
}

func isBlank(text string) bool { return strings.Trim(text, " \t") == "" }

// isIndented lines may be code, or belong to a list.
func isIndented(text string) bool {
	return strings.HasPrefix(text, "  ") || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, " \t")
}

// nearCode marks the blank lines where the next line with text, on either side, could be code.
func nearCode(lines []line) []bool {
	near := make([]bool, len(lines))
	indented := false
	for i, l := range lines {
		if !isBlank(l.text) {
			indented = isIndented(l.text)
		}
		near[i] = indented
	}
	indented = false
	for i, l := range slices.Backward(lines) {
		if !isBlank(l.text) {
			indented = isIndented(l.text)
		}
		near[i] = near[i] || indented
	}
	return near
}

// ended drops one space at the end of a line. Two break the line, and within a code span even one counts.
func ended(text string) string {
	if strings.HasSuffix(text, " ") && !strings.HasSuffix(text, "  ") && !strings.HasSuffix(text, "\t ") && strings.Count(text, "`")%2 == 0 {
		return text[:len(text)-1]
	}
	return text
}
