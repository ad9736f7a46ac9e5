package apps

import (
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// Bounds of what a view has: the rest is in the terminal and in the console. maxBytes is of the diff, the lines of a file, or
// all intents, as they are shown: what is made visible in a hostile text is several times as long.
const (
	maxBytes   = 128 << 10
	maxIntents = 200
	maxGlobs   = 20
	maxLines   = 2000
	maxChars   = 400
)

// View is what the page shows; exactly one of Approval, Board and Blame is set.
type View struct {
	Approval *approvalView `json:"approval,omitempty"`
	Board    *boardView    `json:"board,omitempty"`
	Blame    *blameView    `json:"blame,omitempty"`
	// Console is the address of a console that runs, which has no secret in it; "" if none does.
	Console string `json:"console,omitempty"`
	// More says what is not shown; "" if nothing is left out.
	More string `json:"more,omitempty"`
}

type approvalView struct {
	Title string     `json:"title"`
	Rows  []row      `json:"rows"`
	Diff  []diffLine `json:"diff"`
}

type row struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// diffLine has the kinds of approval.DiffLine.
type diffLine struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Approval shows what a call is stopped for, as the operator is shown it. That it is answered elsewhere, the page says.
func Approval(r approval.Request) *View {
	shown := approval.ViewOf(r)
	v := &approvalView{Title: shown.Title, Rows: []row{}, Diff: []diffLine{}}
	for _, r := range shown.Rows {
		v.Rows = append(v.Rows, row{r.Label, r.Text})
	}
	more, size := shown.DiffCut, 0
	for i, line := range shown.Diff {
		if size += len(line.Text); size > maxBytes {
			more = strings.TrimSuffix(fmt.Sprintf("%d of %d lines of the diff are not shown here; %s", len(shown.Diff)-i, len(shown.Diff), more), "; ")
			break
		}
		v.Diff = append(v.Diff, diffLine{string(rune(line.Kind)), line.Text})
	}
	return &View{Approval: v, More: more}
}

type boardView struct {
	Intents []card `json:"intents"`
}

type card struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Status   string   `json:"status"`
	Agent    string   `json:"agent,omitempty"`
	Scope    []string `json:"scope"` // empty: every path
	Selected bool     `json:"selected,omitempty"`
	// Changed is when something was last done under it, RFC 3339; "" if that is not known.
	Changed string `json:"changed,omitempty"`
}

// Board shows the intents, in the order of their file. selected is the id of the one that the caller works under, "" for none;
// changed has when something was last done under an intent, as far as it is known.
func Board(set *intent.Set, selected string, changed map[string]time.Time) *View {
	v, more, size := &boardView{Intents: []card{}}, "", 0
	all := set.All()
	for i, in := range all {
		c := newCard(in)
		c.Selected = in.ID == selected
		if at, known := changed[in.ID]; known {
			c.Changed = at.UTC().Format(time.RFC3339)
		}
		if size += len(c.Name) + len(c.Agent) + len(strings.Join(c.Scope, "")); i == maxIntents || size > maxBytes {
			more = fmt.Sprintf("%d more intents: orchestra-mcp intents list", len(all)-i)
			break
		}
		v.Intents = append(v.Intents, c)
	}
	return &View{Board: v, More: more}
}

func newCard(in *intent.Intent) card {
	c := card{ID: in.ID, Name: shown(in.Name), Status: string(in.Status), Agent: shown(in.Agent), Scope: []string{}}
	for i, glob := range in.OwnedScope {
		if i == maxGlobs {
			c.Scope = append(c.Scope, fmt.Sprintf("… and %d more", len(in.OwnedScope)-i))
			break
		}
		c.Scope = append(c.Scope, shown(glob))
	}
	return c
}

type blameView struct {
	Path   string  `json:"path"`
	Blocks []block `json:"blocks"`
}

// block is lines that stand together and come from one record in one way; no record wrote those without an id.
type block struct {
	Start      int      `json:"start"` // 1-based
	Lines      []string `json:"lines"`
	Confidence string   `json:"confidence"`
	RecordID   string   `json:"record_id,omitempty"`
	IntentID   string   `json:"intent_id,omitempty"`
	Class      string   `json:"mutation_class,omitempty"`
	Model      string   `json:"model_id,omitempty"`
	Time       string   `json:"timestamp,omitempty"` // RFC 3339
}

// Blame shows which intent each line of a file comes from, and how sure that is.
func Blame(path string, lines []blame.Line) *View {
	v, more, size := &blameView{Path: shown(path), Blocks: []block{}}, "", 0
	for i, l := range lines {
		text := codeLine(l.Text)
		if size += len(text); i == maxLines || size > maxBytes {
			more = fmt.Sprintf("%d more lines: orchestra-mcp blame FILE", len(lines)-i)
			break
		}
		if i == 0 || l.Record != lines[i-1].Record || l.Confidence != lines[i-1].Confidence {
			v.Blocks = append(v.Blocks, newBlock(l))
		}
		last := &v.Blocks[len(v.Blocks)-1]
		last.Lines = append(last.Lines, text)
	}
	return &View{Blame: v, More: more}
}

func newBlock(l blame.Line) block {
	b := block{Start: l.Number, Confidence: string(l.Confidence)}
	if r := l.Record; r != nil {
		b.RecordID, b.IntentID, b.Class, b.Model = shown(r.ID), shown(r.IntentID), shown(r.MutationClass), shown(r.Contributor.ModelID)
		b.Time = r.Time.UTC().Format(time.RFC3339)
	}
	return b
}

// shown is a text of others as one line that is safe to print.
func shown(text string) string { return printable.Text(printable.Clip(text, maxChars)) }

// codeLine is shown with the tabs of source left as they are.
func codeLine(text string) string {
	parts := strings.Split(printable.Clip(text, maxChars), "\t")
	for i, part := range parts {
		parts[i] = printable.Text(part)
	}
	return strings.Join(parts, "\t")
}
