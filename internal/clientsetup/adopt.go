package clientsetup

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/intentgov/orchestra-mcp/internal/serverlist"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// settingsFile is the name of our settings, and workspaceSettings where a workspace has them.
const (
	settingsFile      = "config.yaml"
	workspaceSettings = ".orchestration/" + settingsFile
)

// Adoption is what becomes of a client's other servers: those that stand behind us from now on, or the other way round.
type Adoption struct {
	Moved []Moved
	Left  []Left
	// Files are our settings, and files of secrets. They are written before the client's file, and given back behind it, so that
	// whenever the process is killed each server is in one of the two.
	Files []File

	giving bool     // the servers go back to the client
	given  []string // the names of the receipts that nobody needs behind that
}

// Moved is a server that changes its place.
type Moved struct {
	Key     string   // in the client's list
	Name    string   // in ours
	Reached string   // the command line, or the address
	Mapping string   // the ready mapping that it gets
	Secrets []string // the names of variables or headers that go into a file of secrets
	// Taken says which of them get a value of the environment, "LOG_LEVEL from GITHUB_TOKEN": a file that came with a clone can ask
	// for any.
	Taken []string
	// From is the client's file, and Settings ours with the list of servers.
	From, Settings string
	// Local says that the client had it for this workspace alone, and the settings are those of all.
	Local bool
}

// Left is a server that stays where it is.
type Left struct{ Key, Why string }

// adopted is kept in the receipt of a client's file about a server that was moved.
type adopted struct {
	Key      string          `json:"key"`
	Text     []byte          `json:"text"`     // the client's entry, as it stood
	Settings string          `json:"settings"` // the file with our list
	Item     serverlist.Item `json:"item"`
	Added    bool            `json:"added"`             // a setup has put it there
	Secrets  string          `json:"secrets,omitempty"` // the file of secrets, and the hash of what it got
	Hash     string          `json:"hash,omitempty"`
}

// adoption is what is known and planned of one client's list of servers.
type adoption struct {
	list string
	was  []adopted // by earlier setups
	now  []adopted // by this one
}

// all are those of earlier setups that were not moved again, and the new ones.
func (a *adoption) all() []adopted {
	was := slices.DeleteFunc(slices.Clone(a.was), func(old adopted) bool {
		return slices.ContainsFunc(a.now, func(new adopted) bool { return new.Key == old.Key })
	})
	return append(was, a.now...)
}

// moves reports whether this setup takes an entry away from the client.
func (a *adoption) moves(key string) bool {
	return slices.ContainsFunc(a.now, func(of adopted) bool { return of.Key == key })
}

// planAdoption decides what becomes of the servers of a client's file, before the file is planned.
func (p *planner) planAdoption(path, list string, ours func(text []byte) string) error {
	p.adoption = &adoption{list: list}
	if was := p.recall(path); was != nil {
		p.adoption.was = was.Adopted
	}
	if !p.Adopt || p.removing {
		return nil
	}
	_, inside := p.nameOf(path)
	text, _, err := p.read(path, inside)
	if err != nil {
		return err
	}
	m, err := p.mover(path, path, inside, p.adoption)
	if err != nil {
		return err
	}
	entries, texts := foreignEntries(text, list)
	return m.moveAll(entries, texts, ours(text), func(_ string, entry any) *foreign { return p.readForeign(entry, inside) })
}

// mover is what moves servers out of a file, into the workspace's settings or the user's; receipt is the name of what is kept of it.
func (p *planner) mover(from, receipt string, inside bool, a *adoption) (*mover, error) {
	if p.UserDir == "" {
		return nil, errors.New("there is no directory of your own, in which the servers would be kept: set HOME or XDG_CONFIG_HOME")
	}
	if p.plan.Adoption == nil {
		p.plan.Adoption = &Adoption{}
	}
	m := &mover{planner: p, from: from, receipt: receipt, inside: inside, secrets: p.UserSecrets, Adoption: p.plan.Adoption, adoption: a,
		settings: filepath.Join(p.UserDir, settingsFile)}
	if inside {
		m.settings, m.secrets = p.inWorkspace(workspaceSettings), p.WorkspaceSecrets
	}
	m.settingsName, _ = p.nameOf(m.settings)
	return m, m.read()
}

