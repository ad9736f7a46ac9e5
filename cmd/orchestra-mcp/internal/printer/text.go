package printer

import (
	"fmt"
	"io"
	"reflect"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// text is a string of somebody else. It is safe in each format; %q quotes it as it is.
type text string

// Format implements fmt.Formatter.
func (t text) Format(state fmt.State, verb rune) {
	shown := string(t)
	if verb != 'q' {
		shown = printable.Text(shown)
	}
	fmt.Fprintf(state, fmt.FormatString(state, verb), shown)
}

// Safe makes the strings among the arguments of a format safe, see [Printer.Printf]. Errors stay what %w needs.
func Safe(args []any) []any {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case Raw, error:
			safe[i] = arg
		case string:
			safe[i] = text(arg)
		default:
			if safe[i] = arg; reflect.ValueOf(arg).Kind() == reflect.String {
				safe[i] = text(fmt.Sprint(arg))
			}
		}
	}
	return safe
}

// Fprintf is [Printer.Printf] for another writer.
func Fprintf(out io.Writer, format string, args ...any) {
	safe := Safe(args)
	for i, arg := range safe {
		if err, isError := arg.(error); isError {
			safe[i] = Lines(err.Error())
		}
	}
	_, _ = fmt.Fprintf(out, format, safe...)
}

// Line is a text made safe, with tabs left as they are.
func Line(text string) Raw { return Raw(printable.Line(text)) }

// Lines is Line for a message of several lines, such as an error that quotes the command line.
func Lines(text string) Raw { return Raw(printable.Lines(text)) }

// Cell is a text made safe and at most n characters long; both ends of what is too long are kept, for a path as for a
// command. "" is shown as -.
func Cell(text string, n int) Raw {
	if text == "" {
		return "-"
	}
	shown := []rune(printable.Text(text))
	if len(shown) <= n {
		return Raw(shown)
	}
	head := (n - 1) / 2
	return Raw(string(shown[:head]) + "…" + string(shown[len(shown)-(n-1-head):]))
}

// Count is a number of things, as in 1 record and 2 records.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
