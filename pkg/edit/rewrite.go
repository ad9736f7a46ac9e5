package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// byPlace orders rewrites as they stand in the text; of two at one line, a pure insertion comes first.
func byPlace(a, b rewrite) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.stop(), b.stop()))
}

// rewrite is a placement worked out: lines replace [from, to) of the text. The lines at its ends that stay as they are
// have been cut off, so that blocks may share context.
type rewrite struct {
	placement
	from, to int
	lines    textLines
}

func (c *corpus) rewrite(p placement) rewrite {
	w := rewrite{placement: p, from: p.start, to: p.stop(), lines: c.replacement(p)}
	for w.from < w.to && w.lines.len() > 0 && c.text[w.from] == w.lines.text[0] {
		w.lines = w.lines.part(1, w.lines.len())
		w.from++
	}
	for w.from < w.to && w.lines.len() > 0 && c.text[w.to-1] == w.lines.text[w.lines.len()-1] {
		w.lines = w.lines.part(0, w.lines.len()-1)
		w.to--
	}
	return w
}

// replacement gives the new lines of p the line endings of the file.
func (c *corpus) replacement(p placement) textLines {
	var out textLines
	for j, old := range standsFor(p.runs(), len(p.old), len(p.new)) {
		end := c.endingNear(p.start)
		if out.len() > 0 {
			end = out.end[out.len()-1]
		}
		if old >= 0 {
			end = c.end[p.start+old]
		}
		out.add(p.lines[j], end)
	}
	return out
}

// collide finds rewrites, sorted by their placement, that change the same lines or whose order at one point is unclear.
func collide(sorted []rewrite) []FailedBlock {
	var failed []FailedBlock
	var open []rewrite // earlier ones that reach into the lines of the current one
	for _, after := range sorted {
		open = slices.DeleteFunc(open, func(w rewrite) bool { return w.stop() <= after.start })
		if i := slices.IndexFunc(open, after.meets); i >= 0 {
			before := open[i]
			f := failure(after.change, ErrOverlap, "it changes lines %d-%d, and block %d changes lines %d-%d. Join the two into one block.",
				after.start+1, after.stop(), before.index, before.start+1, before.stop())
			f.StartLine, f.BestStart, f.BestEnd, f.Score = after.start+1, after.start+1, after.stop(), 1
			failed = append(failed, *f)
		}
		open = append(open, after)
	}
	return failed
}

// meets reports whether two rewrites with common lines change more than what only the other one quotes.
func (w rewrite) meets(other rewrite) bool {
	if w.from > other.from {
		w, other = other, w
	}
	if w.idle() || other.idle() || w.to < other.from {
		return false
	}
	return w.to > other.from || w.from == w.to || other.from == other.to
}

// idle reports whether a rewrite leaves the text as it is.
func (w rewrite) idle() bool { return w.from == w.to && w.lines.len() == 0 }

// excerpt shortens a search text for an error.
func excerpt(lines []string) string {
	const maxLines, maxLine = 20, 200
	var b strings.Builder
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(&b, "… and %d more lines\n", len(lines)-i)
			break
		}
		b.WriteString(shorten(line, maxLine))
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