func (m *mover) moveAll(entries map[string]any, texts map[string][]byte, ours string, read func(key string, entry any) *foreign) error {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		entry := decodeServer(entries[key])
		if entry.named = key == ServerName; key == ours || entry.isOurs() {
			continue
		}
		if err := m.move(key, read(key, entries[key]), texts[key]); err != nil {
			return err
		}
	}
	return m.write()
}

// foreignEntries are the entries of a list, decoded and as they stand; one of which it cannot be told where it stands has no text.
func foreignEntries(text []byte, list string) (map[string]any, map[string][]byte) {
	var root map[string]any
	texts := map[string][]byte{}
	if list == codexList {
		_ = toml.Unmarshal(text, &root) // what cannot be read is told by who edits the file
		tables, _ := tomlTables(text)
		for _, table := range tables {
			if len(table.path) >= 2 && table.path[0] == list {
				texts[table.path[1]] = append(texts[table.path[1]], withLineEnd(text[table.from:table.to])...)
			}
		}
	} else if doc, err := parseDocument(text); err == nil && doc.value(&root) == nil {
		texts = doc.texts(list)
	}
	entries, _ := root[list].(map[string]any)
	return entries, texts
}

// texts are the members of an object as they stand; one that stands there twice has no text.
func (d *document) texts(path ...string) map[string][]byte {
	items, _ := contents(d.find(path...))
	texts := map[string][]byte{}
	for _, of := range items {
		if of.label == nil {
			continue
		}
		name := of.label.String()
		if _, twice := texts[name]; twice { // clients take the last one, editors show the first
			texts[name] = nil
		} else {
			texts[name] = d.text[of.value.StartOffset:of.value.EndOffset]
		}
	}
	return texts
}

func withLineEnd(text []byte) []byte {
	if bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	return slices.Concat(text, []byte("\n"))
}

// mover fills our settings and files of secrets.
type mover struct {
	*planner
	*Adoption
	adoption                *adoption
	from, settings, secrets string // the client's file, ours, and the directory of secrets
	receipt, settingsName   string
	inside                  bool   // the settings are the workspace's
	file                    File   // our settings
	text                    []byte // as they will be
	other                   []byte // the settings of the other place, whose names are taken too
	added                   []serverlist.Item
}

func (m *mover) read() (err error) {
	if m.file, err = m.fileAt(m.settings, m.inside); err != nil {
		return err
	}
	elsewhere, inside := m.inWorkspace(workspaceSettings), true
	if m.inside {
		elsewhere, inside = filepath.Join(m.UserDir, settingsFile), false
	}
	m.other, _, _ = m.planner.read(elsewhere, inside) // what cannot be read takes no name
	for _, planned := range m.Files {
		if planned.Path == elsewhere {
			m.other = planned.Content
		}
	}
	m.text = m.file.before
	return nil
}

// fileAt is a file as it stands.
func (p *planner) fileAt(path string, inside bool) (File, error) {
	name, _ := p.nameOf(path)
	before, existed, err := p.read(path, inside)
	file := File{Path: path, Name: name, before: before, Content: before, existed: existed, inside: inside, Action: Unchanged, mode: 0o600, aside: true}
	if inside {
		file.mode = 0o644
	}
	return file, err
}

// move moves one server, or says why it stays.
func (m *mover) move(key string, f *foreign, text []byte) error {
	if text == nil {
		f.not("it is written in a way that setup does not take apart")
	}
	if f.why != "" {
		m.Left = append(m.Left, Left{key, f.why})
		return nil
	}
	content := []byte{}
	for _, secret := range f.secrets {
		content = append(content, secret.line+"\n"...)
	}
	for n := 1; ; n++ {
		f.item.Name = fitting(key, n)
		fits, there, secrets, err := m.fits(f.item, content)
		if err != nil {
			return err
		}
		if !fits {
			continue
		}
		moved := adopted{Key: key, Text: text, Settings: m.settings, Item: f.item, Added: !there || m.addedBy(f.item)}
		if !there {
			m.added = append(m.added, f.item)
		}
		if len(content) > 0 {
			moved.Secrets, moved.Hash = secrets.Path, hashOf(content)
			m.Files = append(m.Files, m.withSecrets(secrets, f, content))
		}
		m.adoption.now = append(m.adoption.now, moved)
		told := moved.told(f)
		told.From, _ = m.nameOf(m.from)
		told.Settings, told.Local = m.settingsName, f.inside && !m.inside
		m.Moved = append(m.Moved, told)
		return nil
	}
}

