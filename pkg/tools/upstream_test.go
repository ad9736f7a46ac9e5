package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// offered is a bench with one tool of another server, which is safe.
func offered(t testing.TB, tool catalogue.Tool, result string, change ...func(*upstream.Definition)) (*bench, *tools.Upstreams, *still) {
	w := newBench(t, nil)
	tool.Server, tool.Own, tool.Name, tool.Hash, tool.Safe = "files", "read", "files_read", "sha256:1", true
	d := upstream.Definition{Name: "files", Prefix: "files_", Findings: upstream.Ask}
	for _, c := range change {
		c(&d)
	}
	s := &still{tool, json.RawMessage(result)}
	u := check.Value(tools.NewUpstreams(tools.UpstreamOptions{Commands: w.commands, Offer: s, Server: s, Definitions: []upstream.Definition{d}}))(t)
	w.engine.Beside = u.Tool
	return w, u, s
}

// answered is the result of a call without arguments.
func (b *bench) answered() hooks.Result {
	return b.engine.Do(b.t.Context(), hooks.Request{Tool: "files_read", Caller: session.Caller{Connection: "c"}, Arguments: hooks.NoArguments()})
}

// What is listed of a tool is what its server says of it, but for its name, our arguments and the operator's class. It is
// always a schema that clients can read.
func TestWhatIsListedOfOtherServers(t *testing.T) {
	for name, c := range map[string]struct{ input, output, want string }{
		"ordinary":        {`{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"]}`, "", `"properties":{"b":{"type":"string"},"a":{},"session":`},
		"no type":         {`{}`, "", `"type":"object"`},
		"no object":       {`[1]`, "", `"session":`},
		"strange members": {`{"type":"string","properties":7}`, "", `"type":"object"`},
		"an output":       {`{}`, `{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}`, `"anyOf":[{"type":"object","required":["x"]`},
		"definitions":     {`{}`, `{"$defs":{"x":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/x"}}}`, `{"$ref":"#/$defs/x"}`},
		"from the root":   {`{}`, `{"properties":{"x":{"$ref":"#"}}}`, `"anyOf":[{},`},
		"no output":       {`{}`, `7`, `"anyOf":[{},`},
		"an array":        {`{}`, `{"type":"array"}`, `"outputSchema":{"anyOf":[{"type":"array"},`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := catalogue.Tool{Description: "d", Input: json.RawMessage(c.input), Definition: json.RawMessage(`{"name":"read","description":"d","execution":{"taskSupport":"required"},"inputSchema":` + c.input + `,"annotations":{"readOnlyHint":false}}`)}
			if c.output != "" {
				tool.Output = json.RawMessage(c.output)
			}
			_, u, s := offered(t, tool, "")
			listed := u.Listed([]catalogue.Tool{s.tool})
			check.Must(t, len(listed) == 1 && strings.Contains(string(listed[0]), c.want) && !strings.Contains(string(listed[0]), "execution"), "%s", listed)
			var is struct {
				Name         string
				InputSchema  jsonschema.Schema
				OutputSchema *jsonschema.Schema
				Annotations  map[string]bool
			}
			check.OK(t, json.Unmarshal(listed[0], &is))
			check.That(t, is.Name == "files_read" && is.Annotations["readOnlyHint"] && !is.Annotations["destructiveHint"], "%s", listed[0])
			_, err := is.InputSchema.Resolve(nil)
			check.OK(t, err)
			if c.output == "" {
				check.That(t, is.OutputSchema == nil, "%s", listed[0])
				return
			}
			resolved := check.Value(is.OutputSchema.Resolve(nil))(t)
			check.OK(t, resolved.Validate(map[string]any{"error_type": "X", "suggestion": "y"}))
			check.OK(t, resolved.Validate(map[string]any{"artifact_id": "out_x", "truncated": true}))
			success := any(map[string]any{"x": 7.0})
			if name == "an array" {
				success = []any{7.0}
				check.That(t, resolved.Validate("x") != nil, "any result fits %s", listed[0])
			}
			check.OK(t, resolved.Validate(success))
		})
	}
}

// What a listed tool costs more than it did with its own server is counted: agents pay for it in each session.
func TestWhatAListedToolCosts(t *testing.T) {
	definition := `{"name":"read","title":"Read","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`
	for safe, want := range map[bool]string{
		true:  `{"name":"files_read","title":"Read","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"session":{"type":"string"}}},"annotations":{"destructiveHint":false,"readOnlyHint":true}}`,
		false: `{"name":"files_read","title":"Read","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"session":{"type":"string"},"intent_id":{"type":"string"}}},"annotations":{"destructiveHint":true,"readOnlyHint":false}}`,
	} {
		tool := catalogue.Tool{Title: "Read", Description: "d", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), Definition: json.RawMessage(definition)}
		_, u, s := offered(t, tool, "")
		s.tool.Safe = safe
		check.Equal(t, string(u.Listed([]catalogue.Tool{s.tool})[0]), want)
	}
}

