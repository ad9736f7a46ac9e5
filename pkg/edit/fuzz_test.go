package edit_test

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// replay rebuilds after from before and hunks, as their contract says.
func replay(t *testing.T, before, after string, hunks [][4]int) string {
	t.Helper()
	old, new := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	var out strings.Builder
	at, end := 0, 0
	for _, h := range hunks {
		from, to := h[0]-1, h[2]-1
		if h[1] == 0 {
			from++
		}
		if h[3] == 0 {
			to++
		}
		check.Must(t, from >= at && (at <= 0 || from != at) && to-end == from-at, "hunk %v does not follow line %d / %d", h, at, end)
		check.Must(t, h[1] != 0 || h[3] != 0, "empty hunk %v", h)
		out.WriteString(strings.Join(old[at:from], ""))
		out.WriteString(strings.Join(new[to:to+h[3]], ""))
		at, end = from+h[1], to+h[3]
	}
	out.WriteString(strings.Join(old[at:], ""))
	return out.String()
}

var texts = []string{
	"", "\n", "a", "a\n", "a\nb\nc\n", "a\nb\nc", "\r\n", "a\r\nb\nc\r\n", "x\r", "x\r\r\n\r",
	"--- a\n+++ b\n@@ -1 +1 @@\n", "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n",
	"\\ No newline at end of file\n", " a\n+b\n-c\n", "a\n\n\n\nb\na\n\n\n\nb\n",
	"func a() {\n\treturn\n}\n\nfunc b() {\n\treturn\n}\n", "\x00\xff\xfe\n", "“a”\n",
}

func addPairs(f *testing.F) {
	for _, a := range texts {
		for _, b := range texts {
			f.Add(a, b, 3)
		}
	}
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nx\n3\n4\n5\n6\n7\n8\ny\n", 0)
}

func FuzzHunksReplay(f *testing.F) {
	addPairs(f)
	f.Fuzz(func(t *testing.T, before, after string, _ int) {
		hunks := edit.Hunks(before, after)
		got := replay(t, before, after, hunks)
		check.Must(t, got == after, "replay of %v gives %q, want %q", hunks, got, after)
		check.Must(t, (before == after) == (len(hunks) == 0), "%d hunks for %q and %q", len(hunks), before, after)
		for _, r := range edit.ChangedRanges(after, hunks) {
			want := edit.HashLines(edit.Lines(after)[r.StartLine-1 : r.EndLine])
			check.Must(t, r.ContentHash == want, "range %+v, want hash %s", r, want)
		}
	})
}

func FuzzUnifiedApplies(f *testing.F) {
	addPairs(f)
	f.Fuzz(func(t *testing.T, before, after string, context int) {
		// Without any context line a diff does not tell whose line endings it has.
		context = 1 + min(max(context, 0), 5)
		diff := edit.Unified("a/f", "b/f", before, after, context)
		if before == after {
			check.Must(t, diff == "", "diff of equal texts: %q", diff)
			return
		}
		got, err := edit.ApplyDiff(before, diff, edit.Options{})
		check.Must(t, err == nil, "%v\n%q\n%s", err, before, diff)
		check.Must(t, got.Text == after, "got %q, want %q by\n%s", got.Text, after, diff)
	})
}

func FuzzApplyDiff(f *testing.F) {
	for _, diff := range []string{
		"<<<<<<< SEARCH\n:start_line:2\n-------\nb\n=======\nx\n>>>>>>> REPLACE",
		"<<<<<<< SEARCH\n1 | a\n2 | b\n=======\n1 | x\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n  c  \n=======\n\td\n>>>>>>> REPLACE",
		"&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\na\n=======\nb\n&gt;&gt;&gt;&gt;&gt;&gt;&gt; REPLACE",
		"```diff\n@@ -1,9 +1 @@\n a\n-b\n+c\n```", "@@\n-b\r\n+c\r\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
	} {
		for _, text := range texts {
			f.Add(text, diff, 0.7)
		}
	}
	f.Fuzz(func(t *testing.T, original, diff string, threshold float64) {
		got, err := edit.ApplyDiff(original, diff, edit.Options{Threshold: threshold, BufferLines: 2})
		var syntax *edit.SyntaxError
		var match *edit.MatchError
		switch {
		case err == nil:
		case errors.As(err, &syntax):
			check.Must(t, syntax.Reason != "" && syntax.Line <= strings.Count(diff, "\n")+2, "syntax error %+v", syntax)
		case errors.As(err, &match):
			check.Must(t, len(match.Blocks) != 0 && got.Text == "", "match error %+v with %q", match, got.Text)
		default:
			t.Fatalf("untyped error %v", err)
		}
	})
}

