package edit

import "slices"

// corpus is the text being edited, with the indexes that matching needs, built when first asked for.
type corpus struct {
	textLines
	indexes map[How]*index
	loosed  []string
	shape   *outline
	budget  *budget
}

func newCorpus(text string) *corpus { return corpusOf(split(text)) }

func corpusOf(lines textLines) *corpus {
	return &corpus{textLines: lines, indexes: make(map[How]*index), budget: newBudget()}
}

func (c *corpus) index(t tier) *index {
	x := c.indexes[t.how]
	if x == nil {
		x = newIndex(c.text, t.key)
		c.indexes[t.how] = x
	}
	return x
}

// find returns up to limit positions in [from, to] where lines occur, equal at the tier.
func (c *corpus) find(t tier, lines []string, from, to, limit int) []int {
	return c.index(t).find(each(lines, t.key), from, to, limit)
}

// has reports whether lines stand at position at, byte by byte. It needs no index.
func (c *corpus) has(lines []string, at int) bool {
	return at >= 0 && at+len(lines) <= c.len() && slices.Equal(c.text[at:at+len(lines)], lines)
}

// loose gives every line loosened, for similarity.
func (c *corpus) loose() []string {
	if c.loosed == nil {
		c.loosed = each(c.text, loosen)
	}
	return c.loosed
}
