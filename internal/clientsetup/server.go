package clientsetup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// serverEntry is how all clients describe a server that they start themselves; only some have a type.
type serverEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`

	env   []string // NAME=value; setup writes none
	named bool     // it has our name, whatever its program is called
}

// Program is the name by which files that people share call this program: each of them has it in a place of its own.
const Program = "orchestra-mcp"

// program is what a file has the client start. What can be committed carries no machine's path.
func (p *planner) program(inside bool) string {
	switch {
	case p.Command != "":
		return p.Command
	case inside:
		return Program
	}
	return p.Executable
}

// variable is what an editor puts the directory in place of that it has opened. Clients that have no variable start
// the server in that directory.
const variable = "${workspaceFolder}"

// serverEntry describes the server; where says how it finds the workspace: a path, a variable, or "" for the directory
// that the client starts it in.
func (p *planner) serverEntry(kind, where string) serverEntry {
	entry := serverEntry{Type: kind, Command: p.program(where != p.Workspace), Args: []string{"serve"}}
	if where != "" {
		entry.Args = append(entry.Args, "--workspace", where)
	}
	return entry
}

// planServer plans the entry of a file that makes the client start us. list is the key that holds the servers, named gives
// the entry's.
func (p *planner) planServer(path, list, kind, where string, named func(*document) string) error {
	err := p.editJSON(path,
		func(doc *document) (string, error) {
			name, entry := named(doc), p.serverEntry(kind, where)
			entry.Args = append(entry.Args, doc.servers(list)[name].own(where == "")...)
			return "server " + name, doc.merge(map[string]any{list: map[string]any{name: entry}})
		},
		func(doc *document, was *document) (string, error) { return p.takeServer(doc, was, list, named(doc)) })
	if err != nil {
		return err
	}
	p.warnOfSwitchedOff(list, named(p.lastDocument()))
	if doc, err := parseDocument(p.last().before); err == nil {
		p.wasSetUp = doc.servers(list)[named(doc)].isOurs()
	}
	return nil
}

// plainName is the entry's in a file that is one workspace's.
func plainName(*document) string { return ServerName }

// takeDenials takes denials out. They do not tell whose they are: where nothing is known of the file before, they are
// ours if our server stands beside them.
func (p *planner) takeDenials(doc, was *document, ours []string) []hujson.Value {
	if was == nil && !p.wasSetUp {
		return nil
	}
	return doc.takeElements(was, func(v hujson.Value) bool { return isString(v, ours) }, "permissions", "deny")
}

// takeServer takes an entry of ours out.
func (p *planner) takeServer(doc, was *document, list, name string) (string, error) {
	entry, there := doc.servers(list)[name]
	switch {
	case !there:
		return "", nil
	case !entry.isOurs():
		return "", fmt.Errorf("%w: the server %q does not look as setup writes it; take it out by hand", errKept, name)
	}
	doc.take(was, list, name)
	return "no server " + name, nil
}

// own are the arguments that an operator has put behind ours. A path to a workspace is not among them: an older setup
// wrote it, and it is one machine's; without a path of ours another way to find the workspace stays.
func (e serverEntry) own(free bool) []string {
	if len(e.Args) == 0 || e.Args[0] != "serve" {
		return nil
	}
	rest := e.Args[1:]
	if len(rest) >= 2 && rest[0] == "--workspace" && !(free && !machinePath(rest[1])) {
		rest = rest[2:]
	}
	return rest
}

// machinePath reports whether a path is absolute on any system.
func machinePath(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`) || len(path) > 1 && path[1] == ':'
}

// warnOfSwitchedOff names keys of our entry by which a client does not start us, or something else.
func (p *planner) warnOfSwitchedOff(list, name string) {
	for _, key := range []string{"disabled", "url"} {
		if value := p.lastDocument().find(list, name, key); value != nil && !sameText(*value, "false") {
			p.warn("%s: the entry %q has %q, with which the client does not start this server: take it out", p.last().Name, name, key)
		}
	}
}

