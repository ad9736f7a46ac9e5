package edit

// Distance is the edit distance that similarity is made of.
func Distance(a, b string) int { return newPattern(a).distance([]rune(b)) }

// Similarity is the score of a search against a text of as many lines, with
// the bound by which windows are ordered.
func Similarity(text, search []string) (score, bound float64) {
	c := corpusOf(textLines{text: text})
	m := c.compare(search)
	bounds, _ := m.bounds(span{0, 0})
	score, _ = m.score(0)
	return score, bounds[0]
}
