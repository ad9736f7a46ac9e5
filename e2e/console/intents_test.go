package console_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// An intent is added, starts, gets more scope and ends on the page, as the file and a second window show.
func TestIntents(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	c := w.console(ws)
	page, other := c.opened(nil), c.opened(nil)
	other.goes(ws.at("intents"))
	other.does(`await page.getByText("New intent").click()`)
	other.types("Name", "Half a name")
	page.clicks("link", "Intents")
	page.does(`await page.getByText("New intent").click()`)
	page.types("Name", "Say when it rains")
	page.types("Description", "Rain, \"heavy\": yes.\nAnd snow.")
	page.types("Owned scope", "rain/**\nsnow/*.go")
	page.types("Constraints", "Use metres")
	page.types("Acceptance criteria", "It rains")
	page.types("Verify commands", "true")
	page.clicks("button", "Add")
	page.sees("Added INT-006.")
	page.sees("And snow.")
	other.sees("INT-006 Say when it rains")

	page.clicks("button", "In progress")
	page.sees("INT-006 is now: In progress.")
	other.does(`await page.getByRole("region", {name: "In progress"}).getByText("INT-006").waitFor()`)
	check.Equal(t, value[string](other, `return page.getByLabel("Name").inputValue()`), "Half a name", "what was typed while the board changed")
	page.does(`await page.getByText("Edit", {exact: true}).click()`)
	page.types("Owned scope", "rain/**\nsrc/**")
	page.clicks("button", "Save")
	page.does(`await page.getByRole("main").getByRole("listitem").getByText("src/**", {exact: true}).waitFor()`)
	page.clicks("button", "src/")
	page.sees("1 file in the scope, 0 not")
	page.clicks("button", "Blocked")
	page.sees("INT-006 is now: Blocked.")
	page.clicks("button", "In progress")
	page.sees("INT-006 is now: In progress.")
	page.clicks("button", "Done")
	page.sees("INT-006 is now: Done.")
	file := ws.read(".orchestration/active_intents.yaml")
	check.That(t, strings.Contains(file, `["rain/**", "src/**"]`) && strings.HasPrefix(file, "# The work of this test."), "the file: %s", file)
}
