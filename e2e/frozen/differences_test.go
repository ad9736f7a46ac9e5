//go:build frozen

package frozen_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
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
		for _, line := range lines {
			switch {
			case !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "+"):
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
	for i := 0; i < len(lines); {
		var gone, come []string
		for ; i < len(lines) && strings.HasPrefix(lines[i], "-"); i++ {
			gone = append(gone, lines[i])
		}
		for ; i < len(lines) && strings.HasPrefix(lines[i], "+"); i++ {
			come = append(come, lines[i])
		}
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
			b.WriteString(part(lines[i], 0) + "\n")
			i++
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