// withSecrets is a file that gets secrets. What is shown of it has none.
func (m *mover) withSecrets(file File, f *foreign, content []byte) File {
	file.Content, file.Detail = content, "secrets of "+f.item.Name
	if !file.existed {
		file.Action = Created
	}
	from, _ := m.nameOf(m.from)
	for _, secret := range f.secrets {
		file.Fragment = fmt.Appendf(file.Fragment, "%s… as in %s\n", secret.line[:len(secret.name)+1], from)
	}
	return file
}

// told is what a person is told of one that moves.
func (a adopted) told(f *foreign) Moved {
	told := Moved{Key: a.Key, Name: a.Item.Name, Reached: a.Item.URL, Mapping: a.Item.Mapping}
	if told.Reached == "" {
		told.Reached = joined(append([]string{a.Item.Command}, a.Item.Args...), shellword.Show)
	}
	if f != nil {
		for _, secret := range f.secrets {
			told.Secrets = append(told.Secrets, secret.name)
			for _, variable := range secret.from {
				told.Taken = append(told.Taken, secret.name+" from "+variable)
			}
		}
	}
	return told
}

// fits reports whether a server can have a name: nobody has it, or this server has it already.
func (m *mover) fits(item serverlist.Item, content []byte) (fits, there bool, secrets File, err error) {
	there, same, err := serverlist.Present(m.text, item)
	if err != nil {
		return false, false, secrets, fmt.Errorf("%s: %w: %w", m.settingsName, ErrUnmergeable, err)
	}
	elsewhere, _, _ := serverlist.Present(m.other, item)
	taken := there && !same || elsewhere && !there || slices.ContainsFunc(m.added, func(a serverlist.Item) bool { return a.Name == item.Name })
	if taken {
		return false, there, secrets, nil
	}
	secrets, err = m.fileAt(filepath.Join(m.secrets, item.Name+".secrets"), false)
	if err != nil {
		return false, there, secrets, err
	}
	return !secrets.existed && (!there || len(content) == 0) || secrets.existed && bytes.Equal(secrets.before, content), there, secrets, nil
}

// addedBy reports whether an earlier setup has put an item into our list, for this file or another one.
func (m *mover) addedBy(item serverlist.Item) bool {
	of := func(a adopted) bool { return a.Added && a.Settings == m.settings && a.Item.Name == item.Name }
	return slices.ContainsFunc(m.adoption.was, of) || slices.ContainsFunc(m.adoptedElsewhere(m.receipt), of)
}

// write plans our settings.
func (m *mover) write() (err error) {
	if m.file.Content, err = serverlist.Add(m.text, m.added...); err != nil {
		return fmt.Errorf("%s: %w: %w", m.settingsName, ErrUnmergeable, err)
	}
	for _, item := range m.added {
		m.file.Fragment = append(m.file.Fragment, "  "+strings.ReplaceAll(strings.TrimSuffix(item.Text(), "\n"), "\n", "\n  ")+"\n"...)
	}
	if len(m.added) == 0 {
		return nil
	}
	m.file.Fragment = append([]byte("servers:\n"), m.file.Fragment...)
	m.file.Detail = fmt.Sprintf("%d more behind this server", len(m.added))
	m.file.Action = actionFor(m.file.existed, m.file.before, edited{content: m.file.Content})
	m.Files = append(m.Files, m.file)
	return nil
}

// fitting makes a name of ours of a client's: the n-th.
func fitting(key string, n int) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(key))
	name = strings.Trim(name, "-")
	if name == "" || name[0] < 'a' {
		name = strings.TrimSuffix("server-"+name, "-")
	}
	end := ""
	if n > 1 {
		end = fmt.Sprintf("-%d", n)
	}
	return strings.TrimRight(name[:min(len(name), 32-len(end))], "-") + end
}
