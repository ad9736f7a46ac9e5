package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/demo"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// TestPictureOfTheDemo holds testdata/demo.svg to what the demo prints: `go test ./cmd/orchestra-mcp -run Picture -update` makes
// it again.
func TestPictureOfTheDemo(t *testing.T) {
	home(t)
	program := check.Value(exec.LookPath("orchestra-mcp"))(t)
	var out bytes.Buffer
	bold := func(s string) string { return "\x1b[1m" + s + "\x1b[0m" }
	check.OK(t, demo.Run(t.Context(), demo.Options{Executable: program, Out: &out, Errors: io.Discard, Bold: bold}))
	checkPicture(t, "demo.svg", "orchestra-mcp demo", scenes(out.String(),
		"== The agent writes before it has an intent", "== It reaches outside its scope", "== A person edits the file",
		"== It runs the tests", "== What the ledger has"))
}

// scenes are the parts of the demo's report that begin with a heading, without what differs from run to run.
func scenes(report string, headings ...string) (lines []string) {
	varies := regexp.MustCompile(`(sha256:[0-9a-f]{4})[0-9a-f]{60}`)
	shown := false
	for line := range strings.Lines(report) {
		line = strings.TrimRight(line, "\n")
		if plain := strings.ReplaceAll(line, "\x1b[1m", ""); strings.HasPrefix(plain, "== ") {
			shown = slices.ContainsFunc(headings, func(heading string) bool { return strings.HasPrefix(plain, heading) })
		}
		if shown && !strings.Contains(line, "ms, sandbox:") {
			lines = append(lines, varies.ReplaceAllString(line, "$1…"))
		}
	}
	return lines
}

// one is a request that waits.
type one struct{ item watch.Item }

func (o one) Items() ([]watch.Item, error) { return []watch.Item{o.item}, nil }

func (one) Answer(string, watch.Decision, string) (string, error) { return "", nil }

// TestPictureOfApprovals holds testdata/approvals.svg to the live view of a request.
func TestPictureOfApprovals(t *testing.T) {
	const reason = "INT-001 is not authorized to edit [docs/usage.md]."
	r := approval.Request{
		ID: "apr_k3x7q2ha5e6mfzb4wd7cj3nu2t", Tool: "apply_diff", IntentID: "INT-001", IntentName: "Show degrees as people write them", Client: "claude-code",
		CreatedAt: askedAt.Add(-40 * time.Second), ExpiresAt: askedAt.Add(23 * time.Hour),
		Checks:  []approval.Check{{Hook: "scope", ErrorType: "SCOPE_VIOLATION", Reason: reason, Paths: []string{"docs/usage.md"}}},
		Effects: []approval.Effect{{Kind: "modify", Path: "docs/usage.md", Before: "sha256:" + strings.Repeat("1", 64), After: "sha256:" + strings.Repeat("2", 64)}},
		Diffs:   []approval.FileDiff{{Path: "docs/usage.md", Hunks: "@@ -1,3 +1,3 @@\n # Usage\n \n-The report says \"7 C\".\n+The report says \"7 °C\", or \"45 °F\" with UNITS=us.\n", Size: 90, Lines: 5}},
	}
	model := tea.Model(watch.New(one{requestItem(r)}, watch.Options{Title: "weather", Color: true, Now: func() time.Time { return askedAt }}))
	model, _ = model.Update(tea.WindowSizeMsg{Width: 96, Height: 22})
	model, _ = model.Update(model.Init()())
	checkPicture(t, "approvals.svg", "orchestra-mcp approvals watch", strings.Split(model.(watch.Model).View().Content, "\n"))
}

func checkPicture(t *testing.T, name, command string, lines []string) {
	t.Helper()
	path, want := filepath.Join("testdata", name), drawTerminal(command, lines)
	if *update {
		check.OK(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	check.That(t, err == nil && string(got) == want,
		"testdata/%s does not show what %s prints (%v): go test ./cmd/orchestra-mcp -run Picture -update", name, command, err)
}

const columns, rowHeight, charWidth = 116, 18, 8

// drawTerminal is an SVG of a terminal after a command. Of the escape sequences it knows those of a style.
func drawTerminal(command string, lines []string) string {
	lines = append([]string{"$ \x1b[1m" + command + "\x1b[0m"}, lines...)
	var b strings.Builder
	height := (len(lines)+1)*rowHeight + 8
	width := columns*charWidth + 24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(command))
	b.WriteString("<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d0d7de;white-space:pre}" +
		".b{font-weight:bold;fill:#fff}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.c{fill:#79c0ff}.f{fill:#8b949e}</style>\n")
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#0d1117"/>` + "\n")
	for i, line := range lines {
		if drawn := drawLine(line); drawn != "" {
			fmt.Fprintf(&b, `<text x="12" y="%d" xml:space="preserve">%s</text>`+"\n", (i+1)*rowHeight+6, drawn)
		}
	}
	return b.String() + "</svg>\n"
}

var padding = regexp.MustCompile(` +((\x1b\[[0-9;]*m)*)$`)

var style = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// drawLine gives the spans of a line, cut at the edge.
func drawLine(line string) string {
	var b strings.Builder
	class, room := lineClass(line), columns
	write := func(text string) {
		if cut := []rune(text); len(cut) > room {
			text = string(cut[:max(room-1, 0)]) + strings.Repeat("…", min(room, 1))
		}
		room -= len([]rune(text))
		switch text = html.EscapeString(text); {
		case text == "":
		case class == "":
			b.WriteString(text)
		default:
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, class, text)
		}
	}
	line, at := padding.ReplaceAllString(line, "$1"), 0
	for _, m := range style.FindAllStringSubmatchIndex(line, -1) {
		write(line[at:m[0]])
		at = m[1]
		if class = classes[line[m[2]:m[3]]]; class == "" {
			class = lineClass(line)
		}
	}
	write(line[at:])
	return b.String()
}

// classes are the classes of the styles that the program prints.
var classes = map[string]string{"1": "b", "31": "r", "32": "g", "33": "y", "36": "c", "2": "f"}

// lineClass colours the lines of the demo by their signs.
func lineClass(line string) string {
	switch trimmed := strings.TrimSpace(line); {
	case strings.HasPrefix(trimmed, "✗"):
		return "r"
	case strings.HasPrefix(trimmed, "→"):
		return "c"
	case strings.HasPrefix(trimmed, "ok "):
		return "g"
	}
	return ""
}
