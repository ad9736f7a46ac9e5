package printer

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table prints a row for each item below a heading, whose columns stand between bars: "ID|AGE". Without items it prints
// nothing.
func Table[T any](p *Printer, heading string, items []T, row func(T) []any) {
	if len(items) == 0 {
		return
	}
	var rows [][]any
	var columns []any
	for column := range strings.SplitSeq(heading, "|") {
		columns = append(columns, column)
	}
	rows = append(rows, columns)
	for _, item := range items {
		rows = append(rows, row(item))
	}
	p.Rows(rows...)
}

// Section is Table after an empty line.
func Section[T any](p *Printer, heading string, items []T, row func(T) []any) {
	if len(items) > 0 {
		p.Println()
	}
	Table(p, heading, items, row)
}

// Rows prints cells in columns.
func (p *Printer) Rows(rows ...[]any) {
	writer := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range Safe(row) {
			cells[i] = fmt.Sprint(cell)
		}
		_, _ = io.WriteString(writer, strings.TrimRight(strings.Join(cells, "\t"), "\t")+"\n")
	}
	_ = writer.Flush() // the Printer remembers
}

// More says how many of n items a table of at most shown left out, if any.
func (p *Printer) More(n, shown int, what string) {
	if n > shown {
		p.Printf("and %d more%s\n", n-shown, what)
	}
}
