package clientsetup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// hookSeconds is after how long a client gives a hook up.
const hookSeconds = 20

// oldGuard is how an earlier setup had Cursor ask.
const oldGuard = "client-guard cursor"

// hookFile is where and how a client has its hooks.
type hookFile struct {
	file    string            // in the workspace
	word    clienthook.Client // what stands behind `hook`
	at      []string          // where the events stand in it
	handler hookHandler       // what all of ours have
	events  []hookEvent
	groups  bool   // an event has groups of handlers, each with a matcher
	version bool   // the file says "version": 1
	exec    bool   // the program's arguments stand apart
	closed  bool   // a hook that fails stops the call
	lenient bool   // comments are read
	off     string // key=value that switches all hooks off
}

// hookEvent is an event to be told of; before: the client waits for an answer.
type hookEvent struct {
	name, matcher string
	before        bool
	seconds       int // 0: as long as the others
}

// hookHandler has the keys of all clients' handlers. OnFailure and FailClosed stand only before a call.
type hookHandler struct {
	Name       string   `json:"name,omitempty"`
	Type       string   `json:"type,omitempty"`
	Command    string   `json:"command"`
	Args       []string `json:"args,omitempty"`
	Timeout    int      `json:"timeout,omitempty"`
	OnFailure  string   `json:"onFailure,omitempty"`
	FailClosed bool     `json:"failClosed,omitempty"`
}

// hookFiles are the clients' by their names. VS Code reads Copilot's file, which therefore has events in the form of both.
func hookFiles() map[string]hookFile {
	hooks, command := []string{"hooks"}, hookHandler{Type: "command", Timeout: hookSeconds}
	ends := []hookEvent{{name: "UserPromptSubmit"}, {name: "Stop"}, {name: "SessionEnd"}}
	// A matcher is an expression of JavaScript: calls of our own tools are judged where they arrive.
	claude, gemini := "^(?!mcp__"+ServerName+"__)", "^(?!mcp_"+ServerName+"_)"
	copilot := hookFile{file: ".github/hooks/orchestra.json", word: clienthook.Copilot, at: hooks, version: true, closed: true, off: "disableAllHooks=true",
		handler: command, events: append([]hookEvent{{name: "PreToolUse", before: true}, {name: "PostToolUse"}, {name: "PostToolUseFailure"}}, ends...)}
	vscode := copilot
	vscode.closed = false
	return map[string]hookFile{
		"claude-code": {file: claudeSettings, word: clienthook.ClaudeCode, at: hooks, groups: true, exec: true, closed: true, off: "disableAllHooks=true",
			handler: hookHandler{Type: "command", Timeout: hookSeconds, OnFailure: "block"},
			events: append([]hookEvent{{name: "PreToolUse", matcher: claude, before: true}, {name: "PostToolUse", matcher: claude},
				{name: "PostToolUseFailure", matcher: claude}}, ends...)},
		"codex": {file: ".codex/hooks.json", word: clienthook.Codex, at: hooks, groups: true, handler: command,
			events: []hookEvent{{name: "PreToolUse", before: true}, {name: "PostToolUse"}, {name: "UserPromptSubmit"}, {name: "Stop"},
				{name: "SessionEnd", seconds: 3}}}, // it takes no longer time, and its hash of trust has the one that it takes
		"copilot": copilot,
		"vscode":  vscode,
		"cursor": {file: ".cursor/hooks.json", word: clienthook.Cursor, at: hooks, version: true, closed: true,
			handler: hookHandler{Timeout: hookSeconds, FailClosed: true},
			events:  []hookEvent{{name: "preToolUse", before: true}, {name: "postToolUse"}, {name: "postToolUseFailure"}, {name: "stop"}, {name: "sessionEnd"}}},
		"gemini": {file: ".gemini/settings.json", word: clienthook.Gemini, at: hooks, groups: true, lenient: true, off: "hooksConfig.enabled=false",
			handler: hookHandler{Name: ServerName, Type: "command", Timeout: hookSeconds * 1000},
			events: []hookEvent{{name: "BeforeTool", matcher: gemini, before: true}, {name: "AfterTool", matcher: gemini},
				{name: "BeforeAgent"}, {name: "AfterAgent"}, {name: "SessionEnd"}}},
		"devin": {file: ".devin/hooks.v1.json", word: clienthook.Devin, groups: true, handler: command,
			events: append([]hookEvent{{name: "PreToolUse", before: true}, {name: "PostToolUse"}}, ends...)},
		"windsurf": {file: ".windsurf/hooks.json", word: clienthook.Windsurf, at: hooks,
			events: []hookEvent{{name: "pre_read_code", before: true}, {name: "pre_write_code", before: true}, {name: "pre_run_command", before: true},
				{name: "post_read_code"}, {name: "post_write_code"}, {name: "post_run_command"}}},
	}
}

