package pathglob

import "math/bits"

// Comparisons returns how many segments of the pattern one step from this state compares.
func (p *Pattern) Comparisons(s State) int { return bits.OnesCount64(uint64(s)) }
