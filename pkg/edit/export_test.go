package edit

import (
	"fmt"
	"strings"

	file "github.com/intentgov/orchestra-mcp/pkg/change"
)

// Merge compares lines as they are.
var Merge = merge

// Distance is the edit distance that similarity is made of.
func Distance(a, b string) int { return newPattern(a).distance([]rune(b)) }

// Similarity is the score of a search against a text of as many lines, with the bound by which windows are ordered.
func Similarity(text, search []string) (score, bound float64) {
	c := corpusOf(textLines{text: text})
	m := c.compare(search)
	bounds, _ := m.bounds()
	score, _ = m.score(0)
	return score, bounds[0]
}

// String renders the patch in its format; ParsePatch of it gives the same sections.
func (p *Patch) String() string {
	var b strings.Builder
	b.WriteString(beginPatch + "\n")
	for _, s := range p.Sections {
		header := map[file.Op]string{file.Created: addFile, file.Deleted: deleteFile, file.Modified: updateFile, file.Moved: updateFile}[s.Op]
		fmt.Fprintf(&b, "%s %s\n", header, s.Path)
		if s.Op == file.Moved {
			fmt.Fprintf(&b, "%s %s\n", moveTo, s.To)
		}
		for _, line := range s.Content {
			fmt.Fprintf(&b, "+%s\n", line)
		}
		for _, h := range s.Hunks {
			b.WriteString("@@ " + strings.Join(h.Anchors, "\n@@ ") + "\n")
			for _, line := range h.Lines {
				fmt.Fprintf(&b, "%c%s\n", line.Mark, line.Text)
			}
			if h.EndOfFile {
				b.WriteString(endOfFile + "\n")
			}
		}
	}
	return b.String() + endPatch + "\n"
}
