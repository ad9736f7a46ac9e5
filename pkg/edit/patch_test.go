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
