package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// offering has a server offer these tools.
func offering(names ...string) func(*server.Options) {
	return func(o *server.Options) { o.Settings.Tools.Enabled = names }
}

// listed is the result of tools/list as it is sent to a client with some capabilities.
func listed(t *testing.T, era, capabilities string, names ...string) json.RawMessage {
	t.Helper()
	lines := map[string]string{
		legacy: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n",
		modern: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern +
			`","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}}` + "\n",
	}
	var out bytes.Buffer
	check.OK(t, start(t, newWorkspace(t), offering(names...)).server.ServeStdio(t.Context(), strings.NewReader(lines[era]), &out))
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	var answer struct{ Result json.RawMessage }
	check.OK(t, json.Unmarshal([]byte(answers[len(answers)-1]), &answer))
	return answer.Result
}

// Agents pay for every character of the list, in each session: SPEC 16 bounds it. What a client that shows apps is told beside
// is for that client.
func TestToolListIsWithinItsBudget(t *testing.T) {
	t.Parallel()
	const apps = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	for _, era := range []string{legacy, modern} {
		whole := utf8.RuneCount(listed(t, era, apps, settings.FullTools))
		check.That(t, whole <= 24_000, "tools/list has %d characters for a client that shows apps, more than 24000", whole)
		for preset, bound := range map[string]int{settings.FullTools: 24_000, settings.CoreTools: 12_000} {
			list := listed(t, era, "{}", preset)
			var tools struct{ Tools []map[string]json.RawMessage }
			check.OK(t, json.Unmarshal(list, &tools))
			inputs := 0
			for _, tool := range tools.Tools {
				for _, part := range []string{"name", "title", "description", "inputSchema"} {
					inputs += len(`"":,`) + len(part) + utf8.RuneCount(tool[part])
				}
			}
			whole := utf8.RuneCount(list)
			t.Logf("%s, %s: %d tools, %d characters, of which name, title, description and input %d", preset, era, len(tools.Tools), whole, inputs)
			check.That(t, whole <= bound, "tools/list of %s has %d characters, more than %d", preset, whole, bound)
			check.That(t, inputs <= 12_000, "names, descriptions and inputs of %s have %d characters, more than 12000", preset, inputs)
		}
	}
}

func namesOf(t *testing.T, b *bench) (names []string) {
	t.Helper()
	tools := check.Value(b.client.ListTools(t.Context(), nil))(t)
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	return names
}

var word = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)

// What the list of core says, and what its refusals advise by themselves, names no tool that is not in it.
func TestCoreStandsAlone(t *testing.T) {
	t.Parallel()
	core := settings.Core()
	b := start(t, newWorkspace(t), offering(settings.CoreTools)).connect()
	check.That(t, len(core) == len(namesOf(t, b)), "core is %v, offered are %v", core, namesOf(t, b))
	var missing []string
	for _, spec := range b.server.Specs() {
		if !slices.Contains(core, spec.Name) {
			missing = append(missing, spec.Name)
		}
	}
	texts := map[string]string{"the instructions": b.client.InitializeResult().Instructions}
	tools := check.Value(b.client.ListTools(t.Context(), nil))(t)
	for _, tool := range tools.Tools {
		texts[tool.Name] = string(check.Value(json.Marshal(tool))(t))
	}
	for _, e := range refusal.Catalogue() {
		texts[string(e.Code)] = e.Hint + " " + e.Next
	}
	for of, text := range texts {
		for _, name := range word.FindAllString(text, -1) {
			check.That(t, !slices.Contains(missing, name), "%s: %s is not offered: %s", of, name, text)
		}
	}
}

