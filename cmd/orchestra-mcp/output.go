package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	printing "github.com/intentgov/orchestra-mcp/internal/printable"
)

// addJSONFlag gives a command that prints a table for people its form for programs.
func addJSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON")
}

// printJSON writes one indented document.
func printJSON(out io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(out, printableJSON(text.Bytes()))
	return err
}

// printTable writes rows in columns, the first row being the heading. Cells are made safe for a terminal.
func printTable(out io.Writer, rows [][]string) error {
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		if _, err := io.WriteString(writer, strings.TrimRight(strings.Join(cells, "\t"), "\t")+"\n"); err != nil {
			return err
		}
	}
	return writer.Flush()
}

// printable makes what could act on a terminal visible: a name in a workspace must not be able to move the cursor, or to
// hide what stands before it.
func printable(text string) string { return printing.Text(text) }

// clipped shortens a text to n characters.
func clipped(text string, n int) string { return printing.Clip(text, n) }

// styled puts a text in colour if the output is a terminal and nobody asked for none.
func (a *app) styled(code, text string) string {
	if value, set := a.lookup("NO_COLOR"); !a.outTerminal || (set && value != "") {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	styleBold  = "1"
	styleGreen = "32"
	styleAmber = "33"
	styleRed   = "31"
)

// printableLines is printable for a message of several lines, such as an error that quotes the command line.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printableLine(line)
	}
	return strings.Join(lines, "\n")
}

// printableJSON is a JSON text of the same value, safe for a terminal.
func printableJSON(text []byte) string { return printing.JSON(text) }
