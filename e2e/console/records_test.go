package console_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// scrolls goes to the end of the timeline as a person does, and gives the addresses of the records in their order.
func (w *window) scrolls() []string {
	w.t.Helper()
	return value[[]string](w, `return page.evaluate(async () => {
		while (document.querySelector("[data-more]")) {
			scrollTo(0, document.body.scrollHeight);
			await new Promise(requestAnimationFrame);
		}
		return [...document.querySelectorAll(".records tbody a")].map(link => link.pathname);
	})`)
}

// The whole ledger can be scrolled through, each record once; what comes meanwhile does not take away what was scrolled to.
func TestTimelineScrolls(t *testing.T) {
	w := newWorld(t)
	ws := w.unverified("weather") // the contents of its records do not exist
	root := check.Value(os.OpenRoot(ws.dir))(t)
	defer root.Close()
	written := check.Rounds(750, 20_000)
	check.OK(t, ledgertest.Write(t.Context(), root, ledgertest.Shape{Records: written, Intents: 5}))
	page := w.console(ws).opened(nil)
	page.clicks("link", "Timeline")
	page.sees("More records")
	seen := page.scrolls()
	check.Equal(t, len(seen), written, "records to the end")
	slices.Sort(seen)
	check.Equal(t, len(slices.Compact(seen)), written, "different records")

	ws.agent("builder").Selects("INT-001")
	page.sees("There are newer records")
	check.Equal(t, value[int](page, `return page.locator(".records tbody tr").count()`), written)
}

// Filters narrow the records, and stay as they are set while new records come.
func TestTimelineFilters(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	a := ws.agent("builder")
	a.Selects("INT-001")
	a.OK("write_to_file", args{"path": "src/new.txt", "content": "new\n"})
	a.OK("write_to_file", args{"path": "src/b/c.txt", "content": "c\n"})
	a.Selects("INT-002")
	a.OK("write_to_file", args{"path": "docs/new.md", "content": "new\n", "intent_id": "INT-002"})
	page := w.console().opened(nil)
	page.clicks("link", "Timeline")
	rows := func() string {
		return strings.Join(value[[]string](page, `return page.locator(".records tbody a").allInnerTexts()`), "\n")
	}
	page.sees("docs/new.md")
	page.does(`await page.locator("select[name=intent]").selectOption("INT-001")`)
	page.types("Path", "src/b/")
	a.OK("write_to_file", args{"path": "docs/later.md", "content": "later\n", "intent_id": "INT-002"})
	page.sees("docs/later.md")
	page.clicks("button", "Show")
	page.misses("docs/new.md")
	check.That(t, strings.Count(rows(), "src/b/c.txt") == 1 && !strings.Contains(rows(), "src/new.txt"), "records of INT-001 below src/b: %s", rows())
	page.types("Path", "")
	page.does(`await page.locator("select[name=kind]").selectOption("selection")`)
	page.clicks("button", "Show")
	page.misses("src/b/c.txt")
	check.Equal(t, strings.Count(rows(), "\n"), 0, "selections of INT-001: %s", rows())
	page.does(`await page.locator("input[name=until]").fill("2001-01-01")`)
	page.clicks("button", "Show")
	page.sees("No records.")
}

// A record shows what it changed and what became of it; undo shows what it would do, and does that.
func TestUndoWithPreview(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	a := ws.agent("builder")
	a.Selects("INT-001")
	a.OK("read_file", args{"path": "src/a.txt"})
	a.OK("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "two more"})
	page := w.console().opened(nil)
	page.clicks("link", "Timeline")
	page.clicks("link", "src/a.txt")
	page.sees("No later record is about it.")
	check.Equal(t, page.text(".split td:nth-child(4) mark"), " more")
	page.clicks("link", "Undo …")
	page.sees("Undo this")
	check.Equal(t, page.text(".split td:nth-child(2) mark"), " more")
	check.Equal(t, ws.read("src/a.txt"), "one\ntwo more\nthree\n", "the file before the answer")
	ws.write("src/a.txt", "one\ntwo more\nthree\nfour\n")
	page.clicks("button", "Undo this")
	page.sees("look again before you undo")
	page.does(`await page.reload()`)
	page.clicks("button", "Undo this")
	page.sees("Undone.")
	check.Equal(t, ws.read("src/a.txt"), "one\ntwo\nthree\nfour\n")
	page.does(`await page.goBack(); await page.goBack()`)
	page.sees("undone by")
}