// planHooks plans a file of hooks, and tells what they close.
func (p *planner) planHooks(path string, h hookFile, more ...step) error {
	plan := p.editJSON
	if p.hookless() {
		plan = func(path string, steps ...step) error { return p.takeBack(path, takeJSON(steps...)) }
	}
	if err := plan(path, append(more, p.hooksStep(h))...); err != nil {
		return err
	}
	if p.hookless() {
		p.leavesHooks()
		return nil
	}
	p.judges(h, p.brokenHooks(h))
	return nil
}

// judges tells what hooks close, unless something stands in the way.
func (p *planner) judges(h hookFile, broken []string) {
	before, _ := parseDocument(p.last().before)
	for _, hook := range p.hooksOf(before, h) {
		if start := p.hookStart(h, *before.find(hook.path...)); start != nil {
			p.found(start)
		}
	}
	p.tellNPX()
	way := fmt.Sprintf("%s asks this program before each use of one of its own tools, which is then judged as this server's are (%s).", p.plan.Title, p.last().Name)
	if h.closed {
		way += " If the hook fails, the call is stopped."
	}
	p.closes(broken, way)
	if !h.closed {
		p.leaves(fmt.Sprintf("If a hook in %s crashes or is slow, the call passes: %s has no switch for that.", p.last().Name, p.plan.Title))
	}
	if !p.Managed {
		p.tellWhoElseReads(h)
	}
}

// tellWhoElseReads says which client runs hooks of ours twice: some read Claude Code's as well.
func (p *planner) tellWhoElseReads(h hookFile) {
	others := []struct{ name, title string }{{"cursor", "Cursor"}, {"vscode", "VS Code and GitHub Copilot CLI"}, {"devin", "Devin"}}
	claude := hookFiles()["claude-code"]
	for _, other := range others {
		mine := hookFiles()[other.name]
		if h.file == mine.file && p.hasHooks(claude) || h.file == claude.file && p.hasHooks(mine) {
			p.leaves(fmt.Sprintf("%s can also run the hooks in %s: a call that is announced twice is recorded once.", other.title, claude.file))
		}
	}
}

// hasHooks reports whether a file of the workspace has hooks of ours.
func (p *planner) hasHooks(h hookFile) bool {
	text, _, _ := p.read(p.inWorkspace(h.file), true)
	doc, err := parseDocument(text)
	return err == nil && len(p.hooksOf(doc, h)) > 0
}

// hooksStep puts our handlers in, each once.
func (p *planner) hooksStep(h hookFile) step {
	return step{
		func(doc, _ *document) (string, error) { return p.addHooks(doc, h) },
		func(doc, was *document) (string, error) {
			found := p.hooksOf(doc, h)
			for _, hook := range slices.Backward(found) {
				doc.takeHook(was, hook)
			}
			if len(found) == 0 {
				return "", nil
			}
			if h.version && was.find("version") == nil && doc.find(h.at...) == nil {
				doc.take(was, "version")
			}
			return "no hook", nil
		},
	}
}

