package console_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// From a directory to a file, from one of its lines to the story of it, to the record, and to the intent.
func TestFromALineToItsIntent(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	check.Value(check.GitAt(ws.dir, time.Unix(1_700_000_000, 0), "add", "src"))(t)
	check.Value(check.GitAt(ws.dir, time.Unix(1_700_000_000, 0), "commit", "-qm", "Three lines of old"))(t)
	a := ws.agent("builder")
	a.Selects("INT-001")
	a.OK("read_file", args{"path": "src/a.txt"})
	a.OK("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2"})
	page := w.console().opened(nil)
	page.clicks("link", "Files")
	page.clicks("link", "src/")
	page.sees("INT-001")
	page.clicks("link", "a.txt")
	page.sees("1 line")
	lines := value[[]string](page, `return page.locator(".blame tbody tr").allInnerTexts()`)
	check.That(t, len(lines) == 3 && strings.HasPrefix(lines[1], "INT-001\texact\t2\t2"), "the lines: %q", lines)
	page.does(`await page.locator(".blame .number a").first().click()`)
	page.sees("Three lines of old")
	page.does(`await page.goBack(); await page.locator(".blame .number a").nth(1).click()`)
	page.sees("Why is line 2 of src/a.txt here?")
	page.does(`await page.locator(".story h2 a").click()`)
	page.sees("No later record is about it.")
	page.does(`await page.goBack(); await page.locator(".story").getByRole("link", {name: "Build Weather API"}).click()`)
	page.sees("Serve the weather.")
}

// The check says that the ledger holds, and what is wrong when somebody has changed a record.
func TestLedgerCheck(t *testing.T) {
	w := newWorld(t)
	ws := w.unverified("weather") // it is damaged
	a := ws.agent("builder")
	a.Selects("INT-001")
	a.OK("write_to_file", args{"path": "src/new.txt", "content": "new\n"})
	a.OK("write_to_file", args{"path": "src/newer.txt", "content": "newer\n"})
	page := w.console().opened(nil)
	page.clicks("link", "Ledger")
	page.sees("The ledger holds")
	file := ledgertest.File(ws.dir)
	whole := string(check.Value(os.ReadFile(file))(t))
	check.OK(t, os.WriteFile(file, []byte(strings.Replace(whole, "src/new.txt", "src/old.txt", 1)), 0o600))
	page.does(`await page.reload()`)
	page.sees("problem")
	page.misses("The ledger holds")
}

// What agents have done is counted, and a scope that is wider than what was used of it has a tighter one proposed.
func TestInsight(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	for i := range 30 {
		ws.write(fmt.Sprintf("src/old/%d.txt", i), "old\n")
	}
	a := ws.agent("builder")
	a.Selects("INT-001")
	for _, name := range strings.Fields("a b c d e") {
		a.OK("write_to_file", args{"path": "src/new/" + name, "content": "new\n"})
	}
	a.Refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "unseen\n"})
	page := w.console().opened(nil)
	page.clicks("link", "Insight")
	page.sees("5 changes, 1 refusal")
	page.sees("Changes by intent")
	page.sees("Enough would be")
}
