package clientrules

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// openCode are the permissions of OpenCode: opencode.ai/docs/permissions, and anomalyco/opencode
// packages/opencode/src/{permission,tool/shell.ts,agent/agent.ts,config/config.ts}. The last rule that matches wins.
type openCode struct {
	home        string
	permissions map[string][]openCodeGroup // of each agent; "" is what holds for all
}

// openCodeGroup are the patterns below one key, in their order. A later file replaces a pattern in its place.
type openCodeGroup struct {
	key   string
	about glob // permissions
	rules []openCodeRule
}

type openCodeRule struct {
	Answer
	pattern string
	matches glob
}

// judgeOpenCode takes the strictest of what holds for the commands, and of what only an agent's own rules say: which agent
// calls is not told, so these count where the line that the hook gives back would come to less than this line. OpenCode asks
// about that line, not about this one, whatever the hook says.
func judgeOpenCode(q Question, l *line) (Answer, error) {
	o := openCode{q.Home, map[string][]openCodeGroup{}}
	if err := o.load(q); err != nil {
		return Answer{}, err
	}
	answer := o.judge("", q, l)
	for agent := range o.permissions {
		if own := o.judge(agent, q, l); own.Verdict > Allow && own.Verdict > o.last(l, agent, "bash", "orchestra-mcp exec 0").Verdict {
			answer = strictest(answer, own)
		}
	}
	return answer, nil
}

func (o openCode) judge(agent string, q Question, l *line) Answer {
	const moves = "cd chdir popd pushd" // are no commands for OpenCode
	answer := o.outside(agent, q, l)
	said := l.said
	if len(said) == 0 {
		said = []string{l.whole}
	}
	return strictest(answer, l.decide(said, func(text string) (Answer, bool) {
		r := o.last(l, agent, "bash", text)
		if word, _, _ := strings.Cut(text, " "); shell.Among(moves, word) {
			r.Verdict = Allow
		}
		return r.Answer, r.pattern != "*"
	}))
}

// outside is what holds for paths outside of the project, about which OpenCode asks by default for some programs.
func (o openCode) outside(agent string, q Question, l *line) Answer {
	const programs = "cd chdir popd pushd rm cp mv mkdir touch chmod chown cat"
	answer, paths := Answer{Verdict: None}, []string{}
	if l.runs(programs) {
		paths = l.homes
	}
	for _, p := range l.reading.Programs {
		if shell.Among(programs, p.Name) {
			paths = append(paths, operands(p, q.Cwd)...)
		}
	}
	for _, path := range paths {
		if within(q.Workspace, path) {
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			path = filepath.Dir(path)
		}
		r := o.last(l, agent, "external_directory", filepath.Join(path, "*"))
		if r.Verdict == Unknown {
			r.Answer = Answer{Verdict: Ask, Why: "OpenCode asks about paths outside of the project"}
		}
		if r.Verdict > Allow {
			answer = strictest(answer, r.Answer)
		}
	}
	return answer
}

