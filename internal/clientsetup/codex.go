package clientsetup

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// codexList is the table that holds Codex' servers, codexRequirements its administrators' file below the root.
const (
	codexList         = "mcp_servers"
	codexRequirements = "etc/codex/requirements.toml"
)

// codexSandbox keeps Codex' own tools from writing without its user's word.
const codexSandbox = `sandbox_mode = "` + codexReads + `"`
const codexReads = "read-only"

// Codex: the project's config.toml and hooks.json, which it reads in a directory that its user trusts.
// https://developers.openai.com/codex/hooks
func planCodex(p *planner) error {
	config, h := p.inWorkspace(".codex/config.toml"), hookFiles()["codex"]
	p.lookFor(config)
	if err := p.planAdoption(config, codexList, func([]byte) string { return ServerName }); err != nil {
		return err
	}
	if err := p.edit(config, p.addCodex, p.takeCodex); err != nil {
		return err
	}
	if err := p.closeAdoption(); err != nil {
		return err
	}
	elsewhere := codexSandboxOf(p.last().Content) != codexReads
	if err := p.planHooks(p.inWorkspace(h.file), h); err != nil {
		return err
	}
	if elsewhere && !p.KeepTools && !p.removing {
		p.leaves("The sandbox_mode in .codex/config.toml is your own: what Codex' own tools may write there, only the hook judges.")
	} else {
		p.tellDenied("Its own tools only read (sandbox_mode): to write or to reach the network they need your word.", nil)
	}
	p.leaves("Flags of its command line (--sandbox) go before the file, and Code Mode's commands do not come to the hook.")
	next := "Start `codex` in the workspace and trust the directory; "
	if p.hookless() {
		p.plan.Next = next + "`/mcp` lists the server " + ServerName + "."
		return nil
	}
	if !p.TrustHooks || p.removing {
		next += "then open `/hooks` and trust the hooks of orchestra-mcp there: until then they do not run (--trust-hooks says it for you). "
	}
	p.plan.Next = next + "`/mcp` lists the server " + ServerName + "."
	return p.planCodexTrust(h)
}

func (p *planner) addCodex(text []byte) (edited, error) {
	entry := p.serverEntry("", "", allServers(text)[ServerName].own(true))
	after, err := setTOML(text, []string{codexList, ServerName}, [2]any{"command", entry.Command}, [2]any{"args", entry.Args})
	if err != nil {
		return edited{}, err
	}
	after = takeTOML(after, func(t tomlTable) bool {
		return len(t.path) >= 2 && t.path[0] == codexList && p.adoption.moves(t.path[1])
	})
	detail := "server " + ServerName + p.adoption.said()
	switch {
	case p.KeepTools:
		after = p.takeSandbox(after, p.recall(p.inWorkspace(".codex/config.toml")).content())
	case codexSandboxOf(after) == "":
		after = slices.Concat([]byte(codexSandbox+newlineOf(after)), after)
		detail += "; its own tools only read"
	}
	return edited{content: after, detail: detail}, nil
}

// codexSandboxOf says what Codex' own tools may write.
func codexSandboxOf(text []byte) string {
	var of struct {
		Mode string `toml:"sandbox_mode"`
	}
	_ = toml.Unmarshal(text, &of)
	return of.Mode
}

// takeSandbox takes our line out, which is the file's first.
func (p *planner) takeSandbox(text, before []byte) []byte {
	if codexSandboxOf(before) == codexReads || before == nil && !p.wasSetUp || !bytes.HasPrefix(text, []byte(codexSandbox)) {
		return text
	}
	return text[lineEnd(text, 0):]
}

func (p *planner) takeCodex(text, before []byte) (edited, error) {
	entry, there := allServers(text)[ServerName]
	detail := ""
	if !there || entry.isOurs() {
		for _, moved := range p.adoption.was {
			if entries, _ := foreignEntries(text, codexList); entries[moved.Key] == nil {
				text = appendBlock(text, string(moved.Text))
				detail += "the server " + moved.Key + " is back; "
			}
		}
	}
	switch {
	case !there:
		return edited{content: text, detail: strings.TrimSuffix(detail, "; ")}, nil
	case !entry.isOurs():
		return edited{}, fmt.Errorf("%w: the server %q does not look as setup writes it; take it out by hand", errKept, ServerName)
	}
	after := takeTOML(text, func(t tomlTable) bool { return len(t.path) >= 2 && t.path[0] == codexList && t.path[1] == ServerName })
	return edited{content: orGone(p.takeSandbox(after, before), before), detail: detail + "no server " + ServerName}, nil
}

// orGone is nil for a file that has nothing more and was not there before.
func orGone(text, before []byte) []byte {
	if len(bytes.TrimSpace(text)) == 0 && before == nil {
		return nil
	}
	return text
}

