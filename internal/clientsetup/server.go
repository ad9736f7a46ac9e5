package clientsetup

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// serverEntry is how all clients describe a server that they start themselves; only some have a type.
type serverEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`

	start []string // of one that was read: what starts our program; Args are then the program's own
	env   []string // NAME=value; setup writes none
	named bool     // it has our name, whatever its program is called
}

// openCodeEntry is OpenCode's form of it.
type openCodeEntry struct {
	Type    string   `json:"type"`
	Command []string `json:"command"`
}

// form is the entry as the client's file has it.
func (e serverEntry) form() any {
	if e.Type == openCodeType {
		return openCodeEntry{e.Type, append([]string{e.Command}, e.Args...)}
	}
	return e
}

// openCodeType is its word for a server that it starts itself.
const openCodeType = "local"

// start is what a file has the client start. What can be committed carries no machine's path.
func (p *planner) start(shared bool) []string {
	p.ownNamed = p.ownNamed || !shared
	return p.Launch.words(shared)
}

// variable is what an editor puts the directory in place of that it has opened. Clients that have no variable start
// the server in that directory.
const variable = "${workspaceFolder}"

// serverEntry describes the server; where says how it finds the workspace: a path, a variable, or "" for the directory
// that the client starts it in.
func (p *planner) serverEntry(kind, where string, own []string) serverEntry {
	words := p.start(where != p.Workspace)
	if p.Launch.Container() {
		dir := where
		switch where {
		case "":
			dir = "."
		case p.Workspace: // which has another path outside
			dir = hostDir
			if !slices.Contains(p.plan.Warnings, hostDirToName) {
				p.warn("%s", hostDirToName)
			}
		}
		words, where = p.Launch.served(dir).own, containerDir
	}
	entry := serverEntry{Type: kind, Command: words[0], Args: append(slices.Clone(words[1:]), "serve")}
	if where != "" {
		entry.Args = append(entry.Args, "--workspace", where)
	}
	entry.Args = append(entry.Args, own...)
	return entry
}

const hostDirToName = "write the workspace's own path in the place of " + hostDir + ", which a container does not know"

// serverIn is where a client lists its servers.
type serverIn struct {
	path, list, kind string
	where            string                 // how our server finds the workspace: see serverEntry
	named            func(*document) string // the entry's key
}

// planServer plans the entry of a file that makes the client start us, and what else belongs into that file.
func (p *planner) planServer(in serverIn, more ...step) error {
	if in.named == nil {
		in.named = plainName
	}
	p.lookFor(in.path)
	err := p.planAdoption(in.path, in.list, func(text []byte) string {
		doc, _ := parseDocument(text) // what cannot be read is told by who edits the file
		return in.named(doc)
	})
	if err != nil {
		return err
	}
	if err := p.editJSON(in.path, append([]step{p.serverStep(in)}, more...)...); err != nil {
		return err
	}
	if err := p.closeAdoption(); err != nil {
		return err
	}
	p.warnOfSwitchedOff(in.list, in.named(p.lastDocument()))
	p.warnOfOtherServers(in.list)
	return nil
}

// lookFor finds out whether the client was set up before.
func (p *planner) lookFor(path string) {
	_, inside := p.nameOf(path)
	text, _, _ := p.read(path, inside) // an error is told by who edits the file
	p.server = allServers(text)[ServerName]
	p.wasSetUp = p.server.isOurs()
}

func (p *planner) serverStep(in serverIn) step {
	return step{
		func(doc, was *document) (string, error) {
			name := in.named(doc)
			entry := p.serverEntry(in.kind, in.where, doc.servers(in.list)[name].own(in.where == ""))
			err := doc.merge(map[string]any{in.list: map[string]any{name: entry.form()}})
			for _, moved := range p.adoption.now {
				doc.take(was, in.list, moved.Key)
			}
			return "server " + name + p.adoption.said(), err
		},
		func(doc, was *document) (string, error) { return p.takeServer(doc, was, in.list, in.named(doc)) },
	}
}

// plainName is the entry's in a file that is one workspace's.
func plainName(*document) string { return ServerName }

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
	for _, key := range [][2]string{{"disabled", "false"}, {"enabled", "true"}, {"url", ""}} {
		if value := p.lastDocument().find(list, name, key[0]); value != nil && !sameText(*value, key[1]) {
			p.warn("%s: the entry %q has %q, with which the client does not start this server: take it out", p.last().Name, name, key[0])
		}
	}
}

// step is one part of what a setup puts into a JSON file, and how it is taken out again. Both say in a few words what they
// did, take with "" that there was nothing; was is the document as it was before the setup, nil if that is not known.
type step struct {
	add, take func(doc, was *document) (string, error)
}

// editJSON plans the steps of one JSON file.
func (p *planner) editJSON(path string, steps ...step) error {
	return p.edit(path,
		func(text []byte) (edited, error) {
			return editedJSON(text, p.recall(path).content(), steps, func(s step, doc, was *document) (string, error) { return s.add(doc, was) })
		}, takeJSON(steps...))
}

func takeJSON(steps ...step) func(text, before []byte) (edited, error) {
	return func(text, before []byte) (edited, error) {
		after, err := editedJSON(text, before, steps, func(s step, doc, was *document) (string, error) { return s.take(doc, was) })
		if err == nil && after.detail == "" {
			after.content = text
		} else if err == nil && isEmptyJSON(after.content) && before == nil {
			after.content = nil
		}
		return after, err
	}
}

func editedJSON(text, before []byte, steps []step, do func(s step, doc, was *document) (string, error)) (edited, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return edited{}, err
	}
	var was *document
	if before != nil {
		was, _ = parseDocument(before)
	}
	var details []string
	for _, s := range steps {
		detail, err := do(s, doc, was)
		if err != nil {
			return edited{}, err
		}
		if detail != "" {
			details = append(details, detail)
		}
	}
	after := doc.bytes()
	if _, err := parseDocument(after); err != nil {
		return edited{}, fmt.Errorf("%w: our own change broke it; please report this", ErrUnmergeable)
	}
	return edited{content: after, detail: strings.Join(details, "; ")}, nil
}

// planWhole plans a file that is ours as a whole. One that is there and is not as an earlier setup left it stays. starts
// gives what such a file has as its launch; nil for a file that is not as setup writes it.
func (p *planner) planWhole(path string, content []byte, mode fs.FileMode, what string, starts func(text []byte) []string) error {
	was := p.recall(path)
	take := func(text, _ []byte) (edited, error) {
		if starts(text) != nil {
			return edited{detail: what + " is gone"}, nil
		}
		return edited{}, fmt.Errorf("%w: it is not %s as setup writes it; remove it yourself", errKept, what)
	}
	if p.hookless() {
		return p.takeBack(path, take)
	}
	err := p.edit(path,
		func(text []byte) (edited, error) {
			if text == nil || starts(text) != nil || was != nil && was.After == hashOf(text) {
				return edited{content: content, detail: what}, nil
			}
			return edited{content: text, kept: true, detail: "it is not " + what + " as this version writes it; remove it, or do in it what --print shows"}, nil
		},
		take)
	if err == nil {
		p.plan.Files[len(p.plan.Files)-1].mode = mode
		if start := starts(p.last().before); start != nil {
			p.found(start)
		}
	}
	return err
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
	p.leaves(fmt.Sprintf("%s also starts other servers (%s): what they can write or run does not pass the gate. --adopt moves them behind this server, where it can.",
		p.last().Name, strings.Join(others, ", ")))
}

// servers decodes the entries of a list that look like servers.
func (d *document) servers(list string) map[string]serverEntry {
	var root map[string]any
	if d.value(&root) != nil {
		return nil
	}
	return serversIn(root, list)
}

func serversIn(root map[string]any, list string) map[string]serverEntry {
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
	if line, ok := fields["command"].([]any); ok && len(line) > 0 { // OpenCode's
		entry.Command, _ = line[0].(string)
		args = line[1:]
	}
	line := []string{entry.Command}
	for _, arg := range args {
		text, _ := arg.(string)
		line = append(line, text)
	}
	entry.start, entry.Args = cutLaunch(line)
	env, ok := fields["env"].(map[string]any)
	if !ok {
		env, _ = fields["environment"].(map[string]any) // OpenCode's
	}
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
	case isContainer(e.start):
		if dir := mounted(e.start); dir != "." && dir != variable {
			return dir
		}
		return here
	case len(e.Args) >= 3 && e.Args[1] == "--workspace" && e.Args[2] == variable:
		return here
	case len(e.Args) >= 3 && e.Args[1] == "--workspace":
		return e.Args[2]
	case e.named || isNPX(e.start) || strings.HasPrefix(baseName(e.Command), Program):
		return here
	}
	return ""
}

// Entry is a server that a client's configuration, as it stands, starts, and that looks like this one.
type Entry struct {
	File      string // the configuration's name for people
	Server    string // its key in the list
	Launch    Launch // how the client starts this program
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
			this := Entry{File: file.Name, Server: name, Launch: always(entry.start...), Workspace: entry.workspace(p.workspace), Environment: entry.env}
			if this.Workspace != "" {
				this.Arguments = entry.own(false)
			}
			this.Fixed = file.inside && machinePath(entry.workspace(""))
			found = append(found, this)
		}
	}
	return found
}

// allServers are the entries of all kinds of lists in a file; none if it is neither JSON nor TOML.
func allServers(text []byte) map[string]serverEntry {
	var root map[string]any
	doc, err := parseDocument(text)
	if err == nil {
		err = doc.value(&root)
	}
	if err != nil && toml.Unmarshal(text, &root) != nil {
		return nil
	}
	servers := map[string]serverEntry{}
	for _, list := range []string{"mcpServers", "servers", "mcp", codexList} {
		maps.Copy(servers, serversIn(root, list))
	}
	return servers
}