// last is the last rule for a permission that matches a text; the zero rule if there is none.
func (o openCode) last(l *line, agent, permission, text string) openCodeRule {
	text = strings.ReplaceAll(text, `\`, "/")
	groups := o.permissions[""]
	if agent != "" {
		groups = slices.Concat(groups, o.permissions[agent])
	}
	for _, group := range slices.Backward(groups) {
		if !group.about.match(permission) {
			continue
		}
		for _, r := range slices.Backward(group.rules) {
			if l.matches(r.matches, text) {
				return r
			}
		}
	}
	return openCodeRule{}
}

// load reads the files in the order in which later ones win.
func (o openCode) load(q Question) error {
	names := []string{"opencode.json", "opencode.jsonc"}
	global := filepath.Join(cmp.Or(q.env("XDG_CONFIG_HOME"), filepath.Join(q.Home, ".config")), "opencode")
	dirs := slices.Concat([]string{global}, below(q.places(), ".opencode"), []string{filepath.Join(q.Home, ".opencode")})
	if dir := q.env("OPENCODE_CONFIG_DIR"); dir != "" {
		dirs = append(dirs, dir)
	}
	files := below(dirs[:1], "config.json", names[0], names[1])
	if file := q.env("OPENCODE_CONFIG"); file != "" {
		files = append(files, file)
	}
	files = slices.Concat(files, below(q.places(), names...), below(dirs[1:], names...), below([]string{filepath.Join(q.SystemRoot, "etc/opencode")}, names...))
	for _, file := range files {
		content, err := read(file)
		if err == nil && len(content) > 0 {
			err = o.config(content, file)
		}
		if err != nil {
			return err
		}
	}
	for variable, form := range map[string]string{"OPENCODE_CONFIG_CONTENT": "%s", "OPENCODE_PERMISSION": `{"permission": %s}`} {
		if text := q.env(variable); text != "" {
			if err := o.config(fmt.Appendf(nil, form, text), variable); err != nil {
				return err
			}
		}
	}
	agents, err := lists(".md", below(dirs, "agent", "agents", "mode", "modes")...)
	for _, file := range agents {
		if err := o.markdown(file); err != nil {
			return err
		}
	}
	return err
}

// config reads a configuration. It is JSON, in which order counts, and so is read as the YAML that it also is.
func (o openCode) config(content []byte, file string) error {
	content, err := hujson.Standardize(content)
	text := jsontext.Value(content)
	if err == nil {
		err = text.Format(jsontext.Multiline(false), jsontext.PreserveRawStrings(false))
	}
	if err != nil {
		return unclear(file, err)
	}
	settings, err := parseMap(text)
	if err != nil {
		return unclear(file, err)
	}
	err = o.agent("", settings, file)
	for _, key := range []string{"agent", "agents", "mode"} {
		for _, agent := range members(settings[key]) {
			err = errors.Join(err, o.agent(agent.key, asMap(agent.value), file))
		}
	}
	return err
}

var frontMatter = lazy.Regexp(`(?s)^---\r?\n(.*?)\r?\n---`)

// markdown reads an agent's file, which has its settings in front.
func (o openCode) markdown(file string) error {
	content, err := read(file)
	front := frontMatter().FindSubmatch(content)
	if err != nil || front == nil {
		return err
	}
	settings, err := parseMap(front[1])
	if err != nil {
		return unclear(file, err)
	}
	return o.agent(strings.TrimSuffix(filepath.Base(file), ".md"), settings, file)
}

func (o openCode) agent(name string, settings map[string]*yaml.Node, file string) error {
	err := o.add(name, settings["permission"], file)
	return errors.Join(err, o.add(name, settings["permissions"], file))
}

func parseMap(text []byte) (map[string]*yaml.Node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	if len(n.Content) != 1 || n.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is no object")
	}
	return asMap(n.Content[0]), nil
}

// member is one of an object, in its order.
type member struct {
	key   string
	value *yaml.Node
}

func members(n *yaml.Node) (all []member) {
	if n != nil && n.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(n.Content, 2) {
			all = append(all, member{pair[0].Value, pair[1]})
		}
	}
	return all
}

func asMap(n *yaml.Node) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	for _, m := range members(n) {
		all[m.key] = m.value
	}
	return all
}

// add takes permissions in: one verdict for all, verdicts by permission and pattern, or the list of rules of version 2.
func (o openCode) add(agent string, n *yaml.Node, file string) error {
	var err error
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		err = o.set(agent, "*", []member{{"*", n}}, file, true)
	case n.Kind == yaml.MappingNode:
		for _, m := range members(n) {
			patterns := members(m.value)
			if m.value.Kind != yaml.MappingNode {
				patterns = []member{{"*", m.value}}
			}
			err = errors.Join(err, o.set(agent, m.key, patterns, file, true))
		}
	case n.Kind == yaml.SequenceNode:
		for _, rule := range n.Content {
			fields := asMap(rule)
			if fields["action"] == nil || fields["resource"] == nil {
				return unclear(file, errors.New("a rule has no action or no resource"))
			}
			err = errors.Join(err, o.set(agent, fields["action"].Value, []member{{fields["resource"].Value, fields["effect"]}}, file, false))
		}
	default:
		err = unclear(file, errors.New("its permissions are of no known form"))
	}
	return err
}

// set gives patterns of a permission their verdicts, merged with those that it has or behind all others.
func (o openCode) set(agent, key string, patterns []member, file string, merge bool) error {
	if key == "shell" { // the name since version 2
		key = "bash"
	}
	about := newGlob(key, true, false)
	if !slices.ContainsFunc([]string{"bash", "external_directory"}, about.match) {
		return nil
	}
	groups := o.permissions[agent]
	at := slices.IndexFunc(groups, func(g openCodeGroup) bool { return merge && g.key == key })
	if at < 0 {
		at, groups = len(groups), append(groups, openCodeGroup{})
	}
	group := &groups[at]
	group.key, group.about = key, about
	for _, p := range patterns {
		pattern := p.key
		for _, home := range []string{"~/", "$HOME/"} {
			if rest, ok := strings.CutPrefix(pattern, home); ok {
				pattern = filepath.Join(o.home, rest)
			}
		}
		text := ""
		if p.value != nil {
			text = p.value.Value
		}
		verdict := map[string]Verdict{"allow": Allow, "ask": Ask, "deny": Deny}[text]
		if verdict == Unknown {
			return unclear(file, fmt.Errorf("the verdict of %q for %q is %q", key, p.key, text))
		}
		rule := openCodeRule{Answer{Verdict: verdict, Rule: fmt.Sprintf("%s %q", key, p.key), File: file}, p.key, newGlob(strings.ReplaceAll(pattern, `\`, "/"), true, true)}
		if at := slices.IndexFunc(group.rules, func(r openCodeRule) bool { return r.pattern == p.key }); at >= 0 {
			group.rules[at] = rule
		} else {
			group.rules = append(group.rules, rule)
		}
	}
	o.permissions[agent] = groups
	return nil
}
