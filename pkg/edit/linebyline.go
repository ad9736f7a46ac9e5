package edit

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// lineByLine gives the indentation of each new line where no one rule explains that of the search: from the lines that
// it stands for, or from those beside it. What they do not tell is in doubt.
func (in *reindenter) lineByLine() ([]string, error) {
	found := make([]string, len(in.p.new))
	for _, j := range in.news {
		if in.same(j) {
			found[j] = indentOf(in.file(in.kept[j]))
			continue
		}
		r := in.runs[slices.IndexFunc(in.runs, func(r lcs.Diff) bool { return j < r.ReplEnd })]
		file, ok := in.oneLine(r, j)
		if !ok {
			return nil, in.doubt("the indentation of the new line %q does not tell where it belongs", short(in.p.new[j]))
		}
		found[j] = file
	}
	return found, nil
}

// oneLine gives the indentation of new line j, which is in run r.
func (in *reindenter) oneLine(r lcs.Diff, j int) (file string, ok bool) {
	wanted := in.wanted(j)
	if file, ok := in.only(wanted, 0, len(in.p.old)); ok {
		return file, true
	}
	local, one := in.only(wanted, r.Start, r.End)
	old, fresh := r.End-r.Start, r.ReplEnd-r.ReplStart
	switch {
	case in.allFlat() && in.opensOrCloses(r):
		return "", false
	case old == fresh && in.pairwise(r):
		return indentOf(in.file(r.Start + j - r.ReplStart)), one || in.alike(r)
	case one && fresh < old:
		return local, true
	case in.written(wanted):
		file, ok := in.between(r)
		return file, ok && (old == 0 || one && file == local)
	}
	return wanted, in.mostlyRight()
}

// between is the indentation of plain lines that are put where a run ends, if those around it leave only one.
func (in *reindenter) between(r lcs.Diff) (indent string, ok bool) {
	over, under := in.lineBefore(in.p.start+r.End), in.lineFrom(in.p.start+r.End)
	above, below := indentOf(over), indentOf(under)
	switch {
	case !in.outline().regular || in.opensOrCloses(r):
		return "", false
	case closing(under) == surely:
		return above, opens(over) != surely && len(above) > len(below)
	}
	return below, len(above) <= len(below)
}

// opensOrCloses reports whether a new line of the run begins or ends a block
// where the line that it stands for, if there is one, does not.
func (in *reindenter) opensOrCloses(r lcs.Diff) bool {
	for j := r.ReplStart; j < r.ReplEnd; j++ {
		old := ""
		if r.End-r.Start == r.ReplEnd-r.ReplStart {
			old = in.p.old[r.Start+j-r.ReplStart]
		}
		line := in.p.new[j]
		if (opens(line) >= likely) != (opens(old) >= likely) || closing(line) != closing(old) {
			return true
		}
	}
	return false
}

// pairwise reports whether each new line of a run has the indentation of the old one that it stands for.
func (in *reindenter) pairwise(r lcs.Diff) bool {
	for i := range r.End - r.Start {
		if indentOf(in.p.old[r.Start+i]) != indentOf(in.p.new[r.ReplStart+i]) {
			return false
		}
	}
	return true
}

// alike reports whether each new line of a run reads much like the old one that it stands for.
func (in *reindenter) alike(r lcs.Diff) bool {
	for i := range r.End - r.Start {
		if newPattern(loosen(in.p.old[r.Start+i])).similarity(loosen(in.p.new[r.ReplStart+i])) < 0.5 {
			return false
		}
	}
	return true
}

// written reports whether a line of the search has an indentation.
func (in *reindenter) written(indent string) bool {
	return in.any(func(b indents) bool { return b.search == indent })
}

// mostlyRight reports whether at least half of the lines of the search have the file's indentation.
func (in *reindenter) mostlyRight() bool {
	right := 0
	for _, b := range in.base {
		if b.search == b.file {
			right++
		}
	}
	return 2*right >= len(in.base)
}

// only is the indentation in the file of the lines [from, to) of the search
// that have the indentation wanted, if they agree.
func (in *reindenter) only(wanted string, from, to int) (file string, ok bool) {
	for i := from; i < to; i++ {
		if in.at[i] < 0 || in.base[in.at[i]].search != wanted {
			continue
		}
		here := in.base[in.at[i]].file
		if ok && here != file {
			return "", false
		}
		file, ok = here, true
	}
	return file, ok
}
