package edit_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// patch wraps lines in the patch envelope.
func patch(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
}

func parsePatch(t *testing.T, text string) *edit.Patch {
	t.Helper()
	return check.Value(edit.ParsePatch(text))(t)
}

func TestParsePatch(t *testing.T) {
	got := parsePatch(t, patch(
		"*** Add File: hello world.txt", "+Hello", "+",
		"*** Update File: src/app.py", "*** Move to: src/main.py", "@@ class A", "@@ \tdef greet():", " x", "-y", "+z", "", "*** End of File",
		"",
		"*** Delete File: obsolete.txt",
	))
	want := []edit.Section{
		{Op: change.Created, Path: "hello world.txt", Content: []string{"Hello", ""}, Line: 2},
		{Op: change.Moved, Path: "src/app.py", To: "src/main.py", Line: 5, Hunks: []edit.PatchHunk{{
			Anchors: []string{"class A", "\tdef greet():"}, EndOfFile: true, Line: 7,
			Lines: []edit.PatchLine{{' ', "x"}, {'-', "y"}, {'+', "z"}},
		}}},
		{Op: change.Deleted, Path: "obsolete.txt", Line: 15},
	}
	check.That(t, reflect.DeepEqual(got.Sections, want), "got  %+v\nwant %+v", got.Sections, want)
}

func TestParsePatchLeniency(t *testing.T) {
	plain := patch("*** Update File: a", "@@", "-x", "+y")
	want := withoutLines(parsePatch(t, plain))
	for name, text := range map[string]string{
		"blank lines around": "\n\n" + plain + "\n \n",
		"heredoc":            "<<'EOF'\n" + plain + "EOF\n",
		"command":            "apply_patch <<PATCH\n" + plain + "PATCH",
		"fence":              "```patch\n" + plain + "```",
		"heredoc in a fence": "```sh\napply_patch <<\"EOF\"\n" + plain + "EOF\n```\n",
		"spaces":             strings.ReplaceAll(strings.ReplaceAll(plain, "Patch\n", "Patch  \n"), "File: a", "File:   a "),
		"CRLF":               strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR on some lines":   strings.ReplaceAll(plain, "x\n", "x\r\n"),
		"no @@":              strings.ReplaceAll(plain, "@@\n", ""),
	} {
		got := withoutLines(parsePatch(t, text))
		check.That(t, reflect.DeepEqual(got, want), "%s: got %+v, want %+v", name, got, want)
	}
}

func TestMalformedPatches(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		reason     string
	}{
		{"empty", "", 0, "empty"},
		{"no begin", "*** Update File: a\n-x\n", 1, "Begin Patch"},
		{"cut off", "*** Begin Patch\n*** Delete File: a\n", 2, "cut off"},
		{"nothing in it", patch(""), 0, "no section"},
		{"unknown section", patch("*** Rename File: a"), 2, "not a section"},
		{"no path", patch("*** Add File: "), 2, "no path"},
		{"no new path", patch("*** Update File: a", "*** Move to:"), 3, "no path"},
		{"added line without plus", patch("*** Add File: a", "+x", "y"), 4, "begin with +"},
		{"blank line among added ones", patch("*** Add File: a", "+x", "", "+y"), 4, "begin with +"},
		{"update without hunk", patch("*** Update File: a"), 3, "changes nothing"},
		{"hunk without lines", patch("*** Update File: a", "@@ x"), 3, "no lines"},
		{"hunk line without mark", patch("*** Update File: a", " x", "y"), 4, `this one is "y"`},
		{"text behind a deletion", patch("*** Delete File: a", "-x"), 3, "not a section"},
		{"end of file alone", patch("*** Update File: a", "*** End of File"), 3, "outside a hunk"},
		{"two envelopes", patch("*** Delete File: a", "*** End Patch", "*** Begin Patch", "*** Delete File: b"), 3, "not a section"},
	} {
		_, err := edit.ParsePatch(c.text)
		malformed(t, c.name, err, c.line, c.reason)
	}
}

