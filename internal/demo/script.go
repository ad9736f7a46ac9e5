package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type args map[string]any

// answer is what a tool gave back.
type answer struct {
	Refused bool `json:"isError"`
	Content []struct{ Text string }
	Object  map[string]any `json:"structuredContent"`
}

func (a answer) str(key string) string {
	s, _ := a.Object[key].(string)
	return s
}

func (a answer) text() (text string) {
	for _, c := range a.Content {
		text += c.Text
	}
	return text
}

// call calls a tool and prints both sides.
func (p *play) call(tool string, arguments args) (a answer) {
	if p.session != "" {
		arguments["session"] = p.session
	}
	p.say("→ %s %s", tool, visible(arguments))
	err := p.server.request("tools/call", args{"name": tool, "arguments": arguments}, &a)
	p.expect(err == nil, "%s: %v", tool, err)
	return a
}

// visible shows arguments as JSON, without the handle, which would only be noise.
func visible(arguments args) string {
	shown := args{}
	for k, v := range arguments {
		if k != "session" {
			shown[k] = v
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(shown); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// ok wants success.
func (p *play) ok(tool string, arguments args) answer {
	a := p.call(tool, arguments)
	p.expect(!a.Refused, "%s was refused: %s", tool, a.text())
	if !a.Refused {
		p.block(a.text(), 14)
	}
	return a
}

// refused wants a refusal with a code.
func (p *play) refused(code, tool string, arguments args) answer {
	a := p.call(tool, arguments)
	p.expect(a.Refused && a.str("error_type") == code, "%s: want %s, got %s", tool, code, a.text())
	p.say("✗ %s: %s", a.str("error_type"), a.str("error"))
	p.say("  next: %s — %s", a.str("action_hint"), a.str("suggestion"))
	return a
}

// agentsDay is the work of an agent that makes the mistakes agents make.
func (p *play) agentsDay() {
	p.heading("The agent writes before it has an intent: refused")
	p.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/format.sh", "content": "degrees() { echo hi; }\n"})

	p.heading("It selects one, and learns what it may do")
	selected := p.ok("select_active_intent", args{"intent_id": "INT-001"})
	p.session = selected.str("session")
	p.expect(strings.HasPrefix(p.session, "ses_"), "no session handle in %v", selected.Object)

	p.heading("It reads, then edits what it has read")
	read := p.ok("read_file", args{"path": "src/format.sh"})
	p.expect(strings.Contains(read.str("content"), `echo "$1 C"`), "read_file gave %q", read.str("content"))
	p.ok("edit_file", args{"path": "src/format.sh", "old_string": `echo "$1 C"`, "new_string": `echo "$1 °C"`})
	p.wantFile("src/format.sh", `echo "$1 °C"`)

	p.heading("It reaches outside its scope: refused, and told who owns the file")
	p.refused("SCOPE_VIOLATION", "apply_diff", args{"path": "docs/usage.md", "diff": "<<<<<<< SEARCH\n# Usage\n=======\n# Manual\n>>>>>>> REPLACE"})
	p.wantFile("docs/usage.md", "# Usage")

	p.outsideEdit()
	p.patch()
	p.heading("It runs the tests")
	tests := p.ok("execute_command", args{"command": "sh tests/run.sh"})
	p.expect(tests.Object["exit_code"] == 0.0, "the tests failed: %s", tests.text())
}

// outsideEdit is a person's editor that comes in between.
func (p *play) outsideEdit() {
	p.heading("A person edits the file meanwhile; the agent's overwrite would lose that: refused")
	path := filepath.Join(p.dir, "src", "format.sh")
	content, err := os.ReadFile(path)
	p.expect(err == nil, "%v", err)
	p.expect(os.WriteFile(path, append([]byte("# Edited by a person.\n"), content...), 0o644) == nil, "the outside edit failed")
	p.refused("STALE_FILE", "write_to_file", args{"path": "src/format.sh", "content": "degrees() { echo \"$1 °C\"; }\n"})
	p.wantFile("src/format.sh", "# Edited by a person.")
}

//go:embed change.patch
var change string

// patch changes two files at once, on top of the person's edit.
func (p *play) patch() {
	p.heading("It looks again and patches two files at once")
	p.ok("apply_patch", args{"mutation_class": "INTENT_EVOLUTION", "patch": change})
	p.wantFile("src/format.sh", "# Edited by a person.")
	p.wantFile("src/convert.sh", "fahrenheit()")
}

// aftermath shows what is left when the server has gone.
func (p *play) aftermath() {
	p.heading("What the ledger has, in .orchestration/agent_trace.jsonl")
	ledger, err := os.ReadFile(filepath.Join(p.dir, ".orchestration", "agent_trace.jsonl"))
	p.expect(err == nil, "no ledger: %v", err)
	p.showLedger(string(ledger))

	p.heading("Which intent touched what, in .orchestration/intent_map.md")
	m, err := os.ReadFile(filepath.Join(p.dir, ".orchestration", "intent_map.md"))
	p.expect(err == nil && strings.Contains(string(m), "`src/convert.sh`"), "the intent map is incomplete: %v\n%s", err, m)
	p.block(string(m), 20)

	p.heading("git diff")
	diff, err := p.git("diff", "--stat", "--", "src", "docs", "tests")
	p.expect(err == nil && strings.Contains(diff, "src/format.sh") && !strings.Contains(diff, "docs/"), "git diff: %v\n%s", err, diff)
	p.block(diff, 20)
	diff, err = p.git("diff", "--", "src/format.sh")
	p.expect(err == nil, "git diff: %v", err)
	p.block(diff, 40)
}

// ledgerLine is what the demo shows of a record.
type ledgerLine struct {
	Timestamp string `json:"timestamp"`
	IntentID  string `json:"intent_id"`
	Class     string `json:"mutation_class"`
	Metadata  map[string]struct {
		Kind    string `json:"kind"`
		Call    string `json:"call"`
		Changes []struct {
			Path string `json:"path"`
			Op   string `json:"op"`
		} `json:"changes"`
		Decision struct {
			ErrorType string `json:"error_type"`
		} `json:"decision"`
	} `json:"metadata"`
}

func (p *play) showLedger(lines string) {
	kinds := map[string]int{}
	for line := range strings.Lines(lines) {
		var l ledgerLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			p.expect(false, "a ledger line is no JSON: %v", err)
			continue
		}
		m := l.Metadata["orchestra-mcp"]
		kinds[m.Kind]++
		text := m.Decision.ErrorType
		for _, c := range m.Changes {
			text += fmt.Sprintf("%s %s ", c.Op, c.Path)
		}
		p.say("   %-10s %-9s %-16s %-21s %s", m.Kind, l.IntentID, l.Class, m.Call, text)
	}
	p.expect(kinds["mutation"] == 2 && kinds["selection"] == 1 && kinds["decision"] == 3 && kinds["command"] == 1,
		"the ledger has %v; it should have 2 mutations, 1 selection, 3 decisions and 1 command", kinds)
}

func (p *play) wantFile(name, part string) {
	content, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name)))
	p.expect(err == nil && strings.Contains(string(content), part), "%s does not have %q: %v", name, part, err)
}