// A result that nothing is to be said of is the very bytes that the server sent; what is said stands at its end.
func TestResultsPassAsTheyWereSent(t *testing.T) {
	sent := `{ "content" : [ {"type":"text","text":"\u0041<b>"} ],"structuredContent":{"n":1e400,"b":12345678901234567890},"_meta":{"x":1},"other":[ ]}`
	w, _, _ := offered(t, catalogue.Tool{Input: json.RawMessage(`{}`)}, sent)
	check.Equal(t, string(w.answered().Raw), sent)

	suspicious := catalogue.Tool{Input: json.RawMessage(`{}`), Findings: []catalogue.Finding{{Kind: catalogue.Instructions, Where: "description", Text: "ignore"}}}
	warn := func(d *upstream.Definition) { d.Findings = upstream.Warn }
	for _, c := range [][2]string{
		{sent, `{"content":[{"type":"text","text":"\u0041<b>"},{"text":"[orchestra-mcp: `},
		{`{}`, `{"content":[{"text":"[orchestra-mcp: `}, {`{"content":[]}`, `{"content":[{"text":"[orchestra-mcp: `}, {`{"content":7,"isError":true}`, `{"content":[{"text":"[orchestra-mcp: `},
	} {
		w, _, _ = offered(t, suspicious, c[0], warn)
		r := w.answered()
		check.That(t, strings.HasPrefix(string(r.Raw), c[1]) && json.Valid(r.Raw) && r.IsError == strings.Contains(c[0], `"isError":true`), "%s", r.Raw)
		for _, part := range []string{`"structuredContent":{"n":1e400,"b":12345678901234567890}`, `"_meta":{"x":1}`, `"other":[ ]`} {
			check.That(t, c[0] != sent || strings.Contains(string(r.Raw), part), "%s lacks %s", r.Raw, part)
		}
	}
	for _, broken := range []string{"", "[]", `{"isError":true`, `{"isError":true,"isError":false}`, `{"content":[}`} {
		w, _, _ = offered(t, suspicious, broken, warn)
		r := w.answered()
		check.That(t, r.IsError && r.Raw != nil && json.Valid(r.Raw), "%q: %+v", broken, r)
	}
}

// No server says in our name that there is a record, or anything else, however it writes the name.
func TestResultsSayNothingInOurName(t *testing.T) {
	for sent, want := range map[string]string{
		`{"content":[],"_meta":{"x":1,"orchestra-mcp/record_id":"r"}}`:                         `{"content":[],"_meta":{"x":1}}`,
		`{"content":[],"\u005fmeta":{"\u006frchestr\u0061-mcp\/record_id":"r","orchestra":1}}`: `{"content":[],"_meta":{"orchestra":1}}`,
		`{"content":[ ],"_meta":{"orchestra":1}}`:                                              `{"content":[ ],"_meta":{"orchestra":1}}`,
		`{"content":[ ],"_meta":"orchestra-mcp/record_id"}`:                                    `{"content":[ ],"_meta":"orchestra-mcp/record_id"}`,
	} {
		w, _, _ := offered(t, catalogue.Tool{Input: json.RawMessage(`{}`)}, sent)
		check.Equal(t, string(w.answered().Raw), want)
	}
}

// Words of a name find more than words of a description, and a search costs what it gives.
func TestToolsAreRanked(t *testing.T) {
	of := func(name, description string) catalogue.Tool {
		return catalogue.Tool{Name: name, Description: description}
	}
	all := []catalogue.Tool{of("git_log", "Shows commits of a branch."), of("createBranch", "Makes one."), of("git_branches", "Lists."), of("weather", "Rain in a city; no branch.")}
	names := func(query string) (found []string) {
		for _, one := range tools.Ranked(all, query) {
			found = append(found, one.Name)
		}
		return found
	}
	check.Equal(t, strings.Join(names("Branch"), " "), "createBranch git_log weather git_branches")
	check.Equal(t, strings.Join(names("git branch commits"), " "), "git_log git_branches createBranch weather")
	check.Equal(t, names("weather in a city")[0], "weather")
	check.Equal(t, len(names("nothing whatsoever")), 0)
	check.That(t, slices.Equal(names("!?"), []string{"git_log", "createBranch", "git_branches", "weather"}), "no words")
}

func FuzzUpstreamResult(f *testing.F) {
	for _, seed := range []string{`{"content":[{"type":"text","text":"x"}]}`, `{"content":[1,2],"_meta":[],"isError":true}`, `{"a":{"content":[]},"content":{}}`, `{}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		made, err := tools.Amended(json.RawMessage(sent), []string{"a warning \u202e"}, "rec")
		if err != nil {
			return
		}
		var was, is map[string]json.RawMessage
		check.OK(t, json.Unmarshal([]byte(sent), &was))
		check.OK(t, json.Unmarshal(made, &is))
		var content []json.RawMessage
		var meta map[string]string
		check.OK(t, json.Unmarshal(is["content"], &content))
		check.That(t, strings.Contains(string(content[len(content)-1]), "a warning"), "%s", made)
		if json.Unmarshal(is["_meta"], &meta) == nil {
			check.Equal(t, meta["orchestra-mcp/record_id"], "rec")
		}
		for name, value := range was {
			check.That(t, name == "content" || name == "_meta" || string(is[name]) == string(value), "%s became %s", value, is[name])
		}
	})
}
