package edit

import "slices"

// Options steer how loosely [ApplyDiff] and [Section.Apply] match. The zero
// value is the default: fuzzy matching off, 40 buffer lines.
type Options struct {
	// Threshold is the similarity, above 0 and up to 1, from which a block
	// matches text that it does not quote correctly. 0 and 1 turn it off.
	Threshold float64
	// BufferLines is how far from the line that it names a block may be found,
	// unless it stands exactly once in the whole text. 0 means 40.
	BufferLines int
}

func (o Options) buffer() int {
	if o.BufferLines <= 0 {
		return 40
	}
	return o.BufferLines
}

func (o Options) fuzzy() bool { return o.Threshold > 0 && o.Threshold < 1 }

// Result is an edited text.
type Result struct {
	Text  string
	Notes []string // what was repaired, moved or matched loosely, for people and agents
}

// change is a wish to replace lines: one search block or one hunk.
type change struct {
	index    int // 1-based, in the diff
	diffLine int // 1-based, where it begins in the diff
	old      []string
	new      []string
	hint     int    // 1-based line where old should stand; 0 if unknown
	marks    string // of a diff: ' ', '-' and '+', one a line; "" if unknown
	// only is the one line at which a repaired reading may be taken; 0 for any.
	only int
	// unclear says why it is not certain what a repaired reading puts in place
	// of old; such a reading is refused where it is the one that matches.
	unclear string
	repairs []string // what was repaired, each in a sentence
	// ruled: old begins with a line that may be the rule under the attributes.
	ruled bool
}

// changeOf gives the lines of a hunk as a change.
func changeOf(index, diffLine int, lines []PatchLine) change {
	ch := change{index: index, diffLine: diffLine}
	marks := make([]byte, len(lines))
	for i, line := range lines {
		marks[i] = line.Mark
		if line.Mark != '+' {
			ch.old = append(ch.old, line.Text)
		}
		if line.Mark != '-' {
			ch.new = append(ch.new, line.Text)
		}
	}
	ch.marks = string(marks)
	return ch
}

// placement is a change whose place is known.
type placement struct {
	change
	start int // 0-based
	how   How
	notes []string
	lines []string // the new lines as they stand in the file
}

func (p placement) stop() int { return p.start + len(p.old) }

// apply writes all placements into the text, or says which of them collide. They can come in any order.
func (c *corpus) apply(placed []placement) (textLines, []FailedBlock) {
	written := make([]rewrite, len(placed))
	for i, p := range placed {
		written[i] = c.rewrite(p)
	}
	slices.SortStableFunc(written, byPlace)
	if collisions := collide(written); len(collisions) > 0 {
		return textLines{}, collisions
	}
	slices.SortStableFunc(written, func(a, b rewrite) int { return a.from - b.from })
	var out textLines
	at := 0
	for _, w := range written {
		out.addAll(c.part(at, w.from))
		out.addAll(w.lines)
		at = w.to
	}
	out.addAll(c.part(at, c.len()))
	return out, nil
}