func TestApplySection(t *testing.T) {
	two := "class A:\n    def f(self):\n        x = 1\n\nclass B:\n    def f(self):\n        x = 1\n"
	for _, c := range []struct {
		name, original string
		hunks          []string
		want           string
		note           string
	}{
		{name: "replace", original: "a\nb\nc\n", hunks: []string{" a", "-b", "+B", " c"}, want: "a\nB\nc\n"},
		{name: "in order", original: "a\nx\nb\nx\n", hunks: []string{"@@", " a", "-x", "+1", "@@", "-x", "+2"}, want: "a\n1\nb\n2\n"},
		{name: "anchor", original: two, hunks: []string{"@@ class B:", "-        x = 1", "+        x = 2"}, want: "class A:\n    def f(self):\n        x = 1\n\nclass B:\n    def f(self):\n        x = 2\n"},
		{name: "right below the anchor", original: "A\nx\nx\n", hunks: []string{"@@ A", "-x", "+y"}, want: "A\ny\nx\n"},
		{name: "in the block of the anchor", original: "def a():\n    1\n    x\ndef b():\n    x\n", hunks: []string{"@@ def a():", "-    x", "+    y"}, want: "def a():\n    1\n    y\ndef b():\n    x\n"},
		{name: "once below the anchor", original: "x\ndef a():\n    1\ndef b():\n    x\n", hunks: []string{"@@ def a():", "-    x", "+    y"}, want: "x\ndef a():\n    1\ndef b():\n    y\n"},
		{name: "two anchors", original: two, hunks: []string{"@@ class B:", "@@ def f(self):", "-        x = 1", "+        x = 2"}, want: "class A:\n    def f(self):\n        x = 1\n\nclass B:\n    def f(self):\n        x = 2\n"},
		{name: "anchor repeated as context", original: "A\nx\n", hunks: []string{"@@ A", " A", "-x", "+y"}, want: "A\ny\n"},
		{name: "anchor by its beginning", original: "x\nclass B(object):\nx\n", hunks: []string{"@@ class B", "-x", "+y"}, want: "x\nclass B(object):\ny\n"},
		{name: "anchor closed by @@", original: "x\ndef f():\nx\n", hunks: []string{"@@ def f(): @@", "-x", "+y"}, want: "x\ndef f():\ny\n"},
		{name: "repeated anchor, one place", original: "A\nA\nx\n", hunks: []string{"@@ A", "-x", "+y"}, want: "A\nA\ny\n"},
		{name: "numbers for an anchor", original: "x\na\nb\nc\nx\n", hunks: []string{"@@ -5,1 +5,1 @@ f()", "-x", "+y"}, want: "x\na\nb\nc\ny\n"},
		{name: "end of file", original: "x\ny\nx\n", hunks: []string{"-x", "+z", "*** End of File"}, want: "x\ny\nz\n"},
		{name: "insert at the end", original: "a\n", hunks: []string{"+b"}, want: "a\nb\n", note: "end of the file"},
		{name: "insert into an empty file", original: "", hunks: []string{"+b"}, want: "b\n", note: "end of the file"},
		{name: "insert below an anchor", original: "a\nb\n", hunks: []string{"@@ a", "+x"}, want: "a\nx\nb\n", note: "below line 1"},
		{name: "trailing whitespace", original: "a  \nb\n", hunks: []string{" a", "-b", "+c"}, want: "a  \nc\n", note: "trailing whitespace"},
		{name: "indentation", original: "\ta\n\tb\n", hunks: []string{" a", "-b", "+c"}, want: "\ta\n\tc\n", note: "indentation"},
		{name: "punctuation", original: "a — “b”\nx\n", hunks: []string{" a - \"b\"", "-x", "+y"}, want: "a — “b”\ny\n", note: "typographic"},
		{name: "trailing before leading whitespace", original: " a\na \n", hunks: []string{"-a", "+b"}, want: " a\nb\n", note: "trailing"},
		{name: "CRLF", original: "a\r\nb\r\n", hunks: []string{" a", "-b", "+c", "+d"}, want: "a\r\nc\r\nd\r\n"},
		{name: "no final newline", original: "a\nb", hunks: []string{" a", "-b", "+c"}, want: "a\nc"},
		{name: "blank line behind the last hunk", original: "a\nb", hunks: []string{"-b", "+c", ""}, want: "a\nc"},
		{name: "blank context line", original: "a\n\nb\n", hunks: []string{" a", "", "-b", "+c"}, want: "a\n\nc\n"},
		{name: "out of order", original: "a\nb\n", hunks: []string{"@@", "-b", "+B", "@@", "-a", "+A"}, want: "A\nB\n", note: "above"},
		{name: "a quoted marker", original: "*** End of File\nx\n", hunks: []string{" *** End of File", "-x", "+y"}, want: "*** End of File\ny\n"},
		{name: "numbered lines", original: "a\nb\n", hunks: []string{" 1 | a", "-2 | b", "+2 | c"}, want: "a\nc\n", note: "line numbers"},
	} {
		s := parsePatch(t, patch(append([]string{"*** Update File: f"}, c.hunks...)...)).Sections[0]
		got, err := s.Apply(c.original, edit.Options{})
		applied(t, c.name, got, err, c.want, c.note)
	}
}

