package edit

import (
	"cmp"
	"slices"
	"strings"
)

// scored is a window of the text with its similarity to a search.
type scored struct {
	start int
	score float64
}

// budget bounds the similarity work of one call over all its blocks. Matching by keys does not draw on it; only fuzzy
// matching and the "best match" of an error do, and they give less, never wrong, answers when it is used up.
type budget struct {
	scanned int // bytes of text still to be looked at for bounds
	words   int // machine words still to be spent on distances
}

func newBudget() *budget { return &budget{scanned: 128 << 20, words: 50 << 20} }

// maxEvaluated is how many windows are measured for an error's best match,
// after all have been ordered by an upper bound.
const maxEvaluated = 48

// comparison measures windows of c against one search text. Similarity is the original's: 1 - distance / longer length,
// over text with whitespace runs collapsed and typographic punctuation plain.
type comparison struct {
	corpus  *corpus
	lines   []string // loosened
	pattern *pattern
	letters histogram
}

func (c *corpus) compare(search []string) *comparison {
	m := &comparison{corpus: c, lines: each(search, loosen)}
	for _, line := range m.lines {
		m.letters.add(line, 1)
	}
	m.pattern = newPattern(joinLoose(m.lines))
	return m
}

func joinLoose(lines []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return line == "" }), " ")
}

// above returns the windows whose similarity reaches threshold, the most similar first. complete is
// false if the budget did not allow to measure all that might.
func (m *comparison) above(threshold float64) (windows []scored, complete bool) {
	bounds, complete := m.bounds()
	for _, at := range orderByBound(bounds) {
		if bounds[at] < threshold {
			break
		}
		score, exact := m.score(at)
		complete = complete && exact
		if score >= threshold {
			windows = append(windows, scored{at, score})
		}
	}
	slices.SortStableFunc(windows, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), a.start-b.start) })
	return windows, complete
}

// nearest returns the most similar window; ok is false if there is none with anything in common.
func (m *comparison) nearest() (best scored, ok bool) {
	bounds, _ := m.bounds()
	for i, at := range orderByBound(bounds) {
		if i == maxEvaluated || bounds[at] <= best.score {
			break
		}
		if score, _ := m.score(at); score > best.score {
			best = scored{at, score}
		}
	}
	return best, best.score > 0
}

// bounds gives for each window an upper bound of its similarity, from how often each letter occurs in it.
func (m *comparison) bounds() (bounds []float64, complete bool) {
	loose, height := m.corpus.loose(), len(m.lines)
	var window histogram
	for _, line := range loose[:min(height-1, len(loose))] {
		window.add(line, 1)
	}
	for start := range max(0, len(loose)-height) + 1 {
		if m.corpus.budget.scanned < 0 {
			return bounds, false
		}
		if end := start + height - 1; end < len(loose) {
			window.add(loose[end], 1)
			m.corpus.budget.scanned -= len(loose[end])
		}
		m.corpus.budget.scanned -= 32
		bounds = append(bounds, window.bound(&m.letters))
		if start < len(loose) {
			window.add(loose[start], -1)
		}
	}
	return bounds, true
}

// orderByBound gives the positions of bounds, highest first.
func orderByBound(bounds []float64) []int {
	order := make([]int, len(bounds))
	for at := range bounds {
		order[at] = at
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bounds[b], bounds[a]) })
	return order
}

// score measures one window; exact is false, and it is 0, if the budget does not allow the distance.
func (m *comparison) score(start int) (score float64, exact bool) {
	loose := m.corpus.loose()
	window := loose[start:min(start+len(m.lines), len(loose))]
	size := len(window)
	for _, line := range window {
		size += len(line)
	}
	cost := m.pattern.cost(size)
	if cost > m.corpus.budget.words {
		return 0, false
	}
	m.corpus.budget.words -= cost
	return m.pattern.similarity(joinLoose(window)), true
}

// histogram counts the runes of a window in 32 classes, as joinLoose would join its lines, with one more space.
type histogram [32]int

func (h *histogram) add(line string, by int) {
	if line == "" {
		return
	}
	for _, r := range line {
		h[uint32(r)%32] += by
	}
	h[' '%32] += by
}

// bound is an upper bound of the similarity of two texts: an edit of one rune mends at most one surplus and one lack.
func (h *histogram) bound(other *histogram) float64 {
	surplus, lack, left, right := 0, 0, 0, 0
	for class, n := range h {
		left += n
		right += other[class]
		if d := n - other[class]; d > 0 {
			surplus += d
		} else {
			lack -= d
		}
	}
	switch {
	case left == 0 && right == 0:
		return 1
	case left == 0 || right == 0:
		return 0
	}
	return max(0, 1-float64(max(surplus, lack))/float64(max(left, right)-1))
}
