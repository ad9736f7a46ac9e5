package linematch

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// tableLimit bounds the transitions of one automaton, and stateLimit what its states are made of, in entries of four
	// bytes each.
	tableLimit = 1 << 18
	stateLimit = 1 << 18
	// worth is how many bytes have to be read for each state, else making states costs more than it saves.
	worth = 10
)

// A transition leads to the offset of a state's row in the table, or is one of these.
const (
	unmade  = 0
	dead    = -1
	matched = -2
)

// What a state knows of the character before it.
const (
	atBegin = 1 << iota
	behindWord
)

// automaton is a deterministic form of a program that is made as far as texts need it. A state is what the program is at
// before a character: instructions that have not been followed yet, because what stands behind a `\b` or `$` is not
// known before the next character is.
type automaton struct {
	prog *syntax.Prog
	*classes

	states map[string]int32 // by what they are made of
	made   [][]uint32       // of each state, the instructions, and behind them what was before
	size   int              // of all of made
	next   []int32          // by state and class; the first row is nobody's
	start  int32
	read   int // bytes since the table was empty

	seen  []bool // of the step that is made
	stack []uint32
	after []uint32
	key   []byte
}

// newAutomaton is nil for a program that has too many classes of characters.
func newAutomaton(prog *syntax.Prog) *automaton {
	c := newClasses(prog)
	if c == nil {
		return nil
	}
	return (&automaton{prog: prog, classes: c}).fresh()
}

// fresh is an automaton of the same program that has no states yet.
func (a *automaton) fresh() *automaton {
	f := &automaton{prog: a.prog, classes: a.classes, seen: make([]bool, len(a.prog.Inst))}
	f.clear()
	return f
}

func (a *automaton) clear() {
	a.states, a.made, a.size, a.read = map[string]int32{}, [][]uint32{nil}, 0, 0
	a.next = append(a.next[:0], make([]int32, a.count)...)
	a.start = a.state([]uint32{uint32(a.prog.Start), atBegin})
}

// match tells whether a line matches. It is not sure where the automaton does not pay.
func (a *automaton) match(line []byte) (matches, sure bool) {
	a.read += len(line)
	at := a.start
	for i := 0; i < len(line); {
		var class int32
		if c := line[i]; c < utf8.RuneSelf {
			class = int32(a.ascii[c])
			i++
		} else {
			r, n := utf8.DecodeRune(line[i:])
			class = a.of(r)
			i += n
		}
		to := a.next[at+class]
		if to <= 0 {
			if to == unmade {
				if to = a.step(at, class); to == unmade {
					return false, false
				}
			}
			if to < 0 {
				return to == matched, true
			}
		}
		at = to
	}
	to := a.next[at+a.end]
	if to == unmade {
		to = a.step(at, a.end)
	}
	return to == matched, to != unmade
}

// step makes a transition; unmade if it gives up.
func (a *automaton) step(at, class int32) (to int32) {
	from := a.made[at/a.count]
	before := from[len(from)-1]
	clear(a.seen)
	a.after = a.after[:0]
	switch {
	case a.follow(from[:len(from)-1], a.flags(before, class), class):
		to = matched
	case class == a.end:
		to = dead
	default:
		if a.prog.StartCond()&syntax.EmptyBeginText == 0 { // a match can begin anywhere
			a.after = append(a.after, uint32(a.prog.Start))
		}
		if len(a.after) == 0 {
			to = dead
			break
		}
		slices.Sort(a.after)
		a.after = slices.Compact(a.after)
		var word uint32
		if a.bounded && a.words[class] {
			word = behindWord
		}
		a.after = append(a.after, word)
		if len(a.next)+int(a.count) > tableLimit || a.size+len(a.after) > stateLimit {
			if a.read < worth*len(a.made) {
				return unmade
			}
			a.clear()
			return a.state(a.after)
		}
		to = a.state(a.after)
	}
	a.next[at+class] = to
	return to
}

// state is the offset of the state that is made of something.
func (a *automaton) state(of []uint32) int32 {
	a.key = a.key[:0]
	for _, pc := range of {
		a.key = binary.LittleEndian.AppendUint32(a.key, pc)
	}
	if to, known := a.states[string(a.key)]; known {
		return to
	}
	to := int32(len(a.next))
	a.states[string(a.key)] = to
	a.made = append(a.made, slices.Clone(of))
	a.size += 2 * len(of) // with its key
	a.next = append(a.next, make([]int32, a.count)...)
	return to
}

// flags are the conditions that hold between what is before and a class of characters.
func (a *automaton) flags(before uint32, class int32) syntax.EmptyOp {
	var holds syntax.EmptyOp
	if before&atBegin != 0 {
		holds |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if class == a.end {
		holds |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if (before&behindWord != 0) != a.words[class] {
		return holds | syntax.EmptyWordBoundary
	}
	return holds | syntax.EmptyNoWordBoundary
}

// follow follows instructions to those that take a character, and collects what is behind those that take this class. It
// tells whether there is a match before it.
func (a *automaton) follow(from []uint32, holds syntax.EmptyOp, class int32) bool {
	a.stack = append(a.stack[:0], from...)
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[pc] {
			continue
		}
		a.seen[pc] = true
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstFail:
		default:
			if class != a.end && takes(in, a.samples[class]) {
				a.after = append(a.after, in.Out)
			}
		}
	}
	return false
}
