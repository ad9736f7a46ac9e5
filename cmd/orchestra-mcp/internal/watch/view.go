package watch

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// View implements tea.Model.
func (m Model) View() tea.View {
	view := tea.NewView(strings.Join(m.screen(), "\n"))
	view.AltScreen = true
	view.WindowTitle = fmt.Sprintf("approvals (%d)", m.pending())
	return view
}

// screen is every row, none wider than the terminal.
func (m Model) screen() []string {
	l := m.layout()
	if l.small {
		out := []string{}
		for _, r := range rows([]Line{{Text: "Make the terminal larger."}}, m.width) {
			out = append(out, cell(r.text, m.width))
		}
		return out[:min(len(out), m.height)]
	}
	out := []string{m.paint(Heading, cell(m.title(), m.width))}
	detail := append([]string{m.head(l)}, m.padded(m.body, m.scroll, l)...)
	if m.mode == helping {
		detail = append([]string{cell("", l.detailWidth)}, m.padded(rows(helpLines(), l.detailWidth), 0, l)...)
	}
	list := m.list(l)
	if l.beside {
		for i := range list {
			out = append(out, list[i]+"│"+detail[i])
		}
	} else {
		out = append(append(out, list...), detail...)
	}
	for _, r := range m.foot(m.width, m.height/2) {
		out = append(out, m.paint(r.style, cell(r.text, m.width)))
	}
	return out
}

func (m Model) pending() (n int) {
	for _, item := range m.items {
		if !item.Grant {
			n++
		}
	}
	return n
}

func (m Model) title() string {
	text := fmt.Sprintf("%d pending, %d granted", m.pending(), len(m.items)-m.pending())
	if m.opts.Title != "" {
		text += " · " + m.opts.Title
	}
	return text
}

// list is the part of the list around the selection.
func (m Model) list(l layout) []string {
	first := min(max(0, m.position()-l.listHeight/2), max(0, len(m.items)-l.listHeight))
	var out []string
	for _, item := range m.items[first:min(len(m.items), first+l.listHeight)] {
		out = append(out, m.listRow(item, l.listWidth))
	}
	if len(m.items) == 0 {
		out = append(out, cell(m.empty(), l.listWidth))
	}
	for len(out) < l.listHeight {
		out = append(out, strings.Repeat(" ", l.listWidth))
	}
	return out
}

func (m Model) empty() string {
	switch {
	case m.loadErr != nil && !m.loaded:
		return "Not read yet."
	case !m.loaded:
		return "Reading …"
	}
	return "Nothing waits. New requests appear here."
}

func (m Model) listRow(item Item, width int) string {
	mark, what, style := "  ", item.Tool, Plain
	if item.Grant {
		what = "granted " + item.Tool
	}
	if m.shown && item.ID == m.current.ID {
		mark, style = "> ", Heading
	}
	if item.ID == m.busy {
		mark = "… "
	}
	head := fmt.Sprintf("%s%-4s ", mark, printable.Age(m.opts.Now().Sub(item.Created)))
	return m.paint(style, cell(head, 7)+cell(what+" "+item.Subject, width-7))
}

// head is the line above the body.
func (m Model) head(l layout) string {
	if !m.shown {
		return rule("", l.detailWidth)
	}
	text := m.current.ID
	if len(m.body) > l.detailHeight {
		text += fmt.Sprintf(" · rows %d-%d of %d", m.scroll+1, min(len(m.body), m.scroll+l.detailHeight), len(m.body))
	}
	if m.gone {
		text += " · gone"
	}
	return rule(text, l.detailWidth)
}

// rule is a line across, with a text in it.
func rule(text string, width int) string {
	if text != "" {
		text = "─ " + text + " "
	}
	return cell(text+strings.Repeat("─", max(0, width-ansi.StringWidth(text))), width)
}

func (m Model) padded(body []row, from int, l layout) []string {
	out := make([]string, 0, l.detailHeight)
	for i := from; i < min(len(body), from+l.detailHeight); i++ {
		out = append(out, m.paint(body[i].style, cell(body[i].text, l.detailWidth)))
	}
	for len(out) < l.detailHeight {
		out = append(out, strings.Repeat(" ", l.detailWidth))
	}
	return out
}

var colors = map[Style]string{Heading: "1", Warning: "33", Place: "36", Added: "32", Removed: "31"}

// paint puts a safe text in colour; a heading is bold, which is no colour.
func (m Model) paint(style Style, text string) string {
	code := colors[style]
	if code == "" || (!m.opts.Color && style != Heading) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
