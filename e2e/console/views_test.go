package console_test

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// hostile texts, as files' names where they can be, as all else that others write, and as intents.
const (
	markup   = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><a href="javascript:alert(3)">{{.}}${7*7}&lt;`
	unseen   = "\u202egnp.exe\u2066\u200bzero\u00ad\u2028\u0007\x1b[31m"
	filename = `"><img src=x onerror=alert(4)>{{.}}` + "\u202e\u200b" + `javascript:alert(5).txt`
)

// long has no place to break at.
func long(n int) string { return strings.Repeat("W", n) }

// hostileWorkspace has such texts wherever an agent or a repository can put one, and five requests that wait.
func (w *world) hostileWorkspace() *workspace {
	t := w.t
	t.Helper()
	ws := w.workspace("weather")
	everything := markup + unseen + long(300)
	ws.write(".orchestration/active_intents.yaml", fmt.Sprintf(`active_intents:
  - {id: INT-001, name: %q, status: IN_PROGRESS, description: %q, owned_scope: ["src/**", %q], constraints: [%[1]q], acceptance_criteria: [%[1]q], verify: [%[1]q]}
  - {id: %[4]s, name: Long, status: TODO, owned_scope: ["x/**"]}
`, everything, everything+"\n"+everything, markup[:20]+"/**", "I"+long(63)))
	ws.write("src/"+filename, everything+"\nsecond\n")
	ws.write("src/"+long(200)+".txt", "long\n")
	check.Value(check.GitAt(ws.dir, time.Unix(1_700_000_000, 0), "add", "src"))(t)
	check.Value(check.GitAt(ws.dir, time.Unix(1_700_000_000, 0), "commit", "-qm", everything))(t)
	a := ws.agent(everything)
	a.Selects("INT-001")
	a.OK("read_file", args{"path": "src/" + filename})
	a.OK("edit_file", args{"path": "src/" + filename, "old_string": "second", "new_string": everything})
	a.Call("execute_command", args{"command": "echo '" + strings.ReplaceAll(everything, "'", "") + "'"})
	a.begins("request_scope_expansion", args{"paths": []string{"docs/**"}, "reason": everything})
	a.begins("propose_intent", args{"name": everything[:180], "description": everything, "owned_scope": []string{"y/**"}})
	a.writes("docs/"+filename, everything+"\n"+long(5000)+"\n")
	a.writes("docs/granted "+filename, everything)
	a.writes("docs/denied "+filename, everything)
	return ws
}

// Every view shows what others wrote as text, whatever is in it: nothing of it runs, no character of it acts on what is around
// it, and nothing gets out of the page's width, on a small screen too. axe finds nothing, in the light and in the dark.
func TestEveryViewWithHostileTexts(t *testing.T) {
	w := newWorld(t)
	ws := w.hostileWorkspace()
	page := w.console(ws).opened(nil)
	page.clicks("link", "Approvals")
	page.does(`await page.waitForFunction(() => document.querySelectorAll(".asks").length === 5)`)
	for name, button := range map[string]string{"docs/granted": "Approve for this intent", "docs/denied": "Deny"} {
		page.clicks("link", name)
		page.clicks("button", button)
		page.does(`await page.getByRole("heading", {name: "Approvals"}).waitFor()`)
	}
	bare := []string{"/nothing/there", ws.at("files"), ws.at("ledger"), ws.at("insight")}
	views := append(slices.Clone(bare), "/", "/approvals", ws.at("intents"), ws.at("intents/INT-001"), ws.at("timeline"), ws.at("files?path=src"))
	file := url.QueryEscape("src/" + filename)
	views = append(views, ws.at("file?path="+file), ws.at("why?line=1&path="+file), ws.at("why?line=2&path="+file), ws.at("timeline?path="+file))
	views = append(views, value[[]string](page, `return page.locator(".asks a").evaluateAll(all => all.map(link => link.pathname))`)...)
	views = append(views, value[string](page, `return page.locator(".asks a", {hasText: "write_to_file"}).evaluate(link => link.pathname)`)+"/edit")
	page.goes(ws.at("timeline"))
	records := value[[]string](page, `return page.locator(".records a").evaluateAll(all => all.map(link => link.pathname))`)
	views = append(views, records...)
	changed := value[string](page, `return page.locator(".records a", {hasText: "edit_file modified"}).evaluate(link => link.pathname)`)
	views = append(views, ws.at("undo?record="+path.Base(changed)))
	for _, view := range views {
		whole := check.Long() || !slices.Contains(records, view) || slices.Index(records, view) < 3 // the other records are the same view
		page.goes(view)
		page.does(`await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"))`)
		page.holds(view, whole)
		shown := strings.Contains(page.text("main"), "alert(")
		check.That(t, shown || slices.Contains(bare, view), "%s does not show what others wrote", view)
	}
	check.That(t, len(records) >= 3, "records: %q", records)
}

// holds looks at the view that is shown: at what is in it, and with whole at how it looks and at what a screen reader finds.
func (w *window) holds(view string, whole bool) {
	w.t.Helper()
	found := value[[]string](w, `
		const found = await page.evaluate(() => {
			const main = document.querySelector("main"), found = [];
			for (const e of main.querySelectorAll("script, img, iframe, :not(.chart) > svg, object, embed, style, link, base, meta")) found.push("an element: " + e.outerHTML);
			for (const e of document.querySelectorAll("*")) for (const {name, value} of e.attributes) {
				if (name.startsWith("on")) found.push("a handler: " + e.outerHTML);
				if (["href", "src", "action", "formaction"].includes(name) && !/^(\/(?!\/)|#main$)/.test(value)) found.push("an address: " + value);
			}
			const acting = document.body.innerText.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u);
			if (acting) found.push("a character that acts: " + acting[0].codePointAt(0).toString(16));
			return found;
		});
		if (!b) return found;
		for (const colorScheme of ["light", "dark"]) {
			await page.emulateMedia({colorScheme});
			found.push(...await page.evaluate(async ([source, colorScheme]) => {
				if (!window.axe) (0, eval)(source);
				const only = colorScheme === "dark" ? {runOnly: ["color-contrast"]} : {}; // no other rule looks at colours
				const {violations} = await axe.run({resultTypes: ["violations"], ...only});
				return violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 200) + " " + n.failureSummary).slice(0, 2).join("; "));
			}, [axe, colorScheme]));
		}
		await page.setViewportSize({width: 360, height: 640});
		const wide = await page.evaluate(() => {
			const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, nav, pre, .unseen"));
			return document.documentElement.scrollWidth > innerWidth ? ["wider than the page: " + wide.slice(0, 3).map(e => e.outerHTML.slice(0, 150)).join("\n")] : [];
		});
		await page.setViewportSize({width: 1280, height: 800});
		return found.concat(wide);`, nil, whole)
	check.That(w.t, len(found) == 0, "%s:\n%s", view, strings.Join(found, "\n"))
}
