package server_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/apps"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// showsApps is a client that shows apps.
func showsApps() *mcp.ClientOptions {
	ui := map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}}
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]any{"io.modelcontextprotocol/ui": ui}}}
}

// dialApps connects such a client to the server.
func (b *bench) dialApps(version string) *bench {
	b.t.Helper()
	b.t.Cleanup(b.close)
	return b.dial(version, showsApps())
}

// listed is what a client is told: whether the extension is served, its tools, their apps by name, and its apps among the
// resources.
func (b *bench) listed() (served bool, tools []*mcp.Tool, ui map[string]any, pages []*mcp.Resource) {
	b.t.Helper()
	_, served = b.client.InitializeResult().Capabilities.Extensions["io.modelcontextprotocol/ui"]
	ui = map[string]any{}
	for _, tool := range check.Value(b.client.ListTools(b.t.Context(), nil))(b.t).Tools {
		if meta, is := tool.Meta["ui"].(map[string]any); is {
			ui[tool.Name] = meta
		}
		tool.Meta = nil
		tools = append(tools, tool)
	}
	for _, r := range check.Value(b.client.ListResources(b.t.Context(), nil))(b.t).Resources {
		if strings.HasPrefix(r.URI, "ui://") {
			pages = append(pages, r)
		}
	}
	return served, tools, ui, pages
}

// Clients that show apps see the same tools as all others, and beside them which of these have an app; no app can call any.
func TestAppsAreForThoseWhoShowThem(t *testing.T) {
	t.Parallel()
	withApp := []string{
		"get_active_intent", "list_intents", "propose_intent", "query_trace", "request_scope_expansion", "resume_approval",
		"select_active_intent", "update_intent",
	}
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			b := start(t, newWorkspace(t)).dialApps(era)
			served, tools, ui, pages := b.listed()
			page := b.resource(apps.URI)
			served2, plain, none, hidden := b.another(era).listed()
			check.That(t, served && !served2 && len(none) == 0 && len(hidden) == 0, "a client that shows no apps is told of them: %v %v %v", served2, none, hidden)
			check.Equal(t, string(check.Value(json.Marshal(tools))(t)), string(check.Value(json.Marshal(plain))(t)), "the tools without what is said of apps")
			var have []string
			for _, tool := range tools {
				meta, _ := ui[tool.Name].(map[string]any)
				check.Equal(t, string(check.Value(json.Marshal(meta["visibility"]))(t)), `["model"]`, "who may call "+tool.Name)
				if meta["resourceUri"] == apps.URI {
					have = append(have, tool.Name)
				}
			}
			slices.Sort(have)
			check.Equal(t, strings.Join(have, " "), strings.Join(withApp, " "), "tools with an app")
			check.Must(t, len(pages) == 1 && pages[0].URI == apps.URI && pages[0].MIMEType == "text/html;profile=mcp-app", "pages: %v", pages)
			csp := check.Value(json.Marshal(pages[0].Meta["ui"].(map[string]any)["csp"]))(t)
			check.Equal(t, string(csp), `{"baseUriDomains":[],"connectDomains":[],"frameDomains":[],"resourceDomains":[]}`, "what the page may reach")
			check.Equal(t, page, apps.Page(), "the page")
		})
	}
}

// hostile would run, hide or forge something where it is taken for more than text.
const hostile = "<img src=x onerror=fetch('//evil')>\u202e\u0007"

// view makes a call, and gives what its result has for the app.
func (b *bench) view(tool string, a args) map[string]any {
	b.t.Helper()
	result := check.Value(b.client.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a}))(b.t)
	view, _ := result.Meta[apps.MetaKey].(map[string]any)
	encoded := check.Value(json.Marshal(view))(b.t)
	for _, text := range texts(view) {
		check.That(b.t, printable.Text(strings.ReplaceAll(text, "\t", "")) == strings.ReplaceAll(text, "\t", ""), "%s shows what is not safe: %q", tool, text)
	}
	check.That(b.t, !strings.Contains(string(encoded), "ses_"), "%s gives the app a session's handle: %s", tool, encoded)
	return view
}

// texts are all those in a value.
func texts(value any) (found []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, v := range value {
			found = append(found, texts(v)...)
		}
	case map[string]any:
		for _, v := range value {
			found = append(found, texts(v)...)
		}
	}
	return found
}

