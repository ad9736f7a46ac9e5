package watch_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

// hostile are texts that try to act on a terminal, or to look like something else.
var hostile = []string{
	"\x1b[2J\x1b[H\x1b]0;title\x07", "a\u202egpj.exe", "\u2066x\u2069\u200b\u2060", "\r\nApproved.\n", "\u009b2J",
	"a\tb\tc", "z" + strings.Repeat("\u0336", 50), strings.Repeat("木", 300), "\xff\xfe\x00", "\u3164\u2800\ufe0f",
	strings.Repeat("x", 5000) + "+ rm -rf /", "\x1b[31", "\u0301", "👩‍👩‍👧‍👦 family", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "",
}

func hostileItem(n int, text string) watch.Item {
	item := request(n, text, text+text)
	item.Tool, item.IntentID, item.Subject, item.OnlyOnce = text, text, text, text
	for i, line := range item.Body {
		line.Style = watch.Style(i)
		item.Body[i] = line
	}
	return item
}

var ourColors = regexp.MustCompile("\x1b\\[(0|1|3[1236])m")

// checkScreen: the screen has exactly the rows and columns of the terminal, and no character that acts but our colours.
func checkScreen(t *testing.T, m watch.Model, width, height int) {
	t.Helper()
	rows := m.Screen()
	check.Must(t, len(rows) <= height, "%d rows in %d×%d", len(rows), width, height)
	for _, row := range rows {
		plain := ourColors.ReplaceAllString(row, "")
		got := ansi.StringWidth(plain)
		check.Must(t, got <= width, "a row of %d columns in %d×%d: %q", got, width, height, row)
		for _, r := range plain {
			if !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
				t.Fatalf("%U is in a row of %d×%d: %q", r, width, height, row)
			}
		}
	}
}

func TestEveryScreenFitsAndNothingActs(t *testing.T) {
	var items []watch.Item
	for i, text := range hostile {
		items = append(items, hostileItem(i, text))
	}
	items = append(items, grant(90))
	modes := [][]string{nil, {"a"}, {"i"}, {"d"}, {"?"}, {"G"}}
	widths, heights := []int{1, 2, 7, 23, 24, 25, 40, 79, 99, 100, 101, 160}, []int{1, 2, 7, 8, 9, 12, 24, 60}
	if check.Short() {
		widths, heights = []int{1, 24, 80, 101}, []int{1, 8, 24}
	}
	for _, width := range widths {
		for _, height := range heights {
			for _, keys := range modes {
				d := start(t, width, height, items...)
				for range items {
					d.wait(second).press(keys...)
					checkScreen(t, d.model, width, height)
					d.press("esc").press("down")
				}
			}
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, 80, 24)
	}
	f.Fuzz(func(t *testing.T, text string, width, height int) {
		width, height = abs(width)%200, abs(height)%80
		d := start(t, width, height, hostileItem(1, text))
		d.wait(second)
		for _, keys := range []string{"a", "y", "d", text, "G"} {
			d.write(keys)
			checkScreen(t, d.model, width, max(1, height))
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// Whatever a line is long, all of it can be scrolled to, and its continuation is marked.
func TestLongLinesAreWrappedNotCut(t *testing.T) {
	d := start(t, 80, 24, request(1, "-"+strings.Repeat("x", 3000)+"+evil"))
	d.press("G").expect("evil")
	for _, row := range d.model.Screen() {
		check.That(t, !strings.HasPrefix(row, "+") && !strings.HasPrefix(row, " +"), "a continuation looks like an added line: %q", row)
	}
}

func TestSmallTerminalsAnswerNothing(t *testing.T) {
	d := start(t, 20, 5, request(1))
	d.wait(second).press("a", "y", "d", "enter").expect("Make the terminal l")
	d.expectGiven()
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.press("a", "y") // it came on the screen just now
	d.expectGiven()
	d.wait(second).press("a", "y")
	d.expectGiven(given{request(1).ID, watch.Once, ""})
}

func TestColorOnlyWhenAskedFor(t *testing.T) {
	item := request(1)
	item.Body = append(item.Body, watch.Line{Text: "+added", Style: watch.Added})
	for _, color := range []bool{true, false} {
		m := watch.New(&source{t: t, items: []watch.Item{item}}, watch.Options{Color: color, Now: timeNoon})
		model, _ := m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		model, _ = model.Update(m.Init()())
		has := strings.Contains(model.View().Content, "\x1b[32m")
		check.That(t, has == color, "colour %v: %q", color, model.View().Content)
	}
}
