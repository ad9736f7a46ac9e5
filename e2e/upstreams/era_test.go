package upstreams_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

var update = flag.Bool("update", false, "write the table in internal/mcpbridge/README.md anew")

// erasPage has the table of what passes, between these lines.
const (
	erasPage  = "../../internal/mcpbridge/README.md"
	erasBegin = "<!-- go test ./e2e/upstreams -run TestEras -update -->\n"
	erasEnd   = "<!-- end -->\n"
)

// eraRows are what can pass, and what is seen of it.
var eraRows = []struct {
	what string
	see  func(p *pair) string
}{
	{"tools as they are defined", (*pair).seesTools},
	{"prompts, resources, templates", (*pair).seesLists},
	{"results of tools, all kinds of content", func(p *pair) string { return p.passes("say", eraSaid) }},
	{"`structuredContent`", func(p *pair) string { return p.passes("object", eraObject) }},
	{"`structuredContent` that is no object", (*pair).seesArrays},
	{"results with `isError`", func(p *pair) string { return p.passes("fail", eraFailed) }},
	{"results of tools over 256 KiB", (*pair).seesHuge},
	{"JSON-RPC errors", (*pair).seesErrors},
	{"results of prompts", func(p *pair) string {
		return p.same(p.whole("prompts/get", args{"name": "era_hello", "arguments": args{"who": "Ada"}}), eraGreeting, "prompts/get")
	}},
	{"results of resources", (*pair).seesResources},
	{"completions", (*pair).seesCompletions},
	{"progress", (*pair).seesProgress},
	{"log messages", (*pair).seesLog},
	{"log messages, of two calls at once", (*pair).seesLogBeside},
	{"a form, of a safe tool", func(p *pair) string { return p.seesForm("tools/call", args{"name": "era_ask"}) }},
	{"a form, of another tool", func(p *pair) string { return p.seesForm("tools/call", args{"name": "era_write_ask"}) }},
	{"a form, of a prompt", func(p *pair) string { return p.seesForm("prompts/get", args{"name": "era_ask"}) }},
	{"a form, of a resource", func(p *pair) string { return p.seesForm("resources/read", args{"uri": "era+era://ask"}) }},
	{"a form, of two calls at once", (*pair).seesFormBeside},
	{"URLs, sampling, roots", (*pair).seesOthers},
	{"trace context", (*pair).seesTrace},
	{"cancellation: the server hears", (*pair).seesCancellation},
	{"lists that change", (*pair).seesChanges},
	{"subscriptions to resources", (*pair).seesSubscriptions},
}