// editJSON plans a change of a JSON file, and how it is taken back: was is the document as it was before the setup, nil
// if that is not known.
func (p *planner) editJSON(path string, change func(*document) (string, error), take func(doc, was *document) (string, error)) error {
	return p.edit(path,
		func(text []byte) (edited, error) {
			return editedJSON(text, change)
		},
		func(text, before []byte) (edited, error) {
			var was *document
			if before != nil {
				was, _ = parseDocument(before)
			}
			after, err := editedJSON(text, func(doc *document) (string, error) { return take(doc, was) })
			if err == nil && after.detail == "" {
				after.content = text
			} else if err == nil && isEmptyJSON(after.content) && before == nil {
				after.content = nil
			}
			return after, err
		})
}

func editedJSON(text []byte, change func(*document) (string, error)) (edited, error) {
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
}

// warnIfNotStandard says so when a client that reads strict JSON will ignore the last planned file.
func (p *planner) warnIfNotStandard() { p.plan.Warnings = append(p.plan.Warnings, p.notStandard()...) }

func (p *planner) notStandard() []string {
	file := p.last()
	doc, err := parseDocument(file.before)
	if err != nil || doc.standard {
		return nil
	}
	return []string{fmt.Sprintf("%s has comments or trailing commas, which %s does not accept: it ignores the whole file until they are removed",
		file.Name, p.plan.Title)}
}

// otherServers names the servers of a client's list that are not ours: whatever they can write goes round the gate.
func (p *planner) warnOfOtherServers(list string) {
	var others []string
	for name, entry := range p.lastDocument().servers(list) {
		if !entry.isOurs() {
			others = append(others, fmt.Sprintf("%q", name))
		}
	}
	if len(others) == 0 {
		return
	}
	slices.Sort(others)
	p.leaves(fmt.Sprintf("%s also starts other servers (%s): what they can write or run does not pass the gate.",
		p.last().Name, strings.Join(others, ", ")))
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
		entry := decodeServer(member)
		entry.named = name == ServerName
		servers[name] = entry
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
func (e serverEntry) isOurs() bool { return e.workspace(".") != "" }

// workspace is the directory that an entry of ours serves, else "". here is what a variable, or the directory in which
// the client starts the server, stands for.
func (e serverEntry) workspace(here string) string {
	switch {
	case len(e.Args) == 0 || e.Args[0] != "serve":
		return ""
	case len(e.Args) >= 3 && e.Args[1] == "--workspace" && e.Args[2] == variable:
		return here
	case len(e.Args) >= 3 && e.Args[1] == "--workspace":
		return e.Args[2]
	case e.named || strings.HasPrefix(baseName(e.Command), Program):
		return here
	}
	return ""
}

// baseName is the last element of a path of any system.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// Entry is a server that a client's configuration, as it stands, starts, and that looks like this one.
type Entry struct {
	File      string // the configuration's name for people
	Server    string // its key in the list
	Command   string
	Workspace string // that it serves; empty if the arguments are not those that this package writes
	// Fixed: the entry stands in the workspace, where it can be committed, and names it by a machine's path.
	Fixed bool
	// Arguments are those behind the ones that this package writes, Environment the variables that the entry sets, as
	// NAME=value. A workspace's file can have them, and the server takes both for the user's own word.
	Arguments, Environment []string
}

// Entries are the entries of ours in the client's list of servers before the plan is applied, sorted by their keys:
// those that serve a workspace, and one of our name with other arguments.
func (p *Plan) Entries() []Entry {
	if len(p.Files) == 0 {
		return nil
	}
	file := p.Files[0] // the list of servers comes first
	servers := allServers(file.before)
	var found []Entry
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if entry := servers[name]; entry.isOurs() || name == ServerName {
			this := Entry{File: file.Name, Server: name, Command: entry.Command, Workspace: entry.workspace(p.workspace), Environment: entry.env}
			if this.Workspace != "" {
				this.Arguments = entry.own(false)
			}
			this.Fixed = file.inside && machinePath(entry.workspace(""))
			found = append(found, this)
		}
	}
	return found
}

// allServers are the entries of both kinds of lists in a file; none if it is not JSON.
func allServers(text []byte) map[string]serverEntry {
	doc, err := parseDocument(text)
	if err != nil {
		return nil
	}
	servers := doc.servers("mcpServers")
	maps.Copy(servers, doc.servers("servers"))
	return servers
}
