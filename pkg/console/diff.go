package console

import (
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// fileDiff is what becomes of a file, side by side.
type fileDiff struct {
	Path, Note string
	Rows       []diffRow
	Cut        int // lines that are not shown
}

// diffRow is a line before and its line after. Kind is gap (between hunks), same, or change.
type diffRow struct {
	Kind          string
	Before, After diffCell
}

// diffCell is a side of a row; number 0 is none. Of a line that was changed, Middle is what differs.
type diffCell struct {
	Number             int
	Head, Middle, Tail string
	Changed            bool
}

const (
	// maxDiffRows bounds the rows of a file, and maxDiffText a line, in bytes.
	maxDiffRows = 3000
	maxDiffText = 4000
)

// diffsOf are the differences of a request.
func diffsOf(r approval.Request) (files []fileDiff) {
	for _, d := range r.Diffs {
		f := sideBySide(d.Hunks)
		f.Path, f.Note = d.Path, d.Note
		f.Cut += d.Lines - strings.Count(d.Hunks, "\n")
		files = append(files, f)
	}
	return files
}

// diffOf compares two texts.
func diffOf(path, before, after string) fileDiff {
	unified := edit.Unified("a", "b", before, after, 3)
	_, unified, _ = strings.Cut(unified, "\n")
	_, hunks, _ := strings.Cut(unified, "\n")
	f := sideBySide(hunks)
	f.Path = path
	return f
}

// sideBySide lays the hunks of a unified diff out in two columns: of a run of changes, the lines that went stand beside those
// that came.
func sideBySide(hunks string) (f fileDiff) {
	var before, after int
	var gone, come []diffCell
	flush := func() {
		for i := range max(len(gone), len(come)) {
			row := diffRow{Kind: "change"}
			if i < len(gone) {
				row.Before = gone[i]
			}
			if i < len(come) {
				row.After = come[i]
			}
			if row.Before.Number > 0 && row.After.Number > 0 {
				row.Before, row.After = markMiddle(row.Before, row.After)
			}
			f.Rows = append(f.Rows, row)
		}
		gone, come = nil, nil
	}
	lines := strings.Split(strings.TrimSuffix(hunks, "\n"), "\n")
	for i, line := range lines {
		if len(f.Rows)+len(gone)+len(come) > maxDiffRows {
			f.Cut = len(lines) - i
			break
		}
		if line == "" {
			continue
		}
		text := clipBytes(strings.TrimSuffix(line[1:], "\r"))
		switch line[0] {
		case '@':
			flush()
			before, after = hunkStart(line)
			f.Rows = append(f.Rows, diffRow{Kind: "gap", Before: diffCell{Head: line}})
		case '-':
			gone = append(gone, diffCell{Number: before, Head: text, Changed: true})
			before++
		case '+':
			come = append(come, diffCell{Number: after, Head: text, Changed: true})
			after++
		case ' ':
			flush()
			f.Rows = append(f.Rows, diffRow{"same", diffCell{Number: before, Head: text}, diffCell{Number: after, Head: text}})
			before, after = before+1, after+1
		}
	}
	flush()
	return f
}

func clipBytes(text string) string {
	if len(text) <= maxDiffText {
		return text
	}
	return strings.ToValidUTF8(text[:maxDiffText], "") + " …"
}

// hunkStart reads the first line numbers of a hunk's header, @@ -1,2 +3,4 @@.
func hunkStart(header string) (before, after int) {
	fields := strings.Fields(header)
	if len(fields) < 3 {
		return 1, 1
	}
	return number(fields[1]), number(fields[2])
}

func number(field string) (n int) {
	for _, digit := range field[1:] {
		if digit < '0' || digit > '9' {
			break
		}
		n = n*10 + int(digit-'0')
	}
	return n
}

// markMiddle leaves what two lines begin and end with in common out of what is marked.
func markMiddle(before, after diffCell) (diffCell, diffCell) {
	a, b := before.Head, after.Head
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for head > 0 && head < len(a) && !utf8.RuneStart(a[head]) || head > 0 && head < len(b) && !utf8.RuneStart(b[head]) {
		head--
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
		tail--
	}
	if head+tail == 0 {
		return before, after
	}
	before.Head, before.Middle, before.Tail = a[:head], a[head:len(a)-tail], a[len(a)-tail:]
	after.Head, after.Middle, after.Tail = b[:head], b[head:len(b)-tail], b[len(b)-tail:]
	return before, after
}
