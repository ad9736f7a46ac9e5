package console_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// asks is a workspace whose agent works on INT-001, so that it has to ask about what is not below src, and the console's list
// of requests.
func (w *world) asks() (*workspace, *agent, *served, *window) {
	w.t.Helper()
	ws := w.workspace("weather")
	a := ws.agent("builder")
	a.Selects("INT-001")
	a.OK("read_file", args{"path": "docs/other.md"})
	c := w.console()
	page := c.opened(nil)
	page.clicks("link", "Approvals")
	page.sees("Nothing waits for an answer.")
	return ws, a, c, page
}

// A request shows what it would change, and why it has to be asked for; one approval lets one call go on, a denial tells the
// agent why, and an approval for the intent lets later calls pass until it is revoked.
func TestAnswersReachTheAgent(t *testing.T) {
	ws, a, _, page := newWorld(t).asks()
	call := a.writes("docs/other.md", "# Other\n\nThe weather of <b>today</b>.\n")
	page.clicks("link", "docs/other.md")
	page.sees("is not authorized to edit")
	page.sees("left")
	cells := value[[]string](page, `return page.locator(".split tbody tr").last().locator("td").allInnerTexts()`)
	check.Equal(t, strings.Join(cells, "|"), "||3|The weather of <b>today</b>.")
	page.sees("23 h 59 min") // it counts down
	page.clicks("button", "Approve once")
	page.sees("Approved apr_")
	goesOn(t, call)
	check.Equal(t, ws.read("docs/other.md"), "# Other\n\nThe weather of <b>today</b>.\n")

	call = a.writes("docs/denied.md", "no\n")
	page.clicks("link", "docs/denied.md")
	page.sees("Edit, then approve") // the request's own page; the list has a field for a reason too
	page.types("Reason", `only in "src", please`)
	page.clicks("button", "Deny")
	page.sees("the agent is told")
	r := call()
	check.That(t, r.Error && strings.Contains(r.Text, `only in \"src\", please`), "the agent was not told: %s", r.Text)

	call = a.writes("docs/third.md", "one\n")
	page.clicks("link", "docs/third.md")
	page.clicks("button", "Approve for this intent")
	page.sees("until the intent ends")
	goesOn(t, call)
	a.OK("write_to_file", args{"path": "docs/third.md", "content": "two\n"})
	page.clicks("button", "Revoke")
	page.sees("is asked about again")
	call = a.writes("docs/third.md", "three\n")
	page.clicks("link", "docs/third.md")
	page.sees("Your answer")
	page.clicks("button", "Deny")
	check.That(t, call().Error, "the call passed by a grant that was revoked")
}

// Several of a kind are answered together, and what is chosen stays with its request when others of the list go.
func TestSeveralTogether(t *testing.T) {
	ws, a, c, page := newWorld(t).asks()
	var calls []func() bool
	for _, name := range []string{"docs/a.md", "docs/b.md", "docs/c.md", "docs/d.md"} {
		call := a.writes(name, name+"\n")
		calls = append(calls, func() bool { return !call().Error })
		page.sees(name)
	}
	other := c.opened(nil)
	other.clicks("link", "Approvals")
	for _, w := range []*window{page, other} {
		check.Equal(t, value[int](w, `return page.locator(".asks").count()`), 4)
	}
	page.types("Reason", "typed before")
	page.does(`await page.getByLabel("docs/c.md").check()`)
	other.clicks("link", "docs/a.md")
	other.sees("Your answer") // the list has a button to deny, too
	other.clicks("button", "Deny")
	other.sees("Denied")
	page.does(`await page.locator(".asks", {hasText: "docs/a.md"}).waitFor({state: "detached"})`)
	check.Equal(t, value[string](page, `return page.getByLabel("Reason").first().inputValue()`), "typed before")
	page.does(`await page.getByLabel("docs/d.md").check()`)
	page.clicks("button", "Approve the chosen once")
	page.sees("Approved apr_")
	page.does(`await page.getByLabel("docs/b.md").check()`)
	page.types("Reason", "not this one")
	page.does(`await page.getByLabel("Reason").first().press("Enter")`) // answers nothing
	page.clicks("button", "Deny the chosen")
	page.sees("Nothing waits")
	for i, want := range []bool{false, false, true, true} {
		check.Equal(t, calls[i](), want, "call %d went on", i)
	}
	check.Equal(t, ws.read("docs/c.md"), "docs/c.md\n")
}

// Who was slower hears what happened meanwhile, and nothing is answered twice: in another window, in the terminal, or by a
// file that changed.
func TestAnsweredMeanwhile(t *testing.T) {
	ws, a, c, page := newWorld(t).asks()
	other := c.opened(nil)
	other.clicks("link", "Approvals")
	call := a.writes("docs/one.md", "one\n")
	page.clicks("link", "docs/one.md")
	other.clicks("link", "docs/one.md")
	page.sees("Your answer") // the list has a field for a reason, too
	page.types("Reason", "being typed")
	other.clicks("button", "Approve once")
	goesOn(t, call)
	page.sees("approved")

	call = a.writes("docs/two.md", "two\n")
	page.clicks("link", "Approvals")
	page.clicks("link", "docs/two.md")
	page.sees("Your answer")
	id := value[string](page, `return page.url().split("/").pop()`)
	ws.runs("approvals", "deny", id, "--reason", "in the terminal")
	check.That(t, call().Error, "the denied call went through")
	page.misses("Your answer")

	call = a.writes("docs/other.md", "# Mine\n")
	page.clicks("link", "Approvals")
	page.clicks("link", "docs/other.md")
	page.sees("Your answer")
	ws.write("docs/other.md", "# Changed by a person\n")
	page.clicks("button", "Approve once")
	page.sees("has changed since the agent asked")
	page.clicks("button", "Deny")
	check.That(t, call().Error, "the denied call went through")
	check.Equal(t, ws.read("docs/other.md"), "# Changed by a person\n")
}

// An answer that no call has used can be taken back.
func TestTakeBack(t *testing.T) {
	_, a, _, page := newWorld(t).asks()
	a.writes("docs/gone.md", "x\n")
	page.sees("docs/gone.md")
	a.kill()
	page.clicks("link", "docs/gone.md")
	page.clicks("button", "Approve once")
	page.sees("Answers that still stand")
	page.clicks("button", "Take back")
	page.sees("Revoked apr_")
	page.misses("Answers that still stand")
}

// What the operator makes of a call is shown as a difference, is made in its place, and the agent is told of it.
func TestEditThenApprove(t *testing.T) {
	ws, a, _, page := newWorld(t).asks()
	call := a.writes("docs/other.md", "# Other\n\nIt rains <b>always</b>.\n")
	page.clicks("link", "docs/other.md")
	page.clicks("link", "Edit, then approve")
	page.types("docs/other.md as it will be", "# Other\n\nIt rains <b>sometimes</b>.\n")
	a.writes("docs/second.md", "while it is edited\n")
	page.does(`await page.waitForFunction(() => document.querySelector("[data-waiting]").innerText === "2")`)
	page.clicks("button", "Show the difference")
	page.sees("What it will do")
	check.Equal(t, strings.Join(value[[]string](page, `return page.locator("#difference .diff").first().locator("mark").allInnerTexts()`), "|"), "alway|sometime")
	page.clicks("button", "Approve this version once")
	page.sees("Approved apr_")
	r := call()
	check.That(t, !r.Error && strings.Contains(r.Text, "sometimes"), "the agent was not told: %s", r.Text)
	check.Equal(t, ws.read("docs/other.md"), "# Other\n\nIt rains <b>sometimes</b>.\n")
}
