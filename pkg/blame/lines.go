package blame

import (
	"iter"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// lineID stands for the text of a line; equal texts have equal ids. 0 is a text that is not known.
type lineID = int32

const unknown lineID = 0

// lineTable has what is known of each text, so that it is looked at once however many contents have it.
type lineTable struct {
	ids map[string]lineID
	all []lineText
	// marked has lines by their marks, and bare the texts without white space; both are nil until somebody asks for a mark.
	marked map[record.LineMark]lineID
	bare   map[[5]byte]lineID
	// begins has the loose texts by how they begin, of each the newest; those before begun are in it.
	begins map[beginning]lineID
	begun  int
}

// beginning is how the text of a line begins that is more than one of many alike.
type beginning [strongWeight]byte

type lineText struct {
	text   string
	loose  lineID           // the text without white space
	weight int32            // its letters and digits
	stands bool             // in a content; else it is the loose text of one that does
	mark   *record.LineMark // of a line whose text is not known yet
	twin   bool             // of a loose text: some record says that it stood in the file more than once
	next   lineID           // what stood behind it last, see idsOf
	alike  lineID           // of a loose text: the one before it that begins in the same way, see beginWith
}

func newLineTable() *lineTable {
	return &lineTable{all: make([]lineText, 1), begins: map[beginning]lineID{}}
}

// note has a line be found by its mark.
func (t *lineTable) note(id lineID) {
	mark := record.MarkOf(t.text(id))
	t.marked[mark], t.bare[mark.Bare()] = id, t.loose(id)
}

func (t *lineTable) id(text string) lineID {
	id := t.entry(text)
	if !t.all[id].stands {
		if t.all[id].stands = true; t.marked != nil {
			t.note(id)
		}
	}
	return id
}

func (t *lineTable) entry(text string) lineID {
	id, known := t.ids[text]
	if known {
		return id
	}
	id = lineID(len(t.all))
	t.ids[text] = id
	t.all = append(t.all, lineText{text: text, weight: int32(record.Weight(text))})
	loose := id
	if squeezed := record.Squeeze(text); squeezed != text {
		loose = t.entry(squeezed)
	}
	t.all[id].loose = loose
	return id
}

// byMark gives a line of which only the mark is known: the text that has it, else the text that differs in white space
// alone, without it, else one that is like nothing else but the same mark.
func (t *lineTable) byMark(m record.LineMark) lineID {
	if t.marked == nil {
		t.marked, t.bare = map[record.LineMark]lineID{}, map[[5]byte]lineID{}
		for id := range t.all {
			if t.all[id].stands {
				t.note(lineID(id))
			}
		}
	}
	id, known := t.marked[m.Line()]
	if !known {
		id, known = t.bare[m.Bare()]
	}
	if !known {
		id = lineID(len(t.all))
		t.all = append(t.all, lineText{loose: id, weight: strongWeight, mark: &m})
		t.marked[m.Line()] = id
	}
	if m.Twin() {
		t.all[t.all[id].loose].twin = true
	}
	return id
}

// isLoose reports a line of which not every character is known.
func (t *lineTable) isLoose(id lineID) bool { return id == unknown || !t.all[id].stands }

// isVague reports a line whose text is not known.
func (t *lineTable) isVague(id lineID) bool { return id == unknown || t.all[id].mark != nil }

// resolve gives the line for one whose text was not known when it was named.
func (t *lineTable) resolve(id lineID) lineID {
	if m := t.all[id].mark; m != nil {
		return t.byMark(*m)
	}
	return id
}

func (t *lineTable) anyVague(lines []lineID) bool { return slices.ContainsFunc(lines, t.isVague) }

// mostRoom bounds for how many texts there is room before they come: a large file can be one line again and again.
const mostRoom = 1 << 14

// idsOf names the lines of a content. Most follow the same line as in the content before, and are not looked up.
func (t *lineTable) idsOf(texts []string) []lineID {
	if t.ids == nil {
		room := min(2*len(texts), mostRoom)
		t.ids, t.all = make(map[string]lineID, room), slices.Grow(t.all, room)
	}
	ids := make([]lineID, len(texts))
	last := unknown // stands for the beginning
	for i, text := range texts {
		id := t.all[last].next
		if id == unknown || t.all[id].text != text {
			id = t.id(text)
			t.all[last].next = id
		}
		ids[i], last = id, id
	}
	return ids
}

func (t *lineTable) textsOf(ids []lineID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = t.all[id].text
	}
	return texts
}

// beginWith gives the loose texts that are longer than their beginning and have it in common with a line.
func (t *lineTable) beginWith(text string) iter.Seq[lineID] {
	for ; t.begun < len(t.all); t.begun++ {
		if all := &t.all[t.begun]; all.loose == lineID(t.begun) && len(all.text) > strongWeight {
			at := beginning([]byte(all.text[:strongWeight]))
			all.alike, t.begins[at] = t.begins[at], all.loose
		}
	}
	return func(yield func(lineID) bool) {
		for id := t.begins[beginning([]byte(text[:strongWeight]))]; id != unknown && yield(id); id = t.all[id].alike {
		}
	}
}

func (t *lineTable) text(id lineID) string    { return t.all[id].text }
func (t *lineTable) loose(id lineID) lineID   { return t.all[id].loose }
func (t *lineTable) weight(id lineID) int     { return int(t.all[id].weight) }
func (t *lineTable) looseOf(id lineID) string { return t.all[t.all[id].loose].text }

// textLines gives the lines of a content, without their terminators.
func textLines(content []byte) ([]string, error) {
	text, err := workspace.Decode(content)
	if err != nil {
		return nil, err
	}
	return edit.Lines(text.String), nil
}