func TestApplySectionRefusals(t *testing.T) {
	for _, c := range []struct {
		name, original string
		hunks          []string
		err            error
		text           string
	}{
		{"ambiguous", "x\na\nx\n", []string{"-x", "+y"}, edit.ErrAmbiguous, "lines 1, 3"},
		{"ambiguous anchor", "A\nx\nA\nx\n", []string{"@@ A", "-x", "+y"}, edit.ErrAmbiguous, "lines 2, 4"},
		{"only in two later functions", "def a():\n    1\ndef b():\n    x\ndef c():\n    x\n", []string{"@@ def a():", "-    x", "+    y"}, edit.ErrAmbiguous, "lines 4, 6"},
		{"twice in the block of the anchor", "def a():\n    1\n    x\n    2\n    x\n", []string{"@@ def a():", "-    x", "+    y"}, edit.ErrAmbiguous, "lines 3, 5"},
		{"inner anchor only in two later blocks", "class A:\n  1\nclass B:\n  def f:\n    x\nclass C:\n  def f:\n    x\n", []string{"@@ class A:", "@@ def f:", "-    x", "+    y"}, edit.ErrAmbiguous, "lines 5, 8"},
		{"ambiguous insertion", "A\nA\n", []string{"@@ A", "+y"}, edit.ErrAmbiguous, "lines 1, 2"},
		{"no anchor", "a\n", []string{"@@ class X", "-a", "+b"}, edit.ErrNoMatch, `no line "class X"`},
		{"inner anchor above the outer", "f\nA\nx\n", []string{"@@ A", "@@ f", "-x", "+b"}, edit.ErrNoMatch, `no line "f"`},
		{"above the anchor", "x\nA\n", []string{"@@ A", "-x", "+b"}, edit.ErrNoMatch, "below its @@ line"},
		{"not at the end", "x\ny\n", []string{"-x", "+b", "*** End of File"}, edit.ErrNoMatch, "End of File"},
		{"not there", "alpha\nbeta\n", []string{" alpha", "-betta", "+b"}, edit.ErrNoMatch, "1 | alpha"},
		{"used twice", "a\n", []string{"@@", "-a", "+b", "@@", "-a", "+c"}, edit.ErrOverlap, "Join"},
	} {
		s := parsePatch(t, patch(append([]string{"*** Update File: dir/f"}, c.hunks...)...)).Sections[0]
		got, err := s.Apply(c.original, edit.Options{})
		refused(t, c.name, got, err, c.err, c.text, "dir/f")
	}
}

func TestSectionsWithoutHunks(t *testing.T) {
	p := parsePatch(t, patch("*** Add File: a", "+x", "+y", "*** Add File: empty", "*** Delete File: b", "*** Update File: c", "*** Move to: d"))
	for i, want := range []string{"x\ny\n", "", "", "old"} {
		check.Equal(t, check.Value(p.Sections[i].Apply("old", edit.Options{}))(t).Text, want, "section %d", i)
	}
}

// Sections on one file compose: each works on what the one before left.
func TestSectionsCompose(t *testing.T) {
	p := parsePatch(t, patch("*** Update File: f", "-a", "+b", "*** Update File: f", "-b", "+c"))
	text := "a\n"
	for _, s := range p.Sections {
		text = check.Value(s.Apply(text, edit.Options{}))(t).Text
	}
	check.Equal(t, text, "c\n")
}
