package tools_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func utf16BOM(t *testing.T, s string) string {
	t.Helper()
	return check.Value(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(s))(t)
}

func latin1(t *testing.T, s string) string {
	t.Helper()
	return check.Value(charmap.ISO8859_1.NewEncoder().String(s))(t)
}

// broken writes UTF-8 in which one byte is not.
func broken(_ *testing.T, s string) string { return strings.ReplaceAll(s, "\ufffd", "\xff") }

// No edit makes a second byte order mark, nor a first one, whether the mark
// stands in what is searched, in what is put there, or in front of the diff.
func TestOneByteOrderMark(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	b, call := patched(t, nil)
	block := "<<<<<<< SEARCH\n" + mark + "one\n=======\n" + mark + "1\n>>>>>>> REPLACE"
	for name, before := range map[string]string{"marked": mark + "one\ntwo\n", "unmarked": "one\ntwo\n", "utf16": utf16BOM(t, "one\ntwo\n")} {
		after := strings.Replace(before, "one", "1", 1)
		if name == "utf16" {
			after = utf16BOM(t, "1\ntwo\n")
		}
		for i, edit := range []func(){
			func() { b.ok("edit_file", args{"path": name, "old_string": "one", "new_string": mark + "1"}) },
			func() { b.ok("edit_file", args{"path": name, "old_string": mark + "one", "new_string": mark + "1"}) },
			func() { b.ok("edit_file", args{"path": name, "old_string": mark + "one", "new_string": "1"}) },
			func() { b.ok("apply_diff", args{"path": name, "diff": block}) },
			func() { b.ok("apply_diff", args{"path": name, "diff": mark + strings.ReplaceAll(block, mark, "")}) },
			func() { b.ok("apply_diff", args{"path": name, "diff": "@@ -1,1 +1,1 @@\n-one\n+" + mark + "1\n"}) },
			func() { b.ok("apply_patch", call("*** Update File: "+name, "@@", "-"+mark+"one", "+"+mark+"1")) },
		} {
			check.Write(t, b.dir, name, before)
			b.ok("read_file", args{"path": name})
			edit()
			check.Equal(t, b.read(name), after, "%s, edit %d", name, i)
		}
	}
}

// A UTF-8 file with broken bytes keeps each of them, also in a line that is
// changed, and what is added is UTF-8. Where it is not clear which is which, nothing is changed.
func TestBrokenBytesStay(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"f": "été \xff a\nb\n\xfe c\n"})
	if r := b.ok("read_file", args{"path": "f"}); r.Object["broken_bytes"] != 2.0 || !strings.Contains(r.Text, "1 | été \ufffd a") {
		t.Errorf("%s", r.Text)
	}
	b.ok("edit_file", args{"path": "f", "old_string": "b", "new_string": "€"})
	b.holds(map[string]string{"f": "été \xff a\n€\n\xfe c\n"})
	b.ok("edit_file", args{"path": "f", "old_string": "été \ufffd a", "new_string": "été \ufffd 1"})
	b.ok("apply_diff", args{"path": "f", "diff": "<<<<<<< SEARCH\n€\n\ufffd c\n=======\nß\n\ufffd d\n>>>>>>> REPLACE"})
	b.holds(map[string]string{"f": "été \xff 1\nß\n\xfe d\n"})
	b.refused("INVALID_ARGUMENTS", "edit_file", args{"path": "f", "old_string": "ß", "new_string": "\ufffd"})
	b.ok("read_file", args{"path": "f"})
	b.ok("write_to_file", args{"path": "f", "content": "new\nété \ufffd 1\n\ufffd e\n"})
	b.holds(map[string]string{"f": "new\nété \xff 1\n\xfe e\n"})
	b.ok("apply_patch", call("*** Update File: f", "*** Move to: g", "@@", "-new", "+ne€w"))
	b.holds(map[string]string{"g": "ne€w\nété \xff 1\n\xfe e\n"})
	b.ok("edit_file", args{"path": "g", "old_string": "\ufffd e\n", "new_string": ""})
	b.holds(map[string]string{"g": "ne€w\nété \xff 1\n"})
	if r := b.ok("search_files", args{"regex": "été"}); !strings.Contains(r.Text, "été \ufffd 1") {
		t.Errorf("%s", r.Text)
	}
}

