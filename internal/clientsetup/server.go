package clientsetup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// serverEntry is how all clients describe a server that they start themselves; only some have a type.
type serverEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`

	env []string // NAME=value; setup writes none
}

func (p *planner) serverEntry(kind string) serverEntry {
	return serverEntry{Type: kind, Command: p.Command, Args: []string{"serve", "--workspace", p.Workspace}}
}

// planServer plans the entry that makes the client start us. list is the key that holds the servers.
func (p *planner) planServer(path, list, kind string) error {
	return p.editJSON(path, func(doc *document) (string, error) {
		return "server " + ServerName, doc.merge(map[string]any{list: map[string]any{ServerName: p.serverEntry(kind)}})
	})
}

// editJSON plans a change of a JSON file.
func (p *planner) editJSON(path string, change func(*document) (string, error)) error {
	return p.edit(path, func(text []byte) (edited, error) {
		doc, err := parseDocument(text)
		if err != nil {
			return edited{}, err
		}
		detail, err := change(doc)
		if err != nil {
			return edited{}, err
		}
		after := doc.bytes()
		if _, err := parseDocument(after); err != nil {
			return edited{}, fmt.Errorf("%w: our own change broke it; please report this", ErrUnmergeable)
		}
		return edited{content: after, detail: detail}, nil
	})
}

// warnIfNotStandard says so when a client that reads strict JSON will ignore the last planned file.
func (p *planner) warnIfNotStandard() {
	file := p.plan.Files[len(p.plan.Files)-1]
	doc, err := parseDocument(file.before)
	if err == nil && !doc.standard {
		p.warn("%s has comments or trailing commas, which %s does not accept: it ignores the whole file until they are removed",
			file.Name, p.plan.Title)
	}
}

// otherServers names the servers of a client's list that are not ours: whatever they can write goes round the gate.
func (p *planner) warnOfOtherServers(list string) {
	file := p.plan.Files[len(p.plan.Files)-1]
	doc, err := parseDocument(file.Content)
	if err != nil {
		return
	}
	var others []string
	for name, entry := range doc.servers(list) {
		if !entry.isOurs() {
			others = append(others, fmt.Sprintf("%q", name))
		}
	}
	if len(others) == 0 {
		return
	}
	slices.Sort(others)
	p.leaves(fmt.Sprintf("%s also starts other servers (%s): what they can write or run does not pass the gate.",
		file.Name, strings.Join(others, ", ")))
}

// servers decodes the entries of a list that look like servers.
func (d *document) servers(list string) map[string]serverEntry {
	var root map[string]any
	if d.value(&root) != nil {
		return nil
	}
	members, _ := root[list].(map[string]any)
	servers := make(map[string]serverEntry, len(members))
	for name, member := range members {
		servers[name] = decodeServer(member)
	}
	return servers
}

func decodeServer(member any) serverEntry {
	fields, _ := member.(map[string]any)
	var entry serverEntry
	entry.Command, _ = fields["command"].(string)
	args, _ := fields["args"].([]any)
	for _, arg := range args {
		text, _ := arg.(string)
		entry.Args = append(entry.Args, text)
	}
	env, _ := fields["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		entry.env = append(entry.env, fmt.Sprintf("%s=%v", name, env[name]))
	}
	return entry
}

// isOurs recognises an entry that this package wrote, whatever binary it names.
func (e serverEntry) isOurs() bool { return e.workspace() != "" }

// workspace is the directory that an entry of ours serves, else "".
func (e serverEntry) workspace() string {
	if len(e.Args) >= 3 && e.Args[0] == "serve" && e.Args[1] == "--workspace" {
		return e.Args[2]
	}
	return ""
}
