package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	defaultReadLines = 2000
	// readBudget bounds the content of one read_file result, in bytes.
	readBudget = 256 << 10
	// imageLimit bounds an image that is handed over as such, in bytes.
	imageLimit = 4 << 20
	// plainLimit bounds content that stands in a result with its line numbers
	// and without, in bytes: of more, the numbered lines stand there alone.
	plainLimit = 8 << 10
)

type readArgs struct {
	located
	Session string `json:"session"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
}

type readTool struct {
	deps *Deps
	spec hooks.Spec
	args *arguments
}

func readFile(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "read_file", Title: "Read a file", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "Read a file of the workspace with line numbers and its content hash. What was read counts as seen: " +
			"write_to_file can replace a file only after all of its lines were read. Long files come in pieces: go on with offset.",
		InputSchema: input(nil, schema{
			"path": place(pathHelp), "file_path": place("Another name for path."),
			"offset": number("First line to read, 1-based.", 1),
			"limit":  schema{"type": "integer", "minimum": 1, "default": defaultReadLines, "description": "How many lines."},
		}),
		OutputSchema: output(open([]string{"path", "content_hash", "total_lines", "start_line", "end_line", "truncated", "encoding", "line_ending"}, schema{
			"path":         text("Workspace-relative."),
			"content":      text(fmt.Sprintf("The lines from start_line to end_line as they stand in the file, without numbers; left out where they are more than %d bytes.", plainLimit)),
			"numbered":     text("The same lines, with `N | ` in front of each."),
			"content_hash": text("sha256 of the raw bytes of the whole file."),
			"total_lines":  number("Lines of the whole file.", 0),
			"start_line":   number("First line of content, 0 if there is none.", 0),
			"end_line":     number("Last line of content, 0 if there is none.", 0),
			"truncated":    flag("Whether lines are missing before or behind."),
			"encoding":     text("utf-8, utf-16le, utf-16be, latin-1, windows-1252, or binary."),
			"line_ending":  text("lf, crlf, cr, mixed or none."),
			"broken_bytes": number("Bytes of the file that are not of its encoding, shown as \uFFFD; an edit keeps them.", 1),
			"mime_type":    text("Of an image or other binary file."),
			"image":        schema{"type": "object", "description": "An image as the protocol's content has it: type, data (base64), mimeType."},
			"size":         number("Bytes of a binary file.", 0),
		})),
	}
	return &readTool{d, spec, &arguments{name: spec.Name, source: spec.InputSchema}}
}

func (t *readTool) Spec() hooks.Spec { return t.spec }

func (t *readTool) Targets(_ context.Context, call *hooks.Call, raw json.RawMessage) (hooks.Targeted, error) {
	c := &readCall{tool: t}
	if err := t.args.decode(raw, &c.args); err != nil {
		return nil, err
	}
	requested, err := c.args.path()
	if err != nil {
		return nil, err
	}
	c.target, c.effect = t.deps.target(requested)
	c.effect.Kind = hooks.Read
	return c, nil
}

type readCall struct {
	tool   *readTool
	args   readArgs
	target *workspace.Target
	effect *hooks.FileEffect
	view   readView
	image  []byte
}

// readView is the structured result.
type readView struct {
	Path        string     `json:"path"`
	Content     *string    `json:"content,omitempty"`
	Numbered    string     `json:"numbered,omitempty"`
	ContentHash string     `json:"content_hash"`
	TotalLines  int        `json:"total_lines"`
	StartLine   int        `json:"start_line"`
	EndLine     int        `json:"end_line"`
	Truncated   bool       `json:"truncated"`
	Encoding    string     `json:"encoding"`
	LineEnding  string     `json:"line_ending"`
	BrokenBytes int        `json:"broken_bytes,omitempty"`
	MIMEType    string     `json:"mime_type,omitempty"`
	Size        int        `json:"size,omitempty"`
	Image       *imageView `json:"image,omitempty"`

	lines []string
	cut   bool
}

// imageView is an image for clients that show structured content only.
type imageView struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

func (c *readCall) Effects() hooks.Effects {
	return hooks.Effects{Files: []*hooks.FileEffect{c.effect}}
}

func (c *readCall) Close() error {
	if c.target == nil {
		return nil
	}
	return c.target.Close()
}

func (c *readCall) Plan(context.Context) (hooks.Planned, error) {
	content, err := c.target.Read(c.tool.deps.FileLimit)
	if err != nil {
		return nil, c.unread(err)
	}
	c.view = readView{Path: c.effect.Path, ContentHash: string(content.Hash)}
	decoded, err := workspace.Decode(content.Bytes)
	switch {
	case errors.Is(err, workspace.ErrBinary):
		c.binary(content.Bytes)
		return c, nil
	case err != nil:
		return nil, err
	}
	c.tool.deps.Fresh.Remember(string(content.Hash), content.Bytes)
	c.view.BrokenBytes = decoded.Broken
	c.view.Encoding, c.view.LineEnding = string(decoded.Encoding), string(decoded.LineEnding)
	return c, c.slice(workspace.Shown(decoded.String))
}

// unread says why there is nothing to read. That a file is gone is seen as well: whoever knew it can make it anew.
func (c *readCall) unread(err error) error {
	problem := readProblem(c.effect.Path, err)
	if r, ok := refusal.As(problem); ok && r.Code() == refusal.FileNotFound {
		return r.Deliver(refusal.Delivery{Path: c.effect.Path, Gone: true})
	}
	return problem
}

func (c *readCall) binary(b []byte) {
	c.view.Encoding, c.view.LineEnding = "binary", "none"
	c.view.MIMEType, c.view.Size = http.DetectContentType(b), len(b)
	if strings.HasPrefix(c.view.MIMEType, "image/") && len(b) <= imageLimit {
		c.image = b
	}
}

// slice takes the lines asked for, as far as the budget reaches.
func (c *readCall) slice(s string) error {
	all := edit.RawLines(s)
	v := &c.view
	v.TotalLines, v.Content = len(all), new(string)
	start, limit := max(c.args.Offset, 1), c.args.Limit
	if limit == 0 {
		limit = defaultReadLines
	}
	if start > len(all) {
		if start > 1 {
			return refusal.Newf(refusal.InvalidArguments, "offset %d is behind the last line: %s has %d lines.", start, v.Path, len(all)).
				With("path", v.Path).With("total_lines", len(all)).Suggest("Call read_file with an `offset` of at most %d, or without.", max(1, len(all)))
		}
		return nil
	}
	end := start - 1
	budget := readBudget
	for end < len(all) && end-start+1 < limit && len(all[end]) <= budget {
		budget -= len(all[end])
		end++
	}
	if end < start {
		// One line is longer than the whole budget: show its beginning, which
		// does not count as having seen it.
		v.lines, v.cut = []string{strings.ToValidUTF8(all[start-1][:readBudget], "")}, true
		end = start
	} else {
		v.lines = all[start-1 : end]
	}
	v.StartLine, v.EndLine = start, end
	v.Numbered, v.Content = edit.Numbered(bare(v.lines), start), nil
	if content := strings.Join(v.lines, ""); len(content) <= plainLimit {
		v.Content = &content
	}
	v.Truncated = start > 1 || end < len(all) || v.cut
	return nil
}

func (c *readCall) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(c.run), nil
}

func (c *readCall) run(context.Context) (*hooks.Outcome, error) {
	o := &hooks.Outcome{Record: c.tool.deps.readNote(c.effect.Path)}
	v := c.view
	switch {
	case v.Encoding == "binary":
		// Only its hash is known from here on.
		o.Delivered = []refusal.Delivery{{Path: v.Path, Hash: v.ContentHash, Total: 1, From: 1}}
	case !v.cut:
		o.Delivered = []refusal.Delivery{{Path: v.Path, Hash: v.ContentHash, Total: v.TotalLines, From: v.StartLine, To: v.EndLine}}
	}
	return o, nil
}

// readNote asks for a record of a read where the settings do.
func (d *Deps) readNote(path string) *hooks.Note {
	if !d.RecordReads {
		return nil
	}
	return &hooks.Note{Kind: string(ledger.KindRead), Detail: map[string]any{"path": path}}
}

func (c *readCall) Result(*hooks.Outcome) (hooks.Result, error) {
	v := c.view
	if v.Encoding == "binary" {
		return c.binaryResult()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n[content_hash: %s]\n[lines %d-%d of %d, %s, %s]\n", v.Path, v.ContentHash, v.StartLine, v.EndLine, v.TotalLines, v.Encoding, v.LineEnding)
	if v.BrokenBytes > 0 {
		fmt.Fprintf(&b, "[%d bytes are not UTF-8 and shown as \uFFFD; lines that you leave alone keep them]\n", v.BrokenBytes)
	}
	b.WriteString(v.Numbered)
	switch {
	case v.cut:
		fmt.Fprintf(&b, "\n[line %d is cut: it is longer than %d bytes]", v.StartLine, readBudget)
	case v.EndLine < v.TotalLines:
		fmt.Fprintf(&b, "\n[%d more lines: call read_file with offset: %d]", v.TotalLines-v.EndLine, v.EndLine+1)
	case v.TotalLines == 0:
		b.WriteString("[the file is empty]")
	}
	return encodeResult(b.String(), v)
}

// bare takes the endings off lines.
func bare(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(line, "\r\n")
	}
	return out
}

func (c *readCall) binaryResult() (hooks.Result, error) {
	v := c.view
	v.Content = new(string)
	if c.image != nil && !c.tool.deps.ShortText {
		v.Image = &imageView{"image", c.image, v.MIMEType}
	}
	result, err := encodeResult(fmt.Sprintf("%s\n[content_hash: %s]\n[%s, %d bytes]", v.Path, v.ContentHash, v.MIMEType, v.Size), v)
	if c.image != nil {
		result.Content = []hooks.Content{{MIMEType: v.MIMEType, Data: c.image}}
	}
	return result, err
}