func FuzzPatch(f *testing.F) {
	for _, p := range []string{
		"*** Begin Patch\n*** Add File: a b\n+x\n+\n*** Delete File: c\n*** End Patch",
		"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ class A\n@@  def b\n x\n-y\n+z\n\n*** End of File\n@@\n+q\n\n*** End Patch\n",
		"```\n<<'EOF'\r\n*** Begin Patch\r\n*** Update File: a\r\n-a\r\n+b\r\n*** End Patch\r\nEOF\r\n```",
		"*** Begin Patch\n*** Update File: a\n@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n*** End Patch",
	} {
		for _, text := range texts {
			f.Add(p, text)
		}
	}
	f.Fuzz(func(t *testing.T, text, file string) {
		p, err := edit.ParsePatch(text)
		if err != nil {
			var syntax *edit.SyntaxError
			check.Must(t, p == nil && errors.As(err, &syntax), "%v, %v", p, err)
			return
		}
		again, err := edit.ParsePatch(p.String())
		check.Must(t, err == nil, "%v in\n%s", err, p)
		check.Must(t, reflect.DeepEqual(withoutLines(p), withoutLines(again)), "%+v\nbecame\n%+v", p, again)
		for _, s := range p.Sections {
			_, err := s.Apply(file, edit.Options{Threshold: 0.8})
			var match *edit.MatchError
			check.Must(t, err == nil || errors.As(err, &match) && match.Path == s.Path, "untyped error %v", err)
		}
	})
}

// withoutLines clears the places in the patch text, which a rewriting changes.
func withoutLines(p *edit.Patch) []edit.Section {
	sections := make([]edit.Section, len(p.Sections))
	for i, s := range p.Sections {
		s.Line = 0
		s.Hunks = append([]edit.PatchHunk(nil), s.Hunks...)
		for j := range s.Hunks {
			s.Hunks[j].Line = 0
		}
		sections[i] = s
	}
	return sections
}

func FuzzReplace(f *testing.F) {
	for _, text := range texts {
		f.Add(text, "a", "b\nc", 1, true)
		f.Add(text, "a\nb", "b\r\nc", 2, false)
	}
	f.Fuzz(func(t *testing.T, original, old, new string, expected int, all bool) {
		got, err := edit.Replace(original, old, new, expected, all)
		if err != nil {
			var r *edit.ReplaceError
			check.Must(t, errors.As(err, &r) && r.Reason != "" && r.Err != nil, "untyped error %v", err)
			return
		}
		// Apart from line endings, and where the literal text is not there at
		// all, the result is that of the standard library.
		if strings.Contains(original, old) {
			want := strings.ReplaceAll(original, old, new)
			check.Must(t, lf(got.Text) == lf(want), "got %q, want %q", got.Text, want)
		}
	})
}

func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// FuzzBlocksApply turns the difference of two texts into search blocks.
func FuzzBlocksApply(f *testing.F) {
	addPairs(f)
	f.Fuzz(func(t *testing.T, before, after string, context int) {
		before, after = proper(before), proper(after)
		diff, ok := blocksOf(edit.Unified("a", "b", before, after, 1+context&3))
		if !ok {
			return
		}
		got, err := edit.ApplyDiff(before, diff, edit.Options{})
		check.Must(t, err == nil, "%v\n%q\n%s", err, before, diff)
		check.Must(t, got.Text == after, "got %q, want %q by\n%s", got.Text, after, diff)
	})
}

// proper gives a text with LF endings and a final newline.
func proper(text string) string {
	text = strings.ReplaceAll(text, "\r", "")
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// blocksOf writes a unified diff as search blocks, if they can say it: a part
// without lines, or of one empty line, is an empty part.
func blocksOf(unified string) (diff string, ok bool) {
	var out strings.Builder
	for _, hunk := range strings.Split("\n"+unified, "\n@@ -")[1:] {
		lines := edit.Lines(hunk)
		start, _, _ := strings.Cut(strings.Replace(lines[0], " ", ",", 1), ",")
		var old, new []string
		for _, line := range lines[1:] {
			text := marker.ReplaceAllString(line[1:], `$1\$2`)
			if line[0] != '+' {
				old = append(old, text)
			}
			if line[0] != '-' {
				new = append(new, text)
			}
		}
		if len(old) == 0 || len(old) == 1 && old[0] == "" || len(new) == 1 && new[0] == "" {
			return "", false
		}
		out.WriteString("<<<<<<< SEARCH\n:start_line:" + start + "\n-------\n" + strings.Join(append(old, ""), "\n") +
			"=======\n" + strings.Join(append(new, ""), "\n") + ">>>>>>> REPLACE\n")
	}
	return out.String(), out.Len() > 0
}

// marker matches what a block must escape, also with backslashes before it.
var marker = regexp.MustCompile(`^([ \t]*)(\\*(?:<<<<<<<|=======|>>>>>>>|-------|:start_line|:end_line))`)