// planCodexTrust writes into the user's own file that our hooks may run, if the operator says so: Codex asks for each, by a hash
// of what it does.
func (p *planner) planCodexTrust(h hookFile) error {
	home, ok := p.LookupEnv("CODEX_HOME")
	if !ok || home == "" {
		home = filepath.Join(p.Home, ".codex")
	}
	path, hooks := filepath.Join(home, "config.toml"), p.last()
	take := func(text, before []byte) (edited, error) {
		states := p.codexTrust(h, hooks.Path, hooks.before)
		after := takeTOML(text, func(t tomlTable) bool {
			if len(t.path) != 3 || t.path[0] != "hooks" || t.path[1] != "state" {
				return false
			}
			hash, ours := states[t.path[2]]
			return ours && bytes.Contains(text[t.from:t.to], []byte(hash))
		})
		return edited{content: orGone(after, before), detail: "no trust in our hooks"}, nil
	}
	if p.removing {
		return p.takeBack(path, take)
	}
	if !p.TrustHooks {
		return nil
	}
	states := p.codexTrust(h, hooks.Path, hooks.Content)
	return p.edit(path, func(text []byte) (edited, error) {
		var err error
		for _, key := range slices.Sorted(maps.Keys(states)) {
			if text, err = setTOML(text, []string{"hooks", "state", key}, [2]any{"enabled", true}, [2]any{"trusted_hash", states[key]}); err != nil {
				return edited{}, err
			}
		}
		return edited{content: text, detail: "trust in our hooks in " + hooks.Name}, nil
	}, take)
}

// codexTrust are the keys under which Codex remembers that it may run our hooks of a file, and the hashes. A hash is of the
// event's name and the handler, as JSON with sorted keys: codex-rs/hooks/src/engine/discovery.rs.
func (p *planner) codexTrust(h hookFile, path string, text []byte) map[string]string {
	states := map[string]string{}
	if real, err := resolveExisting(path); err == nil {
		path = real
	}
	doc, err := parseDocument(text)
	if err != nil {
		return states
	}
	for _, hook := range p.hooksOf(doc, h) {
		var handler hookHandler
		var group struct {
			Matcher *string `json:"matcher"`
		}
		_ = decode(*doc.find(hook.path...), &handler)
		_ = decode(*doc.find(hook.group...), &group)
		event := strings.ToLower(camelWord().ReplaceAllString(hook.event, "${1}_${2}"))
		identity := map[string]any{"event_name": event, "hooks": []any{map[string]any{
			"type": handler.Type, "command": handler.Command, "timeout": handler.Timeout, "async": false,
		}}}
		if group.Matcher != nil {
			identity["matcher"] = *group.Matcher
		}
		n := len(hook.path)
		states[fmt.Sprintf("%s:%s:%s:%s", path, event, hook.path[n-3], hook.path[n-1])] = "sha256:" + hashOf(encoded(identity))
	}
	return states
}

// planRequirements plans the administrators' file of Codex, whose hooks are tables.
func (p *planner) planRequirements(path string, h hookFile) error {
	return p.edit(path,
		func(text []byte) (edited, error) {
			var wanted []string
			for _, e := range h.events {
				handler := p.handler(h, e)
				wanted = append(wanted, fmt.Sprintf("[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = %s\ncommand = %s\ntimeout = %d\n",
					e.name, e.name, tomlText(handler.Type), tomlText(handler.Command), handler.Timeout))
			}
			block := strings.ReplaceAll(strings.Join(wanted, "\n"), "\n", newlineOf(text))
			if _, err := tomlTables(text); err != nil || bytes.Contains(text, []byte(block)) {
				return edited{content: text, detail: "the hooks are there"}, err
			}
			after := appendBlock(p.takeRequirements(text, h), block)
			_, err := tomlTables(after)
			return edited{content: after, detail: fmt.Sprintf("hooks before and after each tool (%d events)", len(h.events))}, err
		},
		func(text, before []byte) (edited, error) {
			return edited{content: orGone(p.takeRequirements(text, h), before), detail: "no hook"}, nil
		})
}

// takeRequirements takes out our handlers, and the groups that have no other.
func (p *planner) takeRequirements(text []byte, h hookFile) []byte {
	tables, _ := tomlTables(text)
	ours := map[int]bool{}
	for i, table := range tables {
		var of hookHandler
		if len(table.path) != 3 || table.path[0] != "hooks" || table.path[2] != "hooks" {
			continue
		}
		if toml.Unmarshal(text[lineEnd(text, table.from):table.to], &of) == nil && p.runsHook(h, of.Command) {
			ours[table.from] = true
			alone := i+1 == len(tables) || len(tables[i+1].path) != 3
			if group := tables[i-1]; alone && len(group.path) == 2 && len(group.values) == 0 {
				ours[group.from] = true
			}
		}
	}
	return takeTOML(text, func(t tomlTable) bool { return ours[t.from] })
}

var camelWord = lazy.Regexp(`([a-z])([A-Z])`)