// A tool that is not offered is an unknown one, for every caller.
func TestToolsEnabled(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		b := start(t, newWorkspace(t), offering("write_to_file", "select_active_intent"), func(o *server.Options) { o.Settings.Tools.RooAliases = true }).connectAs(era)
		check.Equal(t, strings.Join(namesOf(t, b), " "), "select_active_intent write_to_file", "in the order of the whole list")
		_, err := b.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: args{"path": "src/a.txt"}})
		_, unknown := b.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_file", Arguments: args{}})
		check.That(t, err != nil && unknown != nil && strings.ReplaceAll(err.Error(), "read_file", "no_such_file") == unknown.Error(), "%v, and %v", err, unknown)
		b.OK("write_to_file", args{"path": "src/n.txt", "content": "x\n", "session": b.Selects("INT-001")})
	}
	b := start(t, newWorkspace(t), offering("edit_file"), func(o *server.Options) { o.Settings.Tools.RooAliases = true }).connect()
	check.Equal(t, strings.Join(namesOf(t, b), " "), "edit_file edit search_replace", "the aliases of what is offered")
	told := b.client.InitializeResult().Instructions
	check.That(t, strings.Contains(told, "no tool that selects") && strings.Contains(told, "Use edit_file of this server"), "%s", told)
	for _, spec := range b.server.Specs()[:23] {
		check.That(t, spec.Name == "edit_file" || !strings.Contains(told, spec.Name), "the instructions name %s:\n%s", spec.Name, told)
	}
}

// The step that a refusal advises is there: where its tool is not, the user is to be asked, and by which command.
func TestRefusalsNameWhatIsOffered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offered  []string
		code     string
		tool     string
		args     args
		hint     string
		says     string
		anywhere bool // the error says nothing of it either
	}{
		"a scope": {
			[]string{"write_to_file", "select_active_intent"}, "SCOPE_VIOLATION", "write_to_file", args{"path": "docs/request_scope_expansion.md", "content": "x"},
			"ask_user", "call the user's `orchestra-mcp intents scope` with paths: [\"docs/request_scope_expansion.md\"]", false,
		},
		"an intent": {[]string{"write_to_file"}, "MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/x", "content": "x"}, "ask_user", "the user's `orchestra-mcp intents list`", true},
		"a way":     {[]string{"read_file", "list_files"}, "FILE_NOT_FOUND", "read_file", args{"path": "src/none"}, "list_files", "list_files", true},
	} {
		b := start(t, newWorkspace(t), offering(c.offered...)).connect()
		if slices.Contains(c.offered, "select_active_intent") {
			c.args["session"] = b.Selects("INT-001")
		}
		r := b.Refused(c.code, c.tool, c.args)
		r.Twice()
		suggestion := r.Str("suggestion")
		check.That(t, r.Str("action_hint") == c.hint && strings.Contains(strings.ToLower(suggestion), c.says), "%s: %s", name, r.Text)
		if c.anywhere {
			suggestion += r.Str("error")
		}
		for _, spec := range b.server.Specs() {
			check.That(t, slices.Contains(c.offered, spec.Name) || !regexp.MustCompile(`(^|[\s(])`+spec.Name+`\b`).MatchString(suggestion), "%s: it names %s: %s", name, spec.Name, r.Text)
		}
	}
}

// Where commands can be left running but no tool ends one, a session that has too many is told what it can do.
func TestTooManyCommandsOfCore(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), offering(settings.CoreTools)).connect()
	s := b.Selects("INT-001")
	call := args{"session": s, "command": "sleep 600", "background": true}
	for range command.MaxOwnJobs {
		b.OK("execute_command", call)
	}
	r := b.Refused("BUSY", "execute_command", call)
	check.That(t, strings.HasPrefix(r.Str("suggestion"), "Wait until one ends") && !strings.Contains(r.Text, "stop_command"), "%s", r.Text)
}

// A name that there is not stops the start.
func TestToolsEnabledMistakes(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"read_fil": `there is no tool "read_fil"; did you mean read_file?`, "ful": "did you mean full?", "x": `there is no tool "x"`, "edit": "there is no tool"} {
		err := start(t, newWorkspace(t), offering("core", name)).server.ServeStdio(t.Context(), strings.NewReader(""), io.Discard)
		check.That(t, err != nil && strings.Contains(err.Error(), says), "%s: %v", name, err)
	}
}
