//go:build frozen

package frozen_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

// difference is one that is meant: a line of differences.txt.
type difference struct {
	cases, reason string // cases is a pattern of path.Match over GROUP/CASE
	line          *regexp.Regexp
}

// meantDifferences are those of differences.txt: the cases, a pattern of the changed line with its sign, and the reason,
// between tabs.
func meantDifferences(t *testing.T) (all []difference) {
	t.Helper()
	text, err := os.ReadFile("differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 || fields[2] == "" {
			t.Fatalf("differences.txt: no cases, pattern and reason between tabs: %s", line)
		}
		pattern, err := regexp.Compile(fields[1])
		if err != nil {
			t.Fatalf("differences.txt: %v", err)
		}
		all = append(all, difference{cases: fields[0], line: pattern, reason: fields[2]})
	}
	return all
}

// compare fails with the parts of the difference in which a line was not meant to change.
func compare(t *testing.T, meant []difference, name, old, tested string) {
	t.Helper()
	is := func(line string) bool {
		for _, d := range meant {
			if matches, _ := path.Match(d.cases, name); matches && d.line.MatchString(line) {
				return true
			}
		}
		return false
	}
	all := string(diff.Diff("old", []byte(old), "new", []byte(tested)))
	if all == "" {
		return
	}
	var told strings.Builder
	var expected, unexpected int
	for _, hunk := range strings.Split(all, "\n@@ ")[1:] {
		lines := strings.Split(strings.TrimSuffix(hunk, "\n"), "\n")[1:]
		before := unexpected
		for _, line := range changed(lines) {
			switch {
			case is(line):
				expected++
			default:
				unexpected++
			}
		}
		if unexpected > before {
			told.WriteString(step(old, hunk) + shortened(lines))
		}
	}
	if unexpected > 0 {
		t.Errorf("%d lines differ and are not in differences.txt:\n%s", unexpected, told.String())
	}
	if expected > 0 {
		t.Logf("%d lines differ as differences.txt says", expected)
	}
}

// changed are the lines of a hunk that were taken away or added. Where as many came as went, a line that is the same as the
// one in its place is neither: the differ shows it if it stands more than once in the transcript.
func changed(hunk []string) (lines []string) {
	for len(hunk) > 0 {
		gone := leading(hunk, "-")
		come := leading(hunk[len(gone):], "+")
		hunk = hunk[len(gone)+len(come):]
		switch {
		case len(gone)+len(come) == 0:
			hunk = hunk[1:]
		case len(gone) != len(come):
			lines = append(append(lines, gone...), come...)
		default:
			for i := range gone {
				if gone[i][1:] != come[i][1:] {
					lines = append(lines, gone[i], come[i])
				}
			}
		}
	}
	return lines
}

// leading are the lines at the beginning that have the sign.
func leading(lines []string, sign string) []string {
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, sign) })
	if end < 0 {
		end = len(lines)
	}
	return lines[:end]
}

// step is the step of a transcript that a hunk is in.
func step(transcript, hunk string) string {
	var at, number int
	if _, err := fmt.Sscanf(hunk, "-%d", &at); err != nil {
		return ""
	}
	last, blank := "", true
	for line := range strings.Lines(transcript) {
		if number++; number > at+3 {
			break
		}
		if blank && line != "\n" {
			last = line
		}
		blank = line == "\n"
	}
	return "=== " + last
}

// wide is how much of a line is shown.
const wide = 200

// shortened are the lines of a hunk, of long ones the place where they begin to differ.
func shortened(lines []string) string {
	var b strings.Builder
	for len(lines) > 0 {
		gone := leading(lines, "-")
		come := leading(lines[len(gone):], "+")
		lines = lines[len(gone)+len(come):]
		for side, these := range [][]string{gone, come} {
			others := [][]string{come, gone}[side]
			for k, line := range these {
				from := 0
				if k < len(others) {
					from = max(0, common(line[1:], others[k][1:])-wide/3)
				}
				b.WriteString(line[:1] + part(line[1:], from) + "\n")
			}
		}
		if len(gone)+len(come) == 0 {
			b.WriteString(part(lines[0], 0) + "\n")
			lines = lines[1:]
		}
	}
	return b.String()
}

// common is how many bytes two texts begin with alike.
func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// part is a line from a byte on, or from its beginning if it is not long.
func part(line string, from int) string {
	if len(line) <= wide {
		return line
	}
	line = line[from:]
	if from > 0 {
		line = "…" + line
	}
	return line[:min(wide, len(line))] + "…"
}
