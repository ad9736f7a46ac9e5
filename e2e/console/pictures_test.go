package console_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

var update = flag.Bool("update", false, "make the pictures in docs/console and their texts anew")

// steady makes everything the same that differs from run to run, times, ids, the directory, processes, and gives the text in the
// same breath: an update may come behind it.
const steady = `return page.evaluate(() => {
	document.querySelectorAll("time").forEach(time => time.removeAttribute("data-since") || time.removeAttribute("data-until"));
	const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let text; text = texts.nextNode();) {
		text.data = text.data.replace(/\/\S*\/work\//g, "/home/you/").replace(/apr_[a-z2-7]{26}/g, "apr_k3x7q2ha5e6mfzb4wd7cj3nu2t")
			.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "2026-02-19T09:30:00Z").replace(/process \d+/g, "process 4711")
			.replace(/^\d+ s$/, "12 s").replace(/^23 h \d+ min$/, "23 h 59 min");
	}
	document.getElementById("bell").hidden = true;
	document.activeElement.blur();
	return document.querySelector("main").innerText;
});`

// picture holds docs/console/NAME.webp to the text that the view shows; -update makes it again. Pixels are not compared: fonts
// differ between machines.
func (w *window) picture(name string) {
	w.t.Helper()
	w.does(`await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"))`)
	got, text := value[string](w, steady)+"\n", filepath.Join("testdata", name+".txt")
	if *update {
		check.OK(w.t, os.WriteFile(text, []byte(got), 0o644))
		picture := value[[]byte](w, `
			const height = await page.evaluate(() => Math.min(innerHeight, document.querySelector("main").lastElementChild.getBoundingClientRect().bottom + 16));
			const devtools = await context.newCDPSession(page); // Playwright itself makes no WebP
			const {data} = await devtools.send("Page.captureScreenshot", {format: "webp", quality: 85, clip: {x: 0, y: 0, width: 960, height, scale: 1}});
			return data;`)
		check.That(w.t, len(picture) <= 60_000, "the picture of %s has %d bytes", name, len(picture))
		check.OK(w.t, os.WriteFile("../../docs/console/"+name+".webp", picture, 0o644))
	}
	want, err := os.ReadFile(text)
	check.That(w.t, err == nil && string(want) == got, "docs/console/%s.webp does not show what the console shows (%v): go test ./e2e/console -run Picture -update\n%s", name, err, got)
}

const weatherIntents = `active_intents:
  - {id: INT-001, name: Show degrees as people write them, status: IN_PROGRESS, owned_scope: ["src/**"]}
  - {id: INT-002, name: Ask the station once a minute, status: IN_PROGRESS, owned_scope: ["src/**"]}
`

const weatherBefore = `const station = "https://station.example/now";

export async function report() {
  const { celsius } = await (await fetch(station)).json();
  return celsius + " C";
}
`

// The pictures of the console in the documentation.
func TestPictures(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	ws.write(".orchestration/active_intents.yaml", weatherIntents)
	ws.write("src/report.js", weatherBefore)
	ws.write("docs/usage.md", "# Usage\n\nThe report says \"7 C\".\n")
	check.Value(check.GitAt(ws.dir, time.Unix(1_771_493_400, 0), "add", "src", "docs"))(t)
	check.Value(check.GitAt(ws.dir, time.Unix(1_771_493_400, 0), "commit", "-qm", "The report"))(t)
	other := ws.agent("codex")
	other.Selects("INT-002")
	other.OK("read_file", args{"path": "src/report.js"})
	other.OK("edit_file", args{"path": "src/report.js", "old_string": "export async", "new_string": "let last, asked = 0;\n\nexport async"})
	other.OK("edit_file", args{"path": "src/report.js", "old_string": "  const { celsius } = await (await fetch(station)).json();\n",
		"new_string": "  if (Date.now() - asked > 60_000) {\n    last = await (await fetch(station)).json();\n    asked = Date.now();\n  }\n"})
	a := ws.agent("claude-code")
	a.Selects("INT-001")
	a.OK("read_file", args{"path": "src/report.js"})
	a.OK("edit_file", args{"path": "src/report.js", "old_string": `celsius + " C"`, "new_string": `last.celsius + " °C"`})
	a.OK("read_file", args{"path": "docs/usage.md"})
	a.begins("edit_file", args{"path": "docs/usage.md", "old_string": `"7 C".`, "new_string": `"7 °C", or "45 °F" with UNITS=us.`})

	page := w.console().opened(options{"viewport": map[string]int{"width": 960, "height": 640}})
	page.sees("docs/usage.md")
	page.picture("now")
	page.goes("/approvals")
	page.clicks("link", "docs/usage.md")
	page.sees("Your answer")
	page.picture("approval")
	page.goes(ws.at("file?path=src/report.js"))
	page.sees("last.celsius")
	page.picture("blame")
}