// Every editing tool keeps encoding, byte order mark, line endings line by
// line and the missing final newline; read_file shows text, never mojibake.
func TestEditsKeepWhatTheAuthorChose(t *testing.T) {
	t.Parallel()
	plain := func(_ *testing.T, s string) string { return s }
	marked := func(_ *testing.T, s string) string { return "\ufeff" + s }
	forms := map[string]struct {
		encode           func(*testing.T, string) string
		text, want       string
		encoding, ending string
	}{
		"utf-8":            {plain, "één\ntwo\nend\n", "één\n2\nend\n", "utf-8", "lf"},
		"utf-8 BOM":        {marked, "één\ntwo\nend\n", "één\n2\nend\n", "utf-8", "lf"},
		"utf-16 BOM":       {utf16BOM, "één\r\ntwo\r\nend\r\n", "één\r\n2\r\nend\r\n", "utf-16le", "crlf"},
		"broken utf-8":     {broken, "één \ufffd\ntwo\nend\n", "één \ufffd\n2\nend\n", "utf-8", "lf"},
		"latin-1":          {latin1, "één\ntwo\nend\n", "één\n2\nend\n", "latin-1", "lf"},
		"crlf":             {plain, "one\r\ntwo\r\nend\r\n", "one\r\n2\r\nend\r\n", "utf-8", "crlf"},
		"mixed":            {plain, "one\ntwo\r\nend\n", "one\n2\r\nend\n", "utf-8", "mixed"},
		"no final newline": {plain, "one\ntwo", "one\n2", "utf-8", "lf"},
	}
	edits := map[string]func(path string) (string, args){
		"apply_diff": func(path string) (string, args) {
			return "apply_diff", args{"path": path, "diff": "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE"}
		},
		"unified diff": func(path string) (string, args) {
			return "apply_diff", args{"path": path, "diff": "@@ -2,1 +2,1 @@\n-two\n+2\n"}
		},
		"edit_file": func(path string) (string, args) {
			return "edit_file", args{"path": path, "old_string": "two", "new_string": "2"}
		},
		"apply_patch": func(path string) (string, args) {
			return "apply_patch", args{"patch": patch("*** Update File: "+path, "@@", "-two", "+2")}
		},
	}
	b, _ := patched(t, nil)
	for form, c := range forms {
		for edit, call := range edits {
			t.Run(form+"/"+edit, func(t *testing.T) {
				name := strings.ReplaceAll(form+"-"+edit, " ", "-")
				check.Write(t, b.dir, name, c.encode(t, c.text))
				r := b.ok("read_file", args{"path": name})
				if r.str("content") != c.text || r.str("encoding") != c.encoding || r.str("line_ending") != c.ending {
					t.Errorf("read: %q %s %s", r.str("content"), r.str("encoding"), r.str("line_ending"))
				}
				tool, arguments := call(name)
				b.ok(tool, arguments)
				b.holds(map[string]string{name: c.encode(t, c.want)})
			})
		}
	}
}

// write_to_file changes nothing in the content given, and encodes it as the existing file is encoded.
func TestWholeFileWritesAreLiteral(t *testing.T) {
	t.Parallel()
	contents := []string{"```go\nfenced\n```", "a &lt; b &amp; c\n", "1 | numbered\r\nmixed\n", "no final newline", "\ttab \n\n\n", "", "<<<<<<< SEARCH\n"}
	b, _ := patched(t, map[string]string{"u16": utf16BOM(t, "x\n"), "l1": latin1(t, "é\n"), "bom": "\ufeffx\n"})
	for _, content := range contents {
		b.ok("write_to_file", args{"path": "plain", "content": content})
		check.Equal(t, b.read("plain"), content, "wrote")
	}
	for _, name := range []string{"u16", "l1", "bom"} {
		b.ok("read_file", args{"path": name})
	}
	b.ok("write_to_file", args{"path": "u16", "content": "naïve €\r\n"})
	b.ok("write_to_file", args{"path": "l1", "content": "naïve\n"})
	b.ok("write_to_file", args{"path": "bom", "content": "y\n"})
	b.holds(map[string]string{"u16": utf16BOM(t, "naïve €\r\n"), "l1": latin1(t, "naïve\n"), "bom": "\ufeffy\n"})
	b.ok("write_to_file", args{"path": "bom", "content": "\ufeffmarked by hand\n"})
	b.holds(map[string]string{"bom": "\ufeffmarked by hand\n"})
	b.ok("write_to_file", args{"path": "plain", "content": "\ufeffmarked now\n"})
	b.holds(map[string]string{"plain": "\ufeffmarked now\n"})

	r := b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "l1", "content": "no € here\n"})
	check.That(t, strings.Contains(r.str("error"), "€"), "the refusal does not name the character: %s", r.Text)
	b.holds(map[string]string{"l1": latin1(t, "naïve\n")})
}