func (p *planner) addHooks(doc *document, h hookFile) (string, error) {
	if h.version && doc.find("version") == nil {
		if err := doc.merge(map[string]any{"version": 1}); err != nil {
			return "", err
		}
	}
	for _, e := range h.events {
		if err := p.addHook(doc, h, e); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("hooks before and after each tool (%d events)", len(h.events)), nil
}

func (p *planner) addHook(doc *document, h hookFile, e hookEvent) error {
	handler, group := p.handler(h, e), map[string]any{}
	if e.matcher != "" {
		group["matcher"] = e.matcher
	}
	found := p.hooksOf(doc, h)
	if i := slices.IndexFunc(found, func(hook hookAt) bool { return hook.event == e.name }); i >= 0 {
		hook := found[i]
		if hook.group != nil && hook.alone {
			if err := doc.merge(group, hook.group...); err != nil {
				return err
			}
		}
		return doc.merge(handler, hook.path...)
	}
	var addition any = []any{handler}
	if h.groups {
		group["hooks"] = addition
		addition = []any{group}
	}
	return doc.merge(nested(addition, slices.Concat(h.at, []string{e.name})...))
}

// nested is a value at a path.
func nested(value any, path ...string) any {
	for _, name := range slices.Backward(path) {
		value = map[string]any{name: value}
	}
	return value
}

// handler is ours for an event.
func (p *planner) handler(h hookFile, e hookEvent) hookHandler {
	handler, args := h.handler, []string{"hook", string(h.word)}
	if words := p.start(!p.Managed); h.exec {
		handler.Command, handler.Args = words[0], slices.Concat(words[1:], args)
	} else {
		handler.Command = p.commandLine(words) + " " + strings.Join(args, " ")
	}
	handler.Timeout = cmp.Or(e.seconds, handler.Timeout)
	if !e.before {
		handler.OnFailure, handler.FailClosed = "", false
	}
	return handler
}

// quoted is a program in a shell's command line.
func (p *planner) quoted(program string) string {
	quoted := shellword.Show(program)
	if quoted != program && p.OS == "windows" { // where a single quote is an ordinary character
		return `"` + program + `"`
	}
	return quoted
}

// hookAt is a handler of ours in a file, and its group, if it is in one; alone tells that the group has no other.
type hookAt struct {
	event       string
	path, group []string
	alone       bool
}

func (p *planner) hooksOf(doc *document, h hookFile) (found []hookAt) {
	events, _ := contents(doc.find(h.at...))
	for _, event := range events {
		if event.label == nil {
			continue
		}
		name := event.label.String()
		list := slices.Concat(h.at, []string{name})
		for i, of := range doc.elements(list...) {
			at := slices.Concat(list, []string{strconv.Itoa(i)})
			if !h.groups {
				if p.isHook(h, *of.value) {
					found = append(found, hookAt{name, at, nil, true})
				}
				continue
			}
			handlers := doc.elements(slices.Concat(at, []string{"hooks"})...)
			for j, handler := range handlers {
				if p.isHook(h, *handler.value) {
					found = append(found, hookAt{name, slices.Concat(at, []string{"hooks", strconv.Itoa(j)}), at, len(handlers) == 1})
				}
			}
		}
	}
	return found
}

// isHook recognises a handler of ours, whatever binary it names, so that a program that was moved leaves no dead hook.
func (p *planner) isHook(h hookFile, handler hujson.Value) bool {
	var of hookHandler
	_ = decode(handler, &of) // what has another shape is not ours
	return p.runsHook(h, strings.Join(append([]string{of.Command}, of.Args...), " "))
}

func (p *planner) runsHook(h hookFile, line string) bool {
	if h.word == clienthook.Cursor && strings.Contains(line, oldGuard) {
		return true
	}
	program, ok := strings.CutSuffix(line, " hook "+string(h.word))
	return ok && (strings.Contains(program, Program) || slices.ContainsFunc([][]string{p.Launch.shared, p.server.start}, func(known []string) bool {
		return len(known) > 0 && (program == strings.Join(known, " ") || program == p.commandLine(known))
	}))
}

// takeHook removes a handler, and its group if that has no other.
func (d *document) takeHook(was *document, hook hookAt) {
	path := hook.path
	if hook.alone && hook.group != nil {
		path = hook.group
	}
	above := path[:len(path)-1]
	i, _ := strconv.Atoi(path[len(path)-1])
	d.remove(d.find(above...), i)
	d.prune(was, above)
}

// brokenHooks says why the client would not ask our hooks in the file that was planned last.
func (p *planner) brokenHooks(h hookFile) (problems []string) {
	file, doc := p.last(), p.lastDocument()
	if !h.lenient {
		problems = p.notStandard()
	}
	if version := doc.find("version"); h.version && (version == nil || !sameText(*version, "1")) {
		problems = append(problems, fmt.Sprintf(`%s: "version" is not 1, so %s does not read the hooks as they are meant`, file.Name, p.plan.Title))
	}
	if key, off, ok := strings.Cut(h.off, "="); ok {
		if value := doc.find(strings.Split(key, ".")...); value != nil && sameText(*value, off) {
			problems = append(problems, fmt.Sprintf("%s: %q is %s, which switches the hooks off: take it out", file.Name, key, off))
		}
	}
	if slices.Contains(doc.strings("hooksConfig", "disabled"), ServerName) { // Gemini's list of hooks, by their names
		problems = append(problems, fmt.Sprintf("%s: \"hooksConfig.disabled\" has our hooks: take %q out", file.Name, ServerName))
	}
	known := []string{"name", "type", "command", "args", "timeout", "onFailure", "failClosed"}
	for _, hook := range p.hooksOf(doc, h) {
		var handler, group map[string]any
		_ = decode(*doc.find(hook.path...), &handler)
		keys := slices.Sorted(maps.Keys(handler))
		if i := slices.IndexFunc(h.events, func(e hookEvent) bool { return e.name == hook.event }); hook.group != nil && i >= 0 {
			_ = decode(*doc.find(hook.group...), &group)
			if matcher, _ := group["matcher"].(string); matcher != h.events[i].matcher {
				keys = append(keys, "matcher")
			}
		}
		for _, key := range keys {
			if !slices.Contains(known, key) {
				problems = append(problems, fmt.Sprintf("%s: our hook for %s has the key %q, which can keep %s from asking it: take the key out",
					file.Name, hook.event, key, p.plan.Title))
			}
		}
	}
	return problems
}
