package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/presence"
)

// browser is e2e/console/drive.mjs, which has what is said to it in its head.
type browser struct {
	in   io.WriteCloser
	out  *json.Decoder
	sent int
}

// browser starts one until the end of the group, or says why there is none.
func (s *suite) browser() (*browser, string) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, "no chromium"
	}
	dir := filepath.Join(s.module, "e2e", "console")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		return nil, "what drives the browser is not installed: npm ci --prefix e2e/console"
	}
	cmd := s.command(dir, nil, "node", "drive.mjs", chromium)
	cmd.Stderr = os.Stderr
	b := &browser{in: must(cmd.StdinPipe()), out: json.NewDecoder(must(cmd.StdoutPipe()))}
	if err := cmd.Start(); err != nil {
		return nil, err.Error()
	}
	s.atEnd(func() error {
		return errors.Join(b.in.Close(), cmd.Wait())
	})
	return b, ""
}

// ask sends a line, and waits for its answer.
func (b *browser) ask(line args) json.RawMessage {
	b.sent++
	line["id"] = b.sent
	check(json.NewEncoder(b.in).Encode(line))
	var said struct {
		Value        json.RawMessage
		Error, Shown string
	}
	check(b.out.Decode(&said))
	if said.Error != "" {
		check(fmt.Errorf("in the browser: %s\n%s", said.Error, said.Shown))
	}
	return said.Value
}

// milliseconds are what JavaScript measures in a window.
func (b *browser) milliseconds(window int, code string, arguments ...any) (taken samples) {
	var found []float64
	check(json.Unmarshal(b.ask(args{"window": window, "code": code, "args": append([]any{}, arguments...)}), &found))
	for _, ms := range found {
		taken = append(taken, time.Duration(ms*float64(time.Millisecond)))
	}
	return taken
}

// firstPaint is from the start of a navigation to the frame that has the first record, in a browser that has nothing of the page.
const firstPaint = `await page.addInitScript(() => {
	const look = new MutationObserver(() => {
		if (!document.querySelector(".records tbody tr")) return;
		look.disconnect();
		requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
	});
	look.observe(document, {childList: true, subtree: true});
});
await page.goto(a);
await page.waitForFunction(() => window.painted);
return [await page.evaluate(() => window.painted)];`

// nextPages is from a jump to the list's end to the frame that has more of it, so many times.
const nextPages = `return page.evaluate(async n => {
	const taken = [], rows = () => document.querySelectorAll(".records tbody tr").length;
	while (taken.length < n) {
		const before = rows(), began = performance.now();
		scrollTo(0, document.body.scrollHeight);
		while (rows() <= before) await new Promise(requestAnimationFrame);
		taken.push(performance.now() - began);
		await new Promise(done => setTimeout(done, 50));
	}
	return taken;
}, a);`

// measureConsole looks at a long timeline as an operator does: each console is new, and so is the browser's context.
func measureConsole(s *suite) {
	length := thousands(int64(s.records)) + " records"
	paint, next := "console: first paint of the timeline, "+length, "console: a next page of the timeline, p50, "+length
	b, why := s.browser()
	if b == nil {
		s.add(notMeasured(paint, "≤ 1,000 ms", why), notMeasured(next, "≤ 100 ms", why))
		return
	}
	dir := s.workspace(longIntents)
	s.atEnd(func() error { return os.RemoveAll(filepath.Join(dir, ".orchestration")) })
	s.writeLedger(dir, s.records, "")
	var painted, pages samples
	for i := range pick(s.short, 2, 5) {
		link, stopConsole := s.console(dir)
		origin, code, _ := strings.Cut(link, "/#")
		b.ask(args{"open": args{"origin": origin}})
		window := b.sent
		first := b.milliseconds(window, firstPaint, origin+"/w/"+presence.Name(dir)+"/timeline#"+code)
		if i == 0 { // it makes the ledger's index
			s.add(inform(paint+", without an index", ms(first[0]), milliseconds, ""))
		} else {
			painted = append(painted, first...)
		}
		pages = append(pages, b.milliseconds(window, nextPages, pick(s.short, 5, 20))...)
		b.ask(args{"window": window, "close": true})
		stopConsole()
	}
	s.add(atMost(paint+", p50", ms(painted.p50()), 1000, milliseconds, painted.String()), atMost(next, ms(pages.p50()), 100, milliseconds, pages.String()))
}

// console starts one, and gives its link.
func (s *suite) console(dir string) (link string, end func()) {
	cmd := s.command(dir, nil, s.program, "console", "--workspace", dir)
	out := bufio.NewScanner(must(cmd.StdoutPipe()))
	check(cmd.Start())
	end = func() { stop(cmd, syscall.SIGTERM) }
	for out.Scan() {
		if link = strings.TrimSpace(out.Text()); strings.HasPrefix(link, "http://") {
			return link, end
		}
	}
	end()
	check(errors.New("the console gave no link"))
	return "", nil
}
