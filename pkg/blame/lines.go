package blame

import (
	"strings"
	"unicode"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// lineID stands for the text of a line; equal texts have equal ids. 0 is a text that is not known.
type lineID = int32

const unknown lineID = 0

// lineTable has what is known of each text, so that it is looked at once however many contents have it.
type lineTable struct {
	ids map[string]lineID
	all []lineText
}

type lineText struct {
	text   string
	loose  lineID // the text without white space
	weight int32  // its letters and digits
}

func newLineTable() *lineTable {
	return &lineTable{ids: map[string]lineID{}, all: make([]lineText, 1)}
}

func (t *lineTable) id(text string) lineID {
	id, known := t.ids[text]
	if known {
		return id
	}
	id = lineID(len(t.all))
	t.ids[text] = id
	t.all = append(t.all, lineText{text: text, weight: weight(text)})
	loose := id
	if squeezed := squeeze(text); squeezed != text {
		loose = t.id(squeezed)
	}
	t.all[id].loose = loose
	return id
}

func (t *lineTable) idsOf(texts []string) []lineID {
	ids := make([]lineID, len(texts))
	for i, text := range texts {
		ids[i] = t.id(text)
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

// squeeze drops white space.
func squeeze(text string) string {
	if strings.IndexFunc(text, unicode.IsSpace) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// weight counts letters and digits, as git does to tell a line worth following from a brace.
func weight(text string) (n int32) {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
