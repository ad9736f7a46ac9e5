package tools

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// sizes are those of what is in memory, in bytes.
type sizes struct {
	// whole bounds a file that is read whole and whose encoding is found out. A longer one is UTF-8, or binary.
	whole int64
	// stretch is how much of a longer file one goroutine looks at on end.
	stretch int64
	// piece is how much of that is in memory at a time, where lines are shorter.
	piece int
	// line bounds what is looked at of a line of such a file: its beginning.
	line int
	// back bounds the line before a stretch if it is to be shown.
	back int64
}

func usualSizes() sizes {
	return sizes{whole: 4 << 20, stretch: 16 << 20, piece: 256 << 10, line: 4 << 20, back: 4 << 10}
}

// maxStretches bounds the stretches of one file, which are longer then.
const maxStretches = 4096

// stretch is what was found in a part of a long file: in the lines that begin in it.
type stretch struct {
	matches []searchMatch // as if it began the file
	lines   int
	err     error
}

// long gives the matches of a long file, of which those helpers that have nothing else to do look at a stretch each. What is
// given depends on the file alone.
func (l *looker) long(f *workspace.File, helpers chan *looker) ([]searchMatch, error) {
	size := max(l.stretch, f.Size/maxStretches+1) // a file may be as long as its author says, and empty
	stretches := make([]stretch, (f.Size+size-1)/size)
	var next, found atomic.Int64
	var enough atomic.Bool // then what nobody has begun with, which is behind all else, does not count
	look := func(l *looker) {
		for !enough.Load() {
			i := next.Add(1) - 1
			if i >= int64(len(stretches)) {
				return
			}
			s := &stretches[i]
			s.err = l.part(f, i*size, min((i+1)*size, f.Size))
			s.matches, s.lines = l.matches, l.next-1
			if found.Add(int64(len(s.matches))) > matchCap || s.err != nil {
				enough.Store(true)
			}
		}
	}
	var all sync.WaitGroup
	var panicked atomic.Value
	for range min(len(stretches)-1, len(helpers)) {
		select {
		case helper := <-helpers:
			all.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						panicked.Store(fmt.Sprintf("%v\n%s", p, debug.Stack()))
					}
				}()
				look(helper)
				helpers <- helper
			})
		default: // somebody else was faster
		}
	}
	look(l)
	all.Wait()
	if p := panicked.Load(); p != nil {
		panic(p) // where it can be recovered from
	}
	return joined(stretches)
}

// joined are the matches of all stretches, one more than the cap at most.
func joined(stretches []stretch) (all []searchMatch, err error) {
	lines, given := 0, 0
	for _, s := range stretches {
		if s.err != nil {
			return nil, s.err
		}
		for i, m := range s.matches {
			m.Line += lines
			if i == 0 && m.Line-1 <= given {
				m.Before = nil
			}
			given = m.Line + len(m.After)
			if all = append(all, m); len(all) > matchCap {
				return all, nil
			}
		}
		lines += s.lines
	}
	return all, nil
}

// part looks at the lines of a file that begin in a part of it. In the window there is what has not been looked at, from a
// place on, and a line before it. The last line that is complete waits until there is more in the window, so that each line
// is looked at with its neighbours.
func (l *looker) part(f *workspace.File, begin, end int64) error {
	l.begin()
	w := &window{l: l, f: f, at: max(begin-l.back, 0), text: l.room(l.piece)[:0]}
	from, err := w.enter(begin, end)
	for err == nil {
		complete := bytes.LastIndexByte(w.text, '\n') + 1
		to, keep := lineBefore(w.text, complete), from
		over := w.lineAt(end)
		if w.ended {
			to, over = len(w.text), min(over, len(w.text))
		}
		if over <= to {
			l.lines(w.text, from, over)
			return nil
		}
		switch {
		case to > from:
			l.lines(w.text, from, to)
			keep, from = lineBefore(w.text, to), to
		case w.grow():
			keep = 0
		case from > 0: // the line before is long
		case complete > 0: // the line behind is
			l.lines(w.text, 0, complete)
			keep, from = complete, complete
		default:
			number := l.next
			l.lines(w.text, 0, len(w.text))
			l.next = number + 1
			keep, err = w.skipLine()
			from = keep
		}
		if l.full() {
			return nil
		}
		w.drop(keep)
		from -= keep
		if err == nil {
			err = w.fill()
		}
	}
	return err
}

// window is what is in memory of a file.
type window struct {
	l     *looker
	f     *workspace.File
	at    int64 // where it begins
	text  []byte
	ended bool // the file has no more, as it was when it was opened
}

// enter gives where in the window the first line begins that belongs to a stretch, or one behind it.
func (w *window) enter(begin, end int64) (from int, err error) {
	if err := w.fill(); err != nil {
		return 0, err
	}
	whole := w.at == 0 // whether a line begins where the window does
	if whole && bytes.HasPrefix(w.text, mark) {
		w.drop(len(mark))
	}
	if begin == 0 {
		return 0, w.fill()
	}
	for from = w.lineAt(begin); from > len(w.text); from = w.lineAt(begin) {
		if w.ended || w.at >= end { // there is none
			return len(w.text), nil
		}
		if !w.grow() {
			w.drop(len(w.text))
			begin, whole = max(begin, w.at+1), false
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	keep := lineBefore(w.text, from)
	if keep == 0 && !whole { // the line before begins before the window
		keep = from
	}
	w.drop(keep)
	return from - keep, w.fill()
}

// lineAt is where in the window the first line begins that does so at a place of the file or behind it; more than the length
// of the window if that is not known.
func (w *window) lineAt(place int64) int {
	from := place - w.at
	if from <= 0 {
		return 0
	}
	if from > int64(len(w.text)) {
		return cap(w.text) + 1
	}
	at := bytes.IndexByte(w.text[from-1:], '\n')
	if at < 0 {
		return cap(w.text) + 1
	}
	return int(from) + at
}

// skipLine goes on to the next line, and gives where in the window it begins.
func (w *window) skipLine() (int, error) {
	for {
		if w.ended {
			return len(w.text), nil
		}
		w.drop(len(w.text))
		if err := w.fill(); err != nil {
			return 0, err
		}
		if at := bytes.IndexByte(w.text, '\n'); at >= 0 {
			return at + 1, nil
		}
	}
}

// drop leaves out what is before a place.
func (w *window) drop(before int) {
	w.text = w.text[:copy(w.text, w.text[before:])]
	w.at += int64(before)
}

// grow doubles the window; false if it is as large as it may be.
func (w *window) grow() bool {
	size := 2 * cap(w.text)
	if size > w.l.sizes.line {
		return false
	}
	larger := append(make([]byte, 0, size), w.text...)
	w.l.buffer, w.text = larger, larger
	return true
}

// fill reads until the window is full or the file ends.
func (w *window) fill() error {
	for len(w.text) < cap(w.text) && !w.ended {
		if err := w.l.ctx.Err(); err != nil {
			return err
		}
		next := w.at + int64(len(w.text))
		room := w.text[len(w.text):cap(w.text)]
		room = room[:min(int64(len(room)), w.f.Size-next)]
		n, err := w.f.ReadSome(room, next)
		if err != nil {
			return err
		}
		if bytes.IndexByte(room[:n], 0) >= 0 {
			return workspace.ErrBinary
		}
		w.text = w.text[:len(w.text)+n]
		w.ended = n == 0 || next+int64(n) == w.f.Size
	}
	return nil
}
