// Package printer is how every subcommand writes its answer: lines, records, tables, colour, JSON and the pager.
//
// It promises that a string reaches the terminal only with what could act on it made visible: a name in a workspace cannot
// move the cursor, or hide what stands before it. A [Printer] remembers its first failure to write and writes nothing after
// it, so a command need not look at each line; [Printer.Failure] tells it at the end. It does not promise a width: only
// [Printer.Width] knows that.
package printer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// Printer writes one command's answer. It belongs to one goroutine.
type Printer struct {
	// Terminal: a person sees the answer, who can have colour and a pager.
	Terminal bool

	screen  io.Writer // what was given to New
	out     io.Writer // screen, or what stands before it
	err     error
	env     Environment
	columns int // of the terminal behind a pager
}

// Environment is what a Printer asks of the process that it runs in.
type Environment struct {
	Lookup  func(string) (string, bool)
	Environ func() []string
	// Errors is where a pager writes its own errors.
	Errors io.Writer
}

// New is a Printer that writes to out.
func New(out io.Writer, terminal bool, env Environment) *Printer {
	return &Printer{Terminal: terminal, screen: out, out: out, env: env}
}

// Write writes bytes as they are.
func (p *Printer) Write(text []byte) (n int, err error) {
	if p.err == nil {
		n, p.err = p.out.Write(text)
	}
	return n, p.err
}

// Failure is why the answer did not arrive; nil if it did. gone says that whoever read it has stopped, which is no failure.
func (p *Printer) Failure() (err error, gone bool) {
	return p.err, errors.Is(p.err, syscall.EPIPE) || errors.Is(p.err, io.ErrClosedPipe) || isClosedByReader(p.err)
}

// Raw is a text that is printed as it is: whoever made it has made it safe.
type Raw string

// Printf prints a formatted text. Strings among the arguments, of any string type but [Raw], are made safe for one line;
// an error keeps its line breaks.
func (p *Printer) Printf(format string, args ...any) {
	Fprintf(p, format, args...)
}

// Println prints its arguments, made safe, and a newline.
func (p *Printer) Println(args ...any) {
	_, _ = fmt.Fprintln(p, Safe(args)...)
}

// Field prints what a record has under a name; nothing if it has nothing. indent stands before the name.
func (p *Printer) Field(indent, name, value string) {
	if value != "" {
		p.Printf("%s%-9s %s\n", indent, name, value)
	}
}

// List prints a heading, if it is not empty, and a line for each item; nothing without items.
func (p *Printer) List(heading, bullet string, items []string) {
	if heading != "" && len(items) > 0 {
		p.Println(Raw(heading))
	}
	for _, item := range items {
		p.Printf("%s%s\n", bullet, item)
	}
}

// JSON prints one indented document.
func (p *Printer) JSON(value any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil && p.err == nil {
		p.err = err
	}
	_, _ = io.WriteString(p, printable.JSON(text.Bytes()))
}

// buffered lets a body write in large pieces.
func (p *Printer) buffered(body func() error) error {
	below := p.out
	buffer := bufio.NewWriterSize(below, 64<<10)
	p.out = buffer
	err := body()
	p.Flush()
	p.out = below
	return err
}

// Flush writes what waits in a buffer, before something is written elsewhere.
func (p *Printer) Flush() {
	if buffer, ok := p.out.(*bufio.Writer); ok && p.err == nil {
		p.err = buffer.Flush()
	}
}

// Green is for what is well, Amber for what should be known, Red for what is wrong, Cyan for places, Bold for headings.
func (p *Printer) Green(text string) Raw { return p.styled("32", printable.Text(text)) }

// Amber, see Green.
func (p *Printer) Amber(text string) Raw { return p.styled("33", printable.Text(text)) }

// Red, see Green.
func (p *Printer) Red(text string) Raw { return p.styled("31", printable.Text(text)) }

// Cyan, see Green.
func (p *Printer) Cyan(text string) Raw { return p.styled("36", printable.Text(text)) }

// Bold, see Green.
func (p *Printer) Bold(text string) Raw { return p.styled("1", printable.Text(text)) }

// styled puts a safe text in colour if the output is a terminal and nobody asked for none.
func (p *Printer) styled(code, text string) Raw {
	if !p.Terminal {
		return Raw(text)
	}
	if value, _ := p.env.Lookup("NO_COLOR"); value != "" {
		return Raw(text)
	}
	return Raw("\x1b[" + code + "m" + text + "\x1b[0m")
}

// DiffLine prints a line of a unified diff in its colour.
func (p *Printer) DiffLine(line string) {
	text := Line(line)
	switch {
	case strings.HasPrefix(line, "@@"):
		text = p.styled("36", string(text))
	case strings.HasPrefix(line, "+"):
		text = p.styled("32", string(text))
	case strings.HasPrefix(line, "-"):
		text = p.styled("31", string(text))
	}
	p.Println(text)
}
