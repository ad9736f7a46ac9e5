package clientsetup

import (
	"maps"
	"slices"
)

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
	doc, err := parseDocument(file.before)
	if err != nil {
		return nil
	}
	servers := doc.servers("mcpServers")
	maps.Copy(servers, doc.servers("servers"))
	var found []Entry
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if entry := servers[name]; entry.isOurs() || name == ServerName {
			this := entry.found(file.Name, name, p.workspace)
			this.Fixed = file.inside && machinePath(entry.workspace(""))
			found = append(found, this)
		}
	}
	return found
}

func (e serverEntry) found(file, name, here string) Entry {
	entry := Entry{File: file, Server: name, Command: e.Command, Workspace: e.workspace(here), Environment: e.env}
	if entry.Workspace != "" {
		entry.Arguments = e.own(false)
	}
	return entry
}
