package edit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, original, old, new string
		expected                 int
		all                      bool
		want, note               string
	}{
		{name: "once", original: "a b c", old: "b", new: "x", want: "a x c"},
		{name: "to nothing", original: "a b c", old: " b", new: "", want: "a c"},
		{name: "twice as expected", original: "b b", old: "b", new: "x", expected: 2, want: "x x"},
		{name: "all", original: "b b b", old: "b", new: "x", all: true, want: "x x x"},
		{name: "all of one", original: "b", old: "b", new: "x", all: true, want: "x"},
		{name: "all of what overlaps", original: "aaaa", old: "aa", new: "b", all: true, want: "bb"},
		{name: "over lines", original: "a\nb\nc\n", old: "a\nb", new: "x", want: "x\nc\n"},
		{name: "LF text in a CRLF file", original: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n", note: "line endings"},
		{name: "CRLF text in an LF file", original: "a\nb\nc\n", old: "a\r\nb", new: "x\r\ny", want: "x\ny\nc\n", note: "line endings"},
		{name: "mixed endings, line by line", original: "a\r\nb\nc\r\n", old: "a\nb\nc", new: "1\n2\n3", want: "1\r\n2\n3\r\n", note: "line endings"},
		{name: "all in a CRLF file", original: "a\r\nb\r\na\r\nb\r\n", old: "a\nb", new: "x\ny\n", all: true, want: "x\r\ny\r\n\r\nx\r\ny\r\n\r\n", note: "line endings"},
		{name: "line added to a CRLF file", original: "a\r\nb\r\n", old: "a", new: "a\nx", want: "a\r\nx\r\nb\r\n", note: "line endings"},
		{name: "line added at the end of a CRLF file", original: "a\r\nb", old: "b", new: "b\nx", want: "a\r\nb\r\nx", note: "line endings"},
		{name: "endings changed on purpose", original: "a\r\nb\r\n", old: "a\r\n", new: "a\n", want: "a\nb\r\n"},
		{name: "LF text put into CRLF lines", original: "a\r\nb\r\nc\r\n", old: "a\r\nb", new: "a\nB", want: "a\r\nB\r\nc\r\n", note: "line endings"},
		{name: "CRLF text put into LF lines", original: "a\nb\nc", old: "b\nc", new: "B\r\nC", want: "a\nB\nC", note: "line endings"},
		{name: "CRLF added to one LF line", original: "a\nb\n", old: "a", new: "a\r\nx", want: "a\nx\nb\n", note: "line endings"},
		{name: "both kinds put into LF lines", original: "a\nb\n", old: "a\nb", new: "1\r\n2\n3", want: "1\n2\n3\n", note: "line endings"},
		{name: "mixed file, a line before those that stay", original: "a\r\nb\nc\n", old: "a\r\nb\n", new: "x\na\nb\n", want: "x\r\na\r\nb\nc\n", note: "line endings"},
		{name: "mixed file, as the line above", original: "a\r\nb\nc\r\n", old: "b", new: "b\r\nx", want: "a\r\nb\nx\nc\r\n", note: "line endings"},
		{name: "mixed file, each place for itself", original: "a\r\nb\na\nb\n", old: "a", new: "a\nx", all: true, want: "a\r\nx\r\nb\na\nx\nb\n", note: "line endings"},
		{name: "a file without any line ending", original: "a", old: "a", new: "a\r\nb", want: "a\r\nb"},
		{name: "CR file", original: "a\rb\r", old: "a", new: "a\nx", want: "a\rx\rb\r", note: "line endings"},
		{name: "a byte order mark that is no part of the text", original: "a\nb\n", old: "\ufeffa", new: "\ufeffx", want: "x\nb\n", note: "byte order mark"},
		{name: "lone CR is text", original: "a\rb", old: "a\rb", new: "c", want: "c"},
	} {
		got, err := edit.Replace(c.original, c.old, c.new, c.expected, c.all)
		applied(t, c.name, got, err, c.want, c.note)
	}
}

func TestReplaceRefusals(t *testing.T) {
	for _, c := range []struct {
		name, original, old, new string
		expected                 int
		all                      bool
		err                      error
		lines                    []int
		text                     string
	}{
		{"empty", "a", "", "b", 1, false, edit.ErrEmptySearch, nil, "write_to_file"},
		{"no change", "a", "a", "a", 1, false, edit.ErrNoChange, nil, "identical"},
		{"not there", "alpha\nbeta\n", "betta", "b", 1, false, edit.ErrNoMatch, nil, "2 | beta"},
		{"not there at all", "", "betta", "b", 1, true, edit.ErrNoMatch, nil, "not in the file"},
		{"too often", "a\nb\na\n", "a", "x", 1, false, edit.ErrAmbiguous, []int{1, 3}, "lines 1, 3"},
		{"too rarely", "a\nb\n", "a", "x", 2, false, edit.ErrNoMatch, []int{1}, "2 expected"},
		{"overlaps itself", "aaa", "aa", "x", 1, false, edit.ErrAmbiguous, []int{1}, "overlaps"},
		{"too often, far apart", "a\n" + strings.Repeat("b\n", 50) + "a\n", "a", "x", 1, false, edit.ErrAmbiguous, []int{1, 52}, "lines 1, 52"},
		{"too often in a CRLF file", "a\r\nb\r\na\r\nb\r\n", "a\nb", "x", 1, false, edit.ErrAmbiguous, []int{1, 3}, "lines 1, 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit.Replace(c.original, c.old, c.new, c.expected, c.all)
			refused(t, c.name, got, err, c.err, c.text)
			var r *edit.ReplaceError
			check.Must(t, errors.As(err, &r) && slices.Equal(r.Candidates, c.lines), "%v; want lines %v", err, c.lines)
			showsEach(t, r.Surroundings, c.lines)
		})
	}
}
