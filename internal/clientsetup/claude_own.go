package clientsetup

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// ownServer is one that Claude Code has for its user alone, in a file of its own which it writes all the time.
type ownServer struct {
	key, scope string
	entry      any
}

// claudeOwnFile is that file. https://code.claude.com/docs/en/mcp
func (p *planner) claudeOwnFile() string {
	if dir, ok := p.LookupEnv("CLAUDE_CONFIG_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(p.Home, ".claude.json")
}

// claudeOwn are the user's servers in the workspace: those of this project, and those of all.
func (p *planner) claudeOwn() (own []ownServer) {
	text, _, err := p.read(p.claudeOwnFile(), false)
	var root struct {
		MCPServers map[string]any `json:"mcpServers"`
		Projects   map[string]struct {
			MCPServers map[string]any `json:"mcpServers"`
		} `json:"projects"`
	}
	if err != nil || json.Unmarshal(text, &root) != nil {
		return nil // Claude Code does not read it either
	}
	local := root.Projects[p.Workspace].MCPServers
	for _, list := range []struct {
		scope   string
		servers map[string]any
	}{{"local", local}, {"user", root.MCPServers}} {
		for _, key := range slices.Sorted(maps.Keys(list.servers)) {
			_, hidden := local[key]
			if entry := decodeServer(list.servers[key]); !entry.isOurs() && (list.scope == "local" || !hidden) {
				own = append(own, ownServer{key, list.scope, list.servers[key]})
			}
		}
	}
	return own
}

// tellClaudeOwn says that these servers do not pass the gate, and with --adopt how they come behind this server: other projects
// may use them, and the file is Claude Code's to write.
func (p *planner) tellClaudeOwn() {
	own := p.claudeOwn()
	if len(own) == 0 || p.removing {
		return
	}
	file := p.claudeOwnFile()
	if !p.Adopt {
		var keys []string
		for _, server := range own {
			keys = append(keys, server.key)
		}
		p.leaves(fmt.Sprintf("Your own MCP servers in %s do not pass the gate: %s. --adopt says how they come behind this server.", file, strings.Join(keys, ", ")))
		return
	}
	if p.plan.Adoption == nil {
		p.plan.Adoption = &Adoption{}
	}
	for _, server := range own {
		p.plan.Adoption.Left = append(p.plan.Adoption.Left, Left{server.key, p.byHand(server, file)})
	}
}

// byHand is what a person types to move one.
func (p *planner) byHand(server ownServer, file string) string {
	f := p.readForeign(server.entry, false)
	if f.why != "" {
		return f.why
	}
	f.item.Name = fitting(server.key, 1)
	line, _ := json.Marshal(struct { // which is YAML too
		Name    string   `json:"name"`
		Command string   `json:"command,omitempty"`
		Args    []string `json:"args,omitempty"`
		URL     string   `json:"url,omitempty"`
		Mapping string   `json:"mapping,omitempty"`
		Tools   []string `json:"tools,omitempty"`
	}{f.item.Name, f.item.Command, f.item.Args, f.item.URL, f.item.Mapping, f.item.Tools})
	secrets := ""
	if len(f.secrets) > 0 {
		var names []string
		for _, secret := range f.secrets {
			names = append(names, secret.name)
		}
		secrets = fmt.Sprintf("; put %s into %s (mode 0600)", strings.Join(names, ", "), filepath.Join(p.UserSecrets, f.item.Name+".secrets"))
	}
	whose := map[string]string{"user": "for all projects", "local": "for this project"}[server.scope]
	return fmt.Sprintf("it is in %s, %s. Add to servers in %s: %s%s; then run: claude mcp remove %s --scope %s",
		file, whose, filepath.Join(p.UserDir, settingsFile), line, secrets, shellword.Show(server.key), server.scope)
}
