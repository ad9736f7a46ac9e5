package tools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// readBudget bounds the content of one read_file result, in bytes.
	readBudget = 256 << 10
	// imageLimit bounds an image that is handed over as such, in bytes.
	imageLimit = 4 << 20
	// plainLimit bounds content that stands in a result with its line numbers and without, in bytes: of more, the numbered
	// lines stand there alone. shortLimit does where results.text is short, for clients whose models pay for both.
	plainLimit, shortLimit = 8 << 10, 512
)

type readArgs struct {
	sessionArg
	filePath
	Offset int `json:"offset,omitempty" min:"1" doc:"From 1."`
	Limit  int `json:"limit,omitempty" min:"1" default:"2000"`
}

func readFile(files *Files) hooks.Tool {
	spec := looking("read_file", "Read a file", "Read a file, with line numbers and content hash. write_to_file replaces a file only after all of its lines were read.")
	return define[readArgs, readView](spec, func(call *hooks.Call, args readArgs) (hooks.Targeted, error) {
		c := &readCall{files: files, args: args, selected: call.Session != nil}
		c.target, c.effect = files.target(args.Path)
		c.effect.Op = change.Read
		return c, nil
	}, schema.Numbers{"plain": plainLimit, "short": shortLimit})
}

type readCall struct {
	onTarget
	files    *Files
	args     readArgs
	selected bool // an intent, under which the file can be changed next
	view     readView
	image    []byte
}

// readView is the structured result.
type readView struct {
	Path        string     `json:"path" doc:"Workspace-relative."`
	Content     *string    `json:"content,omitempty" listed:"true" doc:"The lines from start_line to end_line as they stand in the file, without numbers; left out where they are more than {plain} bytes (with short texts {short})."`
	Numbered    string     `json:"numbered,omitempty" listed:"true" doc:"The same lines, with \x60N | \x60 in front of each."`
	ContentHash string     `json:"content_hash" doc:"sha256 of the raw bytes of the whole file."`
	TotalLines  int        `json:"total_lines" min:"0" doc:"Lines of the whole file."`
	StartLine   int        `json:"start_line" min:"0" doc:"First line of content, 0 if there is none."`
	EndLine     int        `json:"end_line" min:"0" doc:"Last line of content, 0 if there is none."`
	Truncated   bool       `json:"truncated" doc:"Whether lines are missing before or behind."`
	Encoding    string     `json:"encoding" doc:"utf-8, utf-16le, utf-16be, latin-1, windows-1252, or binary."`
	LineEnding  string     `json:"line_ending" doc:"lf, crlf, cr, mixed or none."`
	BrokenBytes int        `json:"broken_bytes,omitempty" min:"1" doc:"Bytes of the file that are not of its encoding, shown as \uFFFD; an edit keeps them."`
	MIMEType    string     `json:"mime_type,omitempty" doc:"Of an image or other binary file."`
	Size        int        `json:"size,omitempty" min:"0" doc:"Bytes of a binary file."`
	Image       *imageView `json:"image,omitempty" form:"object" doc:"An image as the protocol's content has it: type, data (base64), mimeType."`

	lines []string
	cut   bool
}

// imageView is an image for clients that show structured content only.
type imageView struct {
	Type     string `json:"type"`
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

func (c *readCall) Plan(context.Context) (hooks.Planned, error) {
	content, err := c.target.Read(c.files.Limit)
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
	c.files.Fresh.Remember(string(content.Hash), content.Bytes)
	if c.selected {
		mutation.Expect(c.effect.Path, content.Bytes)
	}
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
	if start > len(all) {
		if start > 1 {
			return refusal.AtPath(refusal.InvalidArguments, v.Path, "offset %d is behind the last line: %s has %d lines.", start, v.Path, len(all)).
				With("total_lines", len(all)).Suggest("Call read_file with an `offset` of at most %d, or without.", max(1, len(all)))
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
		// One line is longer than the whole budget: show its beginning, which does not count as having seen it.
		v.lines, v.cut = []string{strings.ToValidUTF8(all[start-1][:readBudget], "")}, true
		end = start
	} else {
		v.lines = all[start-1 : end]
	}
	v.StartLine, v.EndLine = start, end
	v.Content = nil
	limit = plainLimit
	if c.files.ShortText {
		limit = shortLimit
	}
	if size := sizeOf(v.lines); !v.cut && size <= limit {
		from := sizeOf(all[:start-1])
		content := s[from : from+size]
		v.Content = &content
	}
	v.Truncated = start > 1 || end < len(all) || v.cut
	return nil
}

func (c *readCall) Prepare(context.Context) (hooks.Prepared, error) {
	return hooks.Immediate(c.run), nil
}

func (c *readCall) run(context.Context) (*hooks.Outcome, error) {
	o := &hooks.Outcome{Record: c.files.readNote(c.effect.Path)}
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
func (f *Files) readNote(path string) *hooks.Note {
	if !f.RecordReads {
		return nil
	}
	return &hooks.Note{Kind: string(record.KindRead), Detail: map[string]any{"path": path}}
}

func (c *readCall) Result(*hooks.Outcome) (hooks.Result, error) {
	v := c.view
	if v.Encoding == "binary" {
		return c.binaryResult()
	}
	var b strings.Builder
	b.Grow(len(v.Path) + 500 + sizeOf(v.lines) + 12*len(v.lines))
	fmt.Fprintf(&b, "%s\n[content_hash: %s]\n[lines %d-%d of %d, %s, %s]\n", v.Path, v.ContentHash, v.StartLine, v.EndLine, v.TotalLines, v.Encoding, v.LineEnding)
	if v.BrokenBytes > 0 {
		fmt.Fprintf(&b, "[%d bytes are not UTF-8 and shown as \uFFFD; lines that you leave alone keep them]\n", v.BrokenBytes)
	}
	from := b.Len()
	edit.WriteNumbered(&b, bare(v.lines), v.StartLine)
	to := b.Len()
	switch {
	case v.cut:
		fmt.Fprintf(&b, "\n[line %d is cut: it is longer than %d bytes]", v.StartLine, readBudget)
	case v.EndLine < v.TotalLines:
		fmt.Fprintf(&b, "\n[%d more lines: call read_file with offset: %d]", v.TotalLines-v.EndLine, v.EndLine+1)
	case v.TotalLines == 0:
		b.WriteString("[the file is empty]")
	}
	text := b.String()
	v.Numbered = text[from:to]
	return hooks.NewResult(text, v)
}

func sizeOf(lines []string) (size int) {
	for _, line := range lines {
		size += len(line)
	}
	return size
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
	if c.image != nil && !c.files.ShortText {
		v.Image = &imageView{"image", c.image, v.MIMEType}
	}
	result, err := hooks.NewResult(fmt.Sprintf("%s\n[content_hash: %s]\n[%s, %d bytes]", v.Path, v.ContentHash, v.MIMEType, v.Size), v)
	if c.image != nil {
		result.Content = []hooks.Content{{MIMEType: v.MIMEType, Data: c.image}}
	}
	return result, err
}
