package edit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// form is a way to send an edit; ok is false if it cannot say it.
type form struct {
	name  string
	apply func(s *sweep, file string, lines []bodyLine, old, new []string) (edit.Result, error)
}

func diffBody(lines []bodyLine, old, new []string) string {
	var b strings.Builder
	for _, l := range lines {
		line := ""
		if l.mark == '+' {
			line = new[l.new]
		} else {
			line = old[l.old]
		}
		fmt.Fprintf(&b, "%c%s\n", l.mark, line)
	}
	return b.String()
}

func forms() []form {
	return []form{
		{"blocks", func(s *sweep, file string, _ []bodyLine, old, new []string) (edit.Result, error) {
			head := []string{}
			if s.r.IntN(2) == 0 {
				head = append(head, fmt.Sprintf(":start_line:%d", s.from+1))
			}
			return edit.ApplyDiff(file, block(strings.Join(old, "\n"), strings.Join(new, "\n"), head...), edit.Options{})
		}},
		{"unified", func(s *sweep, file string, lines []bodyLine, old, new []string) (edit.Result, error) {
			head := "@@ ... @@\n"
			if s.r.IntN(2) == 0 {
				head = fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", s.from+1, len(old), s.from+1, len(new))
			}
			return edit.ApplyDiff(file, head+diffBody(lines, old, new), edit.Options{})
		}},
		{"apply_patch", func(_ *sweep, file string, lines []bodyLine, old, new []string) (edit.Result, error) {
			p, err := edit.ParsePatch("*** Begin Patch\n*** Update File: f\n@@\n" + diffBody(lines, old, new) + "*** End Patch\n")
			if err != nil {
				return edit.Result{}, err
			}
			return p.Sections[0].Apply(file, edit.Options{})
		}},
	}
}

// certain reports whether the damage leaves no doubt: everything that can have
// made this search of the lines of the file gives the same replacement.
func (s *sweep) certain(d damage, old, new, sentOld, sentNew []string) bool {
	flat := func(lines []string) string {
		return "\n" + text(eachLine(lines, func(_, text string) string { return text }))
	}
	file, search := flat(s.rendered(s.file)), flat(sentOld)
	if strings.Index(file, search) != strings.LastIndex(file, search) {
		return false // nor where it is meant
	}
	switch d.name {
	case "flattened":
		return s.kind == "modify" && !slices.Equal(old, new) && distinct(sentOld)
	case "search flattened", "stripped apart", "first line of the search lost":
		return false
	}
	for _, other := range damages() {
		again, _ := other.do(s, old, new)
		if !slices.Equal(again, sentOld) {
			continue
		}
		if _, forward := other.do(s, old, new); !slices.Equal(forward, sentNew) && other.name != "flattened" && other.name != "search flattened" {
			return false
		}
	}
	// A search whose lines all have one indentation does not tell a shift from
	// another unit, nor what was lost with the first line.
	levels := make(map[string]bool)
	for _, line := range sentOld {
		if line != "" {
			levels[indentation(line)] = true
		}
	}
	return len(levels) > 1
}

func distinct(lines []string) bool {
	seen := make(map[string]bool)
	for _, line := range lines {
		if line != "" && seen[line] {
			return false
		}
		seen[line] = true
	}
	return true
}

// swept counts what became of the edits of a sweep.
type swept struct {
	edits, right, wrong, refused int
	certain, certainRefused      int
	byKind                       map[string][3]int // right, wrong, refused
	shown                        []string
}

func (w *swept) run(seeds uint64, t *testing.T) {
	w.byKind = make(map[string][3]int)
	for seed := uint64(0); uint64(w.edits) < seeds; seed++ {
		w.one(seed, t)
	}
}

func (w *swept) one(seed uint64, t *testing.T) {
	s := newSweep(seed)
	whole := s.rendered(s.file)
	old, new := s.rendered(s.file[s.from:s.to]), s.rendered(s.now)
	if slices.Equal(old, new) || len(old) == 0 || len(new) > 0 && text(new) == "\n" {
		return
	}
	d := damages()[s.r.IntN(len(damages()))]
	f := forms()[s.r.IntN(len(forms()))]
	if f.name != "blocks" && d.name != "stripped" && d.name != "doubled" && d.name != "flattened" && d.name != "in tabs" && d.name != "in four spaces" && d.name != "one level more" {
		d = damages()[0]
	}
	sentOld, sentNew := d.do(s, old, new)
	file := text(whole)
	if slices.Equal(sentOld, old) || slices.Equal(sentOld, sentNew) || strings.Contains("\n"+file, "\n"+text(sentOld)) {
		return // the search is literally in the file, or nothing is asked for
	}
	want := text(slices.Concat(whole[:s.from], new, whole[s.to:]))
	got, err := f.apply(s, file, body(old, new), sentOld, sentNew)
	w.edits++
	sure := s.certain(d, old, new, sentOld, sentNew)
	if sure {
		w.certain++
	}
	kind := w.byKind[d.name]
	switch {
	case err != nil:
		var match *edit.MatchError
		check.Must(t, errors.As(err, &match), "seed %d: %v", seed, err)
		w.refused++
		kind[2]++
		if sure {
			w.certainRefused++
			w.show("refused", seed, s, d, f, sentOld, sentNew, want, err.Error())
		}
	case got.Text == want:
		w.right++
		kind[0]++
	default:
		w.wrong++
		kind[1]++
		w.show("wrong", seed, s, d, f, sentOld, sentNew, want, got.Text)
	}
	w.byKind[d.name] = kind
}

func (w *swept) show(what string, seed uint64, s *sweep, d damage, f form, old, new []string, want, got string) {
	if len(w.shown) < 6 {
		w.shown = append(w.shown, fmt.Sprintf("%s: seed %d, %s, %s, %s by %s, lines %d-%d\n--- search\n%s--- replace\n%s--- want\n%s--- got\n%s", what, seed,
			s.lang.name, s.kind, d.name, f.name, s.from+1, s.to, text(old), text(new), around(want, s), around(got, s)))
	}
}

// around cuts a result down to the window and what stands beside it.
func around(result string, s *sweep) string {
	lines := edit.Lines(result)
	return text(lines[min(len(lines), max(0, s.from-3)):min(len(lines), s.from+len(s.now)+3)])
}

// TestSweepOfDamagedIndentation makes some thousand edits, under the race detector fewer, in the long form ten thousand.
func TestSweepOfDamagedIndentation(t *testing.T) {
	w := &swept{}
	w.run(uint64(check.Rounds(check.Smaller(4_000, 1_000), 10_000)), t)
	t.Logf("%d edits: %d right, %d wrong, %d refused; of %d that are certain %d refused; by damage (right, wrong, refused) %v",
		w.edits, w.right, w.wrong, w.refused, w.certain, w.certainRefused, w.byKind)
	if w.wrong > 0 || w.certainRefused > 0 {
		t.Errorf("%d edits landed wrong, %d whose result is certain were refused\n%s", w.wrong, w.certainRefused, strings.Join(w.shown, "\n\n"))
	}
}
