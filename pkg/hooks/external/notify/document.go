package notify

import (
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
)

// Document is a request as programs and webhooks get it.
type Document struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Intent string `json:"intent"` // "" for none
	// Title says in one line what the call would do, and Rows what is known of it.
	Title string `json:"title"`
	Rows  []Row  `json:"rows"`
	// Diff is what it would change, as lines of a unified diff. DiffCut says what of it is not there; "" if all of it is.
	Diff    string `json:"diff"`
	DiffCut string `json:"diff_cut"`
	// Workspace is the absolute path of the directory.
	Workspace string    `json:"workspace"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// AnswerWith is the command line that shows and approves it, for a terminal.
	AnswerWith string `json:"answer_with"`
}

// Row is a label and a value of one line.
type Row struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// maxDiff bounds the diff of a document, in bytes.
const maxDiff = 16 << 10

func documentOf(r approval.Request, workspace string) Document {
	view := approval.ViewOf(redacted(r))
	d := Document{
		ID: r.ID, Tool: printable.Text(r.Tool), Intent: printable.Text(r.IntentID), Title: view.Title, Rows: []Row{}, DiffCut: view.DiffCut,
		Workspace: workspace, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		AnswerWith: "orchestra-mcp approvals approve " + r.ID + " --workspace " + shellword.Quote(workspace),
	}
	for _, row := range view.Rows {
		d.Rows = append(d.Rows, Row{row.Label, row.Text})
	}
	var diff strings.Builder
	for _, line := range view.Diff {
		if diff.Len()+len(line.Text) > maxDiff {
			d.DiffCut = "the rest is not here: the command that answers shows it"
			break
		}
		diff.WriteString(line.Text + "\n")
	}
	d.Diff = diff.String()
	return d
}

// redacted is a request without what looks like a secret in its texts.
func redacted(r approval.Request) approval.Request {
	r.Checks, r.Effects, r.Diffs = slices.Clone(r.Checks), slices.Clone(r.Effects), slices.Clone(r.Diffs)
	for i := range r.Checks {
		r.Checks[i].Reason = redact.Text(r.Checks[i].Reason)
	}
	for i := range r.Effects {
		r.Effects[i].Line = redact.Text(r.Effects[i].Line)
	}
	for i := range r.Diffs {
		d := &r.Diffs[i]
		hunks := redact.Text(d.Hunks)
		d.Hunks, d.Size = hunks, d.Size+len(hunks)-len(d.Hunks)
	}
	r.Name, r.Reason = redact.Text(r.Name), redact.Text(r.Reason)
	return r
}