// holds demands parts among the texts of a view.
func holds(t *testing.T, view map[string]any, parts ...string) {
	t.Helper()
	all := strings.Join(texts(view), "\n")
	for _, part := range parts {
		check.That(t, strings.Contains(all, part), "the view lacks %q:\n%s", part, all)
	}
}

func TestViewsOfApps(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	quoted := string(check.Value(json.Marshal(hostile))(t))
	check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n"+
		"  - {id: INT-001, name: "+quoted+", status: IN_PROGRESS, owned_scope: [\"src/**\"], agent: "+quoted+"}\n  - {id: INT-002, name: Old, status: DONE}\n")
	check.Write(t, dir, ".intentignore", "secret:*.key\n")
	check.Write(t, dir, "src/a.key", "HUSH\n")
	check.Write(t, dir, "src/"+"<b>.txt", "by hand\n")
	b := start(t, dir, asks).dialApps(modern)
	s := b.Selects("INT-001")

	write := args{"session": s, "path": "docs/<i>.md", "content": hostile + "\n"}
	pending := b.view("write_to_file", write)
	holds(t, pending, "write_to_file wants to create docs/<i>.md", `+<img src=x onerror=fetch('//evil')>\u202e\a`, "SCOPE_VIOLATION")
	id := b.required("write_to_file", write)
	holds(t, b.view("resume_approval", args{"session": s, "approval_id": id}), "request", id)

	check.That(t, b.view("read_file", args{"session": s, "path": "src/<b>.txt"}) == nil, "a read has a view")
	b.OK("edit_file", args{"session": s, "path": "src/<b>.txt", "old_string": "by hand", "new_string": "by hand\n\t" + hostile})
	board := b.view("list_intents", args{"session": s})
	holds(t, board, "INT-002", "DONE", `<img src=x onerror=fetch('//evil')>\u202e\a`, "src/**")
	first := board["board"].(map[string]any)["intents"].([]any)[0].(map[string]any)
	check.That(t, first["selected"] == true && first["changed"] != nil, "the selected intent, changed just now: %v", first)
	check.That(t, b.view("select_active_intent", args{"session": s, "intent_id": "INT-001"})["board"] != nil, "a selection has no board")
	check.That(t, b.view("get_active_intent", args{"session": s})["board"] != nil, "get_active_intent has no board")

	traced := b.view("query_trace", args{"session": s, "file_path": "src/<b>.txt"})
	holds(t, traced, "src/<b>.txt", "untracked", "by hand", "exact", "INT-001", "\t<img src=x onerror=fetch('//evil')>\\u202e\\a")
	for _, path := range []string{"src/a.key", "src/", "../x", ".git/config-none", ""} {
		check.That(t, b.view("query_trace", args{"session": s, "path": path}) == nil, "%q has a view of lines", path)
	}
	check.That(t, b.another(modern).view("list_intents", args{}) == nil, "a client that shows no apps gets a view")
}

// Nothing that could come from an app answers a request: not on the way that a careless client leaves open either.
func TestNoAnswerThroughAnApp(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/there.txt", "x\n")
	b := start(t, dir, asks, func(o *server.Options) { o.Settings.Ledger.RecordReads = true }).dialApps(legacy)
	s := b.Selects("INT-001")
	id := b.required("write_to_file", args{"session": s, "path": "docs/n.md", "content": "new\n"})
	for _, answer := range []string{"decision", "answer", "action", "approve", "approved", "status"} {
		b.Refused("INVALID_ARGUMENTS", "resume_approval", args{"session": s, "approval_id": id, answer: "approve_once"})
	}
	b.Refused("APPROVAL_REQUIRED", "resume_approval", args{"session": s, "approval_id": id})
	for _, uri := range []string{apps.URI, apps.URI + "?approve=" + id, "orchestra://approval/" + id, "orchestra://intents"} {
		_, _ = b.client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	}
	_, err := b.inbox().AnswerOf(id)
	check.That(t, errors.Is(err, approval.ErrPending) && !b.exists("docs/n.md"), "the request has been answered: %v", err)
	check.That(t, b.view("query_trace", args{"session": s, "path": "src/there.txt"}) == nil, "a file is shown although reads are recorded")
	for _, word := range []string{"tools/call", "resources/", "ui/message", "update-model-context", "sampling", "innerHTML", "insertAdjacent", "document.write", "fetch(", "XMLHttp", "eval"} {
		check.That(t, !strings.Contains(apps.Page(), word), "the page has %q", word)
	}
}