// TestEras drives each pair of eras, over streams on both sides and over HTTP on both, and holds the table to what it has seen.
func TestEras(t *testing.T) {
	t.Parallel()
	var seen [2][4][]string
	t.Run("pairs", func(t *testing.T) {
		for transport, name := range []string{"streams", "http"} {
			for of := range 4 {
				client, server := of&2 != 0, of&1 != 0
				t.Run(fmt.Sprintf("%s/%s to %s", name, eraNames[client], eraNames[server]), func(t *testing.T) {
					t.Parallel()
					p := newPair(t, transport == 1, client, server)
					for _, row := range eraRows {
						seen[transport][of] = append(seen[transport][of], row.see(p))
					}
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	table := "| client → server | initialize → initialize | initialize → 2026-07-28 | 2026-07-28 → initialize | 2026-07-28 → 2026-07-28 |\n| --- | --- | --- | --- | --- |\n"
	for i, row := range eraRows {
		table += "| " + row.what
		for of := range 4 {
			cell := seen[0][of][i]
			if http := seen[1][of][i]; http != cell {
				cell = "stdio: " + cell + "; HTTP: " + http
			}
			table += " | " + cell
		}
		table += " |\n"
	}
	page := string(check.Value(os.ReadFile(erasPage))(t))
	before, rest, found := strings.Cut(page, erasBegin)
	old, after, ends := strings.Cut(rest, erasEnd)
	check.Must(t, found && ends, "%s has no place for the table", erasPage)
	if *update {
		check.OK(t, os.WriteFile(erasPage, []byte(before+erasBegin+table+erasEnd+after), 0o644))
		return
	}
	check.That(t, old == table, "%s says otherwise (-update writes it):\n%s", erasPage, table)
}

// differs says how an object differs from the one that was sent, but for members that it may have beside.
func differs(got, sent json.RawMessage) string {
	is, was := membersOf(got), membersOf(sent)
	var changed, more, gone []string
	for name, value := range is {
		switch {
		case was[name] == nil:
			more = append(more, "`"+name+"`")
		case string(value) != string(was[name]):
			changed = append(changed, "`"+name+"`")
		}
	}
	for name := range was {
		if is[name] == nil {
			gone = append(gone, "`"+name+"`")
		}
	}
	said := ""
	for _, part := range []struct {
		words string
		names []string
	}{{", but for ", changed}, {", and ", more}, {", without ", gone}} {
		if slices.Sort(part.names); len(part.names) > 0 {
			said += part.words + strings.Join(part.names, ", ")
		}
	}
	return said
}

// same says how a result differs from what the server sent.
func (p *pair) same(got json.RawMessage, sent, method string) string {
	p.t.Helper()
	whole := (&eraServer{modern: p.serves}).whole(sent, method)
	is, was := membersOf(got)["_meta"], membersOf(whole)["_meta"]
	for name, value := range membersOf(was) {
		check.That(p.t, string(membersOf(is)[name]) == string(value), "of _meta %s is lost: %s", name, got)
	}
	return "as sent" + differs(got, whole)
}

func (p *pair) passes(tool, sent string) string {
	p.t.Helper()
	m, rounds := p.tool(tool, args{}, args{})
	check.Must(p.t, m.Error == nil && rounds == 0, "%s: %+v", tool, m.Error)
	return p.same(m.Result, sent, "tools/call")
}

// entry is one of a list.
func (p *pair) entry(list, member, key, name string) json.RawMessage {
	p.t.Helper()
	var all []json.RawMessage
	check.OK(p.t, json.Unmarshal(membersOf(p.whole(list, args{}))[member], &all))
	for _, one := range all {
		if string(membersOf(one)[key]) == fmt.Sprintf("%q", name) {
			return one
		}
	}
	return nil
}

func (p *pair) seesTools() string {
	return "as defined" + differs(p.entry("tools/list", "tools", "name", "era_say"), json.RawMessage(eraTool))
}

func (p *pair) seesLists() string {
	said := "as defined, with our names"
	for _, one := range []struct{ list, member, key, name, sent string }{
		{"prompts/list", "prompts", "name", "era_hello", eraPrompt},
		{"resources/list", "resources", "uri", "era+era://text", eraResource},
		{"resources/list", "resources", "uri", "era+era://blob", eraBlob},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", "era+era://of/{id}", eraTemplate},
	} {
		if how := differs(p.entry(one.list, one.member, one.key, one.name), json.RawMessage(one.sent)); how != ", but for `"+one.key+"`" {
			said += fmt.Sprintf(" (%s%s)", one.name, how)
		}
	}
	return said
}

// seesArrays: a client checks structuredContent against the schema that the tool is listed with, and takes both of any kind only in
// 2026-07-28.
func (p *pair) seesArrays() string {
	listed := membersOf(p.entry("tools/list", "tools", "name", "era_array"))["outputSchema"]
	check.That(p.t, p.modern == (listed != nil) && string(membersOf(listed)["type"]) != `"object"`, "the schema of arrays is listed as %s", listed)
	objects := membersOf(p.entry("tools/list", "tools", "name", "era_object"))["outputSchema"]
	check.That(p.t, string(membersOf(objects)["type"]) == `"object"`, "the schema of objects is listed as %s", objects)
	return p.passes("array", eraArray)
}

func (p *pair) seesHuge() string {
	m, _ := p.tool("huge", args{}, args{})
	var cut struct {
		ArtifactID string `json:"artifact_id"`
		Truncated  bool
	}
	check.OK(p.t, json.Unmarshal(membersOf(m.Result)["structuredContent"], &cut))
	check.Must(p.t, cut.Truncated && len(m.Result) < 100_000, "a result of %d bytes: %.300s", len(m.Result), m.Result)
	var text strings.Builder
	for next := 0.0; ; {
		read := p.whole("tools/call", args{"name": "read_command_output", "arguments": args{"artifact_id": cut.ArtifactID, "byte_offset": next}})
		page := check.Value(agenttest.Read(p.t, read))(p.t)
		text.WriteString(page.Str("content"))
		if next, _ = page.Object["next_byte"].(float64); next == 0 {
			break
		}
	}
	check.That(p.t, text.String() == eraHuge()+"\n", "the artifact has %d bytes: %.100s", text.Len(), text.String())
	return "head and tail, the whole as an artifact"
}

func (p *pair) seesErrors() string {
	text, _ := p.says("error", args{}, args{})
	check.That(p.t, strings.Contains(text, "error 7: it is broken"), "the error of a tool: %s", text)
	code := func(method string, params args) int {
		m, _ := p.asks(method, params, args{})
		check.Must(p.t, m.Error != nil, "%s: no error, but %s", method, m.Result)
		return m.Error.Code
	}
	return fmt.Sprintf("of tools as results with `isError`; a missing argument %d, a missing resource %d, 7 as %d",
		code("prompts/get", args{"name": "era_hello"}), code("resources/read", args{"uri": "era+era://of/8"}), code("resources/read", args{"uri": "era+era://broken"}))
}

func (p *pair) seesResources() string {
	var said []string
	for uri, sent := range map[string]string{"era+era://text": eraText, "era+era://blob": eraBytes, "era+era://of/7": eraOf, "era://text": eraText} {
		if how := p.same(p.whole("resources/read", args{"uri": uri}), sent, "resources/read"); !slices.Contains(said, how) {
			said = append(said, how)
		}
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

func (p *pair) seesCompletions() string {
	for _, ref := range []args{{"type": "ref/prompt", "name": "era_hello"}, {"type": "ref/resource", "uri": "era+era://of/{id}"}} {
		got := p.whole("completion/complete", args{"ref": ref, "argument": args{"name": "who", "value": "A"}})
		check.That(p.t, string(membersOf(got)["completion"]) == string(membersOf(json.RawMessage(eraCompleted + "}"))["completion"]), "%v: %s", ref, got)
	}
	return "yes"
}
