package mcpbridge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// MCP Apps (the extension io.modelcontextprotocol/ui of 2026-01-26): HTML that clients show inside of themselves, in a frame
// that they confine, beside the results of tools.
const appsExtension = "io.modelcontextprotocol/ui"

// AppMIMEType is that of a resource which is an app.
const AppMIMEType = "text/html;profile=mcp-app"

// declaresApps tells whether a client shows apps of the one kind that there is.
func declaresApps(capabilities json.RawMessage) bool {
	declared, _ := readMembers(capabilities) // none where it is no object; so below
	extensions, _ := readMembers(declared.get("extensions"))
	app, _ := readMembers(extensions.get(appsExtension))
	var types []string
	return json.Unmarshal(app.get("mimeTypes"), &types) == nil && slices.Contains(types, AppMIMEType)
}

// toolsFor is tools/list for a caller: the same for all but for what clients that show apps are told beside it. That is which
// tool has an app, and that apps can call none: a call of an app reaches the server as one of the model does, so the client
// alone can keep the two apart.
func (s *Server) toolsFor(caller Caller) ([]mcp.Tool, error) {
	list, err := s.listed()
	if err != nil || !caller.ShowsApps {
		return list, err
	}
	list = slices.Clone(list)
	for i := range list {
		ui := map[string]any{"visibility": []string{"model"}}
		if uri := s.tools[list[i].Name].App; uri != "" {
			ui["resourceUri"] = uri
		}
		list[i].Meta = mcp.NewMetaFromMap(map[string]any{"ui": ui})
	}
	return list, nil
}

// isApp tells whether a resource is for clients that show apps alone.
func (r *Resource) isApp() bool { return strings.HasPrefix(r.URI, "ui://") }

// appResourceMeta has clients confine an app to itself: it may reach no other origin in any way.
func appResourceMeta() map[string]any {
	none := []string{}
	return map[string]any{"ui": map[string]any{
		"csp":           map[string]any{"connectDomains": none, "resourceDomains": none, "frameDomains": none, "baseUriDomains": none},
		"prefersBorder": true,
	}}
}
