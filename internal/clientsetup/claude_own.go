package clientsetup

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/serverlist"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// claudeOwn is a file that Claude Code has for its user, and writes all the time: with servers of all projects, and of each one.
// Only the list of this project is changed, and only of it something is kept.
type claudeOwn struct {
	*planner
	*adoption
	file    File
	doc     *document
	list    []string // where the servers of this project stand
	receipt string   // the name of the list's

	user, local map[string]any
	off         []string // of the local ones
	// shared are those of the repository's first work tree, if the workspace is another directory of it: Claude Code lists them there.
	shared     map[string]any
	repository string
}

// claudeOwnFile is that file. https://code.claude.com/docs/en/mcp
func (p *planner) claudeOwnFile() string {
	if dir, ok := p.LookupEnv("CLAUDE_CONFIG_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(p.Home, ".claude.json")
}

// planClaudeOwn plans what becomes of the user's own servers. Those of this project are the user's alone, and --adopt moves them into
// the user's settings; those of all projects stay.
func (p *planner) planClaudeOwn() error {
	o := &claudeOwn{planner: p, adoption: &adoption{}, receipt: p.claudeOwnFile() + "\n" + p.Workspace}
	if was := p.recall(o.receipt); was != nil {
		o.was = was.Adopted
	}
	if p.removing && len(o.was) == 0 {
		return nil
	}
	err := o.read()
	switch {
	case err != nil && p.removing:
		o.keep(err)
		return nil
	case err != nil:
		p.leaves(fmt.Sprintf("Your own MCP servers in %s, if there are any, do not pass the gate: %v.", o.file.Path, err))
		return nil
	case p.removing:
		return o.giveBack()
	case p.Adopt:
		if err := o.adopt(); err != nil {
			return err
		}
	}
	o.tell()
	return nil
}

func (o *claudeOwn) read() (err error) {
	o.file.Path = o.claudeOwnFile()
	if o.file, err = o.fileAt(o.file.Path, false); err != nil {
		return err
	}
	o.file.aside = false
	if o.doc, err = parseDocument(o.file.before); err != nil {
		return err
	}
	type project struct {
		MCPServers map[string]any `json:"mcpServers"`
		Off        []string       `json:"disabledMcpServers"`
	}
	var root struct {
		MCPServers map[string]any     `json:"mcpServers"`
		Projects   map[string]project `json:"projects"`
	}
	if err := json.Unmarshal(o.doc.text, &root); err != nil {
		return fmt.Errorf("%w: it is not as Claude Code writes it", ErrUnmergeable)
	}
	named := func(dir string) string { // Claude Code's name is the real one
		real, _ := filepath.EvalSymlinks(dir)
		for _, name := range []string{dir, real, filepath.ToSlash(real)} {
			if _, there := root.Projects[name]; there {
				return name
			}
		}
		return dir
	}
	name := named(o.Workspace)
	this := root.Projects[name]
	o.list, o.user, o.local, o.off = []string{"projects", name, "mcpServers"}, root.MCPServers, this.MCPServers, this.Off
	if o.repository = named(repositoryOf(o.Workspace)); o.repository != name {
		o.shared = root.Projects[o.repository].MCPServers
	}
	return nil
}

// repositoryOf is the top of the first work tree of the repository that a directory is in; "" if it is in none.
func repositoryOf(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	top, common := gitdir.New(dir).WorkTree()
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return top
}

// adopt moves the servers of this project.
func (o *claudeOwn) adopt() error {
	m, err := o.mover(o.file.Path, o.receipt, false, o.adoption)
	if err != nil {
		return err
	}
	texts := o.doc.texts(o.list...)
	if !o.doc.single(o.list...) {
		texts = nil
	}
	if err := m.moveAll(o.local, texts, "", o.readLocal); err != nil || len(o.now) == 0 {
		return err
	}
	before := *o.doc
	if err := o.restore(&before); err != nil {
		return fmt.Errorf("%s: %w", o.file.Name, err)
	}
	for _, moved := range o.now {
		o.doc.takeMember(moved.Key, o.list...)
		delete(o.local, moved.Key)
	}
	o.file.adopted = o.all()
	o.file.receipt = &receipt{Path: o.receipt, Existed: true, Before: before.textOf(o.list...), After: hashOf(o.doc.textOf(o.list...)), Adopted: o.all()}
	o.change(fmt.Sprintf("without %d of this project's servers", len(o.now)))
	return nil
}

// readLocal reads an entry. What is the workspace's in it stays this one's: the settings are those of all, and in another one the same
// path may have what somebody else wrote.
func (o *claudeOwn) readLocal(key string, entry any) *foreign {
	f := o.readForeign(entry, true)
	if slices.Contains(o.off, key) {
		f.not("it is switched off there")
	}
	here := func(text string) string { return strings.ReplaceAll(text, ourWorkspace, o.Workspace) }
	f.item.Command, f.item.URL = here(f.item.Command), here(f.item.URL)
	for i, arg := range f.item.Args {
		f.item.Args[i] = here(arg)
	}
	return f
}

// giveBack puts the servers back that earlier setups have moved.
func (o *claudeOwn) giveBack() error {
	if err := o.restore(o.doc); err != nil {
		o.keep(err)
		return nil
	}
	o.change("the servers of this project are back")
	var entries map[string]any
	_ = decode(*o.doc.find(o.list...), &entries)
	return o.planner.giveBack(o.receipt, o.was, entries)
}

// restore makes of the list what it was: of one that is as a setup left it each byte, else of each entry.
func (o *claudeOwn) restore(doc *document) error {
	was := o.recall(o.receipt)
	if was == nil {
		return nil
	}
	if list := doc.find(o.list...); list != nil && was.After == hashOf(doc.textOf(o.list...)) {
		doc.replace(list.StartOffset, list.EndOffset, string(was.content()))
		return nil
	}
	for _, moved := range was.Adopted {
		if doc.find(append(slices.Clone(o.list), moved.Key)...) == nil {
			if err := doc.putBack(moved.Text, moved.Key, o.list...); err != nil {
				return err
			}
		}
	}
	return nil
}

// change plans the file as the document is now, if that is another one.
func (o *claudeOwn) change(detail string) {
	o.file.Content, o.file.Detail = o.doc.bytes(), detail
	if o.removing { // nothing is kept of it any more
		o.file.bare, o.file.bareExists = o.file.Content, true
		o.file.adopted = o.was // until they are gone from ours
	}
	if o.file.Action = actionFor(o.file.existed, o.file.before, edited{content: o.file.Content}); o.file.Action != Unchanged {
		o.plan.Files = append(o.plan.Files, o.file)
	}
}

// keep leaves the file, and the servers behind us, until a removal can put them back.
func (o *claudeOwn) keep(err error) {
	o.file.Action, o.file.Detail = Kept, fmt.Sprintf("%d servers cannot be put back into it, and stay in your settings: %v", len(o.was), err)
	o.plan.Files = append(o.plan.Files, o.file)
}

// textOf is what stands at a path; nil if nothing does.
func (d *document) textOf(path ...string) []byte {
	if value := d.find(path...); value != nil {
		return d.text[value.StartOffset:value.EndOffset]
	}
	return nil
}

// single reports whether no name of a path stands there twice: of two, clients take the last, and editors show the first.
func (d *document) single(path ...string) bool {
	for i, name := range path {
		if text, there := d.texts(path[:i]...)[name]; there && text == nil {
			return false
		}
	}
	return true
}

// tell says which servers do not pass the gate, and with --adopt how those that others use too come behind this server.
func (o *claudeOwn) tell() {
	var keys []string
	for i, list := range []map[string]any{o.local, o.shared, o.user} {
		for _, key := range slices.Sorted(maps.Keys(list)) {
			if entry := decodeServer(list[key]); entry.isOurs() || slices.Contains(keys, key) {
				continue
			}
			switch keys = append(keys, key); {
			case o.Adopt && i == 1:
				o.stays(key, list[key], "the whole repository "+o.repository, "local")
			case o.Adopt && i == 2:
				o.stays(key, list[key], "all projects", "user")
			}
		}
	}
	if len(keys) > 0 && !o.Adopt {
		o.leaves(fmt.Sprintf("Your own MCP servers in %s do not pass the gate: %s. --adopt moves those of this project behind this server, and says how the others come there.",
			o.file.Path, strings.Join(keys, ", ")))
	}
}

// stays says why a server stays, and what a person types to move it.
func (o *claudeOwn) stays(key string, entry any, whose, scope string) {
	f := o.readForeign(entry, false)
	if f.why == "" {
		f.why = o.byHand(key, f, whose, scope)
	}
	o.plan.Adoption.Left = append(o.plan.Adoption.Left, Left{key, f.why})
}

func (o *claudeOwn) byHand(key string, f *foreign, whose, scope string) string {
	settings, _, _ := o.planner.read(filepath.Join(o.UserDir, settingsFile), false) // what cannot be read takes no name
	for _, planned := range o.plan.Adoption.Files {
		if planned.Path == filepath.Join(o.UserDir, settingsFile) {
			settings = planned.Content
		}
	}
	for n := 1; ; n++ {
		f.item.Name = fitting(key, n)
		if there, _, _ := serverlist.Present(settings, f.item); !there {
			break
		}
	}
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
		secrets = fmt.Sprintf("; put %s into %s (mode 0600)", strings.Join(names, ", "), filepath.Join(o.UserSecrets, f.item.Name+".secrets"))
	}
	return fmt.Sprintf("it is in %s for %s, also where this server is not set up. To move it nevertheless, add to servers in %s: %s%s; then run: claude mcp remove %s --scope %s",
		o.file.Path, whose, filepath.Join(o.UserDir, settingsFile), line, secrets, shellword.Show(key), scope)
}