// Files at the edges: empty, without lines, with a line over the budget.
func TestReadEdges(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"empty": "", "newline": "\n", "three": "1\n2\n3", "long": "short\n" + strings.Repeat("é", 200_000) + "\nend\n"})
	for _, c := range []struct {
		args              args
		content           string
		start, end, total float64
		truncated         bool
	}{
		{args{"path": "empty"}, "", 0, 0, 0, false},
		{args{"path": "empty", "offset": 1}, "", 0, 0, 0, false},
		{args{"path": "newline"}, "\n", 1, 1, 1, false},
		{args{"path": "three"}, "1\n2\n3", 1, 3, 3, false},
		{args{"path": "three", "offset": 3}, "3", 3, 3, 3, true},
		{args{"path": "three", "offset": 2, "limit": 1}, "2\n", 2, 2, 3, true},
		{args{"path": "three", "limit": 9_000_000_000_000_000}, "1\n2\n3", 1, 3, 3, false},
		{args{"path": "long"}, "short\n", 1, 1, 3, true},
		{args{"path": "long", "offset": 3}, "end\n", 3, 3, 3, true},
	} {
		r := b.ok("read_file", c.args)
		o := r.Object
		if o["content"] != c.content || o["start_line"] != c.start || o["end_line"] != c.end || o["total_lines"] != c.total || o["truncated"] != c.truncated {
			t.Errorf("%v: %v", c.args, o)
		}
		for _, line := range strings.Split(strings.TrimSuffix(c.content, "\n"), "\n") {
			check.That(t, strings.Contains(r.Text, line), "%v: the text lacks %q", c.args, line)
		}
	}
	cut := b.ok("read_file", args{"path": "long", "offset": 2})
	if c := cut.str("numbered"); len(c) > 1<<19 || !strings.HasPrefix(c, "2 | éé") || strings.Contains(c, "\ufffd") || !strings.Contains(cut.Text, "is cut") {
		t.Errorf("a long line: %d bytes", len(c))
	}
	b.refused("INVALID_ARGUMENTS", "read_file", args{"path": "three", "offset": 4})
	b.refused("INVALID_ARGUMENTS", "read_file", args{"path": "empty", "offset": 2})
	b.refused("INVALID_ARGUMENTS", "read_file", args{"path": "three", "offset": 0})
	b.refused("INVALID_ARGUMENTS", "read_file", args{"path": "three", "limit": -1})

	// A file without lines is seen as soon as it is read.
	b.ok("write_to_file", args{"path": "empty", "content": "x"})
}

// Images come as images; other binaries are named as such.
func TestBinariesAreNoMojibake(t *testing.T) {
	t.Parallel()
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
	b, _ := patched(t, map[string]string{"a.png": png, "a.o": "\x7fELF\x00\x00\x01\xff"})
	r := b.ok("read_file", args{"path": "a.png"})
	if r.str("encoding") != "binary" || r.str("mime_type") != "image/png" || !bytes.Equal(r.Image, []byte(png)) {
		t.Errorf("image: %v %q", r.Object, r.Image)
	}
	check.Equal(t, r.str("content_hash"), string(workspace.HashOf([]byte(png))), "no hash of the image")
	r = b.ok("read_file", args{"path": "a.o"})
	check.That(t, r.str("content") == "" && r.Image == nil && !strings.Contains(r.Text, "ELF"), "binary: %v", r.Object)
}
