package edit

// pattern is a search text prepared for edit distances against many windows, by the bit-parallel algorithm of Myers
// (1999) in the block form of Hyyrö (2003): 64 cells of the classic table in a few machine operations.
type pattern struct {
	length int
	words  int
	masks  map[rune][]uint64 // bit i is set where the pattern has the rune at i
	plus   []uint64          // scratch: vertical deltas of +1
	minus  []uint64          // scratch: vertical deltas of -1
	none   []uint64
}

func newPattern(text string) *pattern {
	runes := []rune(text)
	words := max(1, (len(runes)+63)/64)
	p := &pattern{
		length: len(runes),
		words:  words,
		masks:  make(map[rune][]uint64),
		plus:   make([]uint64, words),
		minus:  make([]uint64, words),
		none:   make([]uint64, words),
	}
	for i, r := range runes {
		mask := p.masks[r]
		if mask == nil {
			mask = make([]uint64, words)
			p.masks[r] = mask
		}
		mask[i/64] |= 1 << (i % 64)
	}
	return p
}

// cost is about the work of one distance to a text of so many bytes, in machine words.
func (p *pattern) cost(size int) int { return (p.words + 1) * size }

// distance is the number of runes to insert, delete or replace between the pattern and text.
func (p *pattern) distance(text []rune) int {
	if p.length == 0 {
		return len(text)
	}
	for w := range p.words {
		p.plus[w], p.minus[w] = ^uint64(0), 0
	}
	distance := p.length
	for _, r := range text {
		mask := p.masks[r]
		if mask == nil {
			mask = p.none
		}
		distance += p.column(mask)
	}
	return distance
}

// similarity is 1 - distance / longer length, from 0 to 1.
func (p *pattern) similarity(text string) float64 {
	runes := []rune(text)
	longest := max(p.length, len(runes))
	if longest == 0 {
		return 1
	}
	return 1 - float64(p.distance(runes))/float64(longest)
}

// column advances the table by one rune of the text and returns how the value in its last row changes.
func (p *pattern) column(mask []uint64) int {
	var carryPlus, carryMinus uint64 = 1, 0
	last := uint64(1) << ((p.length - 1) % 64)
	change := 0
	for w, equal := range mask {
		plus, minus := p.plus[w], p.minus[w]
		vertical := equal | minus
		equal |= carryMinus
		horizontal := (((equal & plus) + plus) ^ plus) | equal
		up := minus | ^(horizontal | plus)
		down := plus & horizontal
		if w == p.words-1 {
			if up&last != 0 {
				change++
			}
			if down&last != 0 {
				change--
			}
		}
		nextPlus, nextMinus := up>>63, down>>63
		up = up<<1 | carryPlus
		down = down<<1 | carryMinus
		p.plus[w] = down | ^(vertical | up)
		p.minus[w] = up & vertical
		carryPlus, carryMinus = nextPlus, nextMinus
	}
	return change
}
