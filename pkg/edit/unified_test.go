package edit_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

func TestUnified(t *testing.T) {
	abc := "a\nb\nc\nd\ne\nf\n"
	head := "--- a/f\n+++ b/f\n"
	runDiffCases(t, []diffCase{
		{name: "plain", original: abc, diff: head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", want: "a\nB\nc\nd\ne\nf\n"},
		{name: "no file header", original: abc, diff: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", want: "a\nB\nc\nd\ne\nf\n"},
		{name: "section text", original: abc, diff: "@@ -2 +2 @@ func x() {\n-b\n+B\n", want: "a\nB\nc\nd\ne\nf\n"},
		{name: "two hunks", original: abc, diff: "@@ -1 +0,0 @@\n-a\n@@ -6,0 +6 @@\n+g\n", want: "b\nc\nd\ne\nf\ng\n"},
		{name: "insertion at the top", original: abc, diff: "@@ -0,0 +1 @@\n+x\n@@ -2 +3 @@\n-b\n+B\n", want: "x\na\nB\nc\nd\ne\nf\n"},
		{name: "only an insertion at the top", original: abc, diff: "@@ -0,0 +1 @@\n+x\n", want: "x\n" + abc},
		{name: "into an empty file", original: "", diff: "@@ -0,0 +1,2 @@\n+x\n+y\n", want: "x\ny\n"},
		{name: "git header", original: abc, want: "B\nb\nc\nd\ne\nf\n",
			diff: "diff --git a/f b/f\nindex 123..456 100644\n" + head + "@@ -1 +1 @@\n-a\n+B\n"},
		{name: "mailed", original: abc, want: "B\nb\nc\nd\ne\nf\n",
			diff: "From: x\nSubject: rename the first\n\n---\n f | 2 +-\n\ndiff --git a/f b/f\n" + head + "@@ -1 +1 @@\n-a\n+B\n-- \n2.39.2\n\n"},
		{name: "wrong counts", original: abc, diff: "@@ -1,9 +1,7 @@\n a\n-b\n+B\n c\n", want: "a\nB\nc\nd\ne\nf\n", note: "counts"},
		{name: "counts too small", original: abc, diff: "@@ -1 +1 @@\n a\n-b\n+B\n c\n@@ -5,1 +5,1 @@\n-e\n", want: "a\nB\nc\nd\nf\n", note: "counts"},
		{name: "no numbers", original: abc, diff: "@@\n b\n-c\n+C\n@@ ... @@\n-e\n", want: "a\nb\nC\nd\nf\n"},
		{name: "drift", original: "0\n0\n0\n" + abc, diff: "@@ -2,2 +2,2 @@\n b\n-c\n+C\n", want: "0\n0\n0\na\nb\nC\nd\ne\nf\n", note: "found at line 5, not at line 2"},
		{name: "line numbers out of order", original: abc, diff: "@@ -5 +5 @@\n-e\n+E\n@@ -1 +1 @@\n-a\n+A\n", want: "A\nb\nc\nd\nE\nf\n"},
		{name: "fence", original: abc, diff: "\n```diff\n" + head + "@@ -2 +2 @@\n-b\n+B\n```\n", want: "a\nB\nc\nd\ne\nf\n", note: "code fence"},
		{name: "fence in prose", original: abc, diff: "Some text...\n\n```diff\n" + head + "@@ ... @@\n-b\n+B\n```\n\nThat is it.\n", want: "a\nB\nc\nd\ne\nf\n", note: "code fence"},
		{name: "fence and wrong counts", original: abc, diff: "```\n@@ -2,4 +2 @@\n-b\n+B\n```\n", want: "a\nB\nc\nd\ne\nf\n", note: "counts"},
		{name: "context without its space", original: "a\n\nb\n", diff: "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", want: "a\n\nc\n"},
		{name: "blank lines behind", original: abc, diff: "@@ -2,3 +2,3 @@\n-b\n+B\n\n\n\n", want: "a\nB\nc\nd\ne\nf\n", note: "blank lines"},
		{name: "blank lines behind wrong counts", original: abc, diff: "@@ -2,9 +2,9 @@\n-b\n+B\n\n", want: "a\nB\nc\nd\ne\nf\n", note: "counts"},
		{name: "numbers that are none", original: abc, diff: "@@ -x,1 +1 @@\n-b\n+B\n", want: "a\nB\nc\nd\ne\nf\n"},
		{name: "removal of what looks like a header", original: "-- x\n++ y\nz\n", diff: "@@ -1,3 +1,2 @@\n--- x\n+++ z\n-++ y\n z\n", want: "++ z\nz\n"},
		{name: "line number too large", original: abc, diff: "@@ -99999999999999999999,1 +1,1 @@\n-b\n+B\n", want: "a\nB\nc\nd\ne\nf\n", note: "found at line 2"},
		{name: "other indentation", original: "\tif x {\n\t\ty()\n\t}\n", diff: "@@ -1,3 +1,4 @@\n if x {\n     y()\n+    z()\n }\n",
			want: "\tif x {\n\t\ty()\n\t\tz()\n\t}\n", note: "whitespace"},
		{name: "entities", original: "a < b\n", diff: "@@ -1 +1 @@\n-a &lt; b\n+a &gt; b\n", want: "a > b\n", note: "HTML entities"},
		{name: "block markers as content", original: "<<<<<<< SEARCH\nx\n", diff: "@@ -1,2 +1,2 @@\n <<<<<<< SEARCH\n-x\n+y\n", want: "<<<<<<< SEARCH\ny\n"},
	})
}

func TestUnifiedLineEndings(t *testing.T) {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	noNewline := "\\ No newline at end of file\n"
	runDiffCases(t, []diffCase{
		{name: "LF diff, CRLF file", original: "a\r\nb\r\n", diff: "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n", want: "a\r\nB\r\nc\r\n"},
		{name: "LF insertion, CRLF file", original: "a\r\nb\r\n", diff: "@@ -1,0 +2 @@\n+x\n", want: "a\r\nx\r\nb\r\n"},
		{name: "CRLF diff, LF file", original: "a\nb\n", diff: crlf("@@ -1,2 +1,2 @@\n a\n-b\n+B\n"), want: "a\nB\n", note: "CRLF"},
		{name: "git's diff of a CRLF file", original: "a\r\nb\r\n", diff: "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", want: "a\r\nB\r\n"},
		{name: "endings changed on purpose", original: "a\r\nb\r\n", diff: "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n", want: "a\r\nb\n"},
		{name: "last newline of the diff lost", original: "a\r\nb\r\n", diff: "@@ -1,2 +1,3 @@\n a\r\n b\r\n+c", want: "a\r\nb\r\nc\r\n"},
		{name: "missing final newline kept", original: "a\nb", diff: "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", want: "a\nB"},
		{name: "final newline removed", original: "a\nb\n", diff: "@@ -2 +2 @@\n-b\n+B\n" + noNewline, want: "a\nB"},
		{name: "final newline added", original: "a\nb", diff: "@@ -2 +2 @@\n-b\n" + noNewline + "+b\n", want: "a\nb\n"},
		{name: "final newline added to CRLF", original: "a\r\nb", diff: "@@ -1,2 +1,2 @@\n a\n-b\n" + noNewline + "+B\n", want: "a\r\nB\r\n"},
		{name: "final newline removed from CRLF", original: "a\r\nb\r\n", diff: "@@ -1,2 +1,2 @@\n a\n-b\n+B\n" + noNewline, want: "a\r\nB"},
		{name: "no newline in the middle", original: "a\nb\nc\n", diff: "@@ -1 +1 @@\n-a\n+A\n" + noNewline, want: "A\nb\nc\n"},
	})
}

func TestUnifiedRefusals(t *testing.T) {
	head := "--- a/f\n+++ b/f\n"
	hunk := "@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct {
		name, original, diff string
		err                  error
		text                 string
	}{
		{"several files", "a\n", head + hunk + "--- a/g\n+++ b/g\n" + hunk, edit.ErrSyntax, "apply_patch"},
		{"several files of git", "a\n", "diff --git a/f b/f\n" + head + hunk + "diff --git a/g b/g\n" + hunk, edit.ErrSyntax, "apply_patch"},
		{"rename", "a\n", "diff --git a/f b/g\nrename from f\nrename to g\n" + hunk, edit.ErrSyntax, "Move to"},
		{"mode", "a\n", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" + hunk, edit.ErrSyntax, "mode"},
		{"new file", "", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", edit.ErrSyntax, "write_to_file"},
		{"deleted file", "a\n", head[:8] + "+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", edit.ErrSyntax, "apply_patch"},
		{"binary", "a\n", "Binary files a/f and b/f differ\n@@\n-a\n", edit.ErrSyntax, "binary"},
		{"not a hunk line", "a\n", "@@ -1,2 +1,2 @@\n-a\n+b\nfoo\n", edit.ErrSyntax, "begins with a space"},
		{"empty hunk", "a\n", "@@ -1 +1 @@\n", edit.ErrSyntax, "no lines"},
		{"insertion without a place", "a\n", "@@\n+b\n", edit.ErrNoMatch, "Add context"},
		{"insertion with wrong counts", "a\nb\n", "@@ -1,2 +1,3 @@\n+b\n", edit.ErrNoMatch, "Add context"},
		{"insertion behind the end", "a\n", "@@ -9,0 +10 @@\n+b\n", edit.ErrNoMatch, "has 1 lines"},
		{"ambiguous without numbers", "a\nb\na\n", "@@\n-a\n+c\n", edit.ErrAmbiguous, "lines 1, 3"},
		{"equally far", "a\nb\na\n", "@@ -2 +2 @@\n-a\n+c\n", edit.ErrAmbiguous, "none of them line 2"},
		{"nearer to one", "a\nb\nc\na\n", "@@ -3 +3 @@\n-a\n+c\n", edit.ErrAmbiguous, "lines 1, 4"},
		{"not there", "a\nb\n", "@@ -1 +1 @@\n-q\n+c\n", edit.ErrNoMatch, "not in the file"},
		{"overlap", "a\nb\nc\n", "@@ -1,2 +1,2 @@\n-a\n-b\n+x\n+y\n@@ -2,2 +2,2 @@\n-b\n-c\n+q\n+r\n", edit.ErrOverlap, "Join"},
	} {
		got, err := edit.ApplyDiff(c.original, c.diff, edit.Options{})
		refused(t, c.name, got, err, c.err, c.text)
	}
}
