package settings

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// MaxServers is how many other servers one source can have.
const MaxServers = 64

// Server is another MCP server that stands behind this one. Load makes it, and only what Load has made is complete and checked: a
// program that declares one itself does so by LoadOptions.Flags ("servers", a list in YAML).
type Server struct {
	Name      string   `required:"true"`
	Command   string   // a program, no shell line
	Args      []string // ${workspace} in them and in Env is the workspace's path
	URL       URL
	Env       []string // NAME=value, no secrets
	Prefix    string   // of the names of its tools; NAME_ if left out
	Mapping   string   // ready effects
	Effects   []mapping.Effect
	Tools     []string // patterns of the tools that are offered
	Safe      []string // and of those that change nothing
	Workspace Choice   `choices:"read, write"`
	Writable  []string
	Show      Choice `choices:"tools, search"`
	Findings  Choice `choices:"warn, ask, refuse"`
	Contents  bool
	Timeout   time.Duration

	line   int // in its source
	origin string
	tier   tier
}

// Upstreams are the servers as the rest of the program takes them: those of the system first, then the user's, then the
// workspace's.
func (s Settings) Upstreams() []upstream.Definition {
	var all []upstream.Definition
	for _, server := range s.Servers {
		all = append(all, server.definition())
	}
	return all
}

func (s Server) definition() upstream.Definition {
	d := upstream.Definition{
		Name: s.Name, Prefix: s.Prefix, URL: string(s.URL), Env: slices.Clone(s.Env), OfWorkspace: s.tier >= tierWorkspace, Origin: s.origin,
		Choose: slices.Clone(s.Tools), Safe: slices.Clone(s.Safe), Mapping: s.Mapping, Effects: slices.Clone(s.Effects),
		Writes: s.Workspace == Write, Writable: slices.Clone(s.Writable), Searched: s.Show == Search,
		Findings: upstream.Policy(s.Findings), Keep: s.Contents, Timeout: s.Timeout,
	}
	if s.Command != "" {
		d.Command = append([]string{s.Command}, s.Args...)
	}
	return d
}

// complete fills in what was left out, and holds the rest to what can be.
func (s *Server) complete(node *yaml.Node) error {
	s.line = node.Line
	has := func(key string) bool { return valueOf(node, key) != node }
	if !has("prefix") {
		s.Prefix = s.Name + "_"
	}
	s.Workspace, s.Show, s.Findings = cmp.Or(s.Workspace, Read), cmp.Or(s.Show, ToolsShown), cmp.Or(s.Findings, Ask)
	if !has("timeout") {
		s.Timeout = upstream.DefaultTimeout
	}
	for _, check := range []func(*yaml.Node) error{s.checkName, s.checkReach, s.checkProgram, s.checkChoices, s.checkPatterns, s.checkEffects} {
		if err := check(node); err != nil {
			return err
		}
	}
	return nil
}

var (
	serverName   = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}$`)
	serverPrefix = lazy.Regexp(`^[A-Za-z0-9_.-]{0,32}$`)
	variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

func (s *Server) checkName(node *yaml.Node) error {
	if !serverName().MatchString(s.Name) {
		return wrong(valueOf(node, "name"), "the name of a server is a lower-case letter, then letters, digits and hyphens, 32 at most, not %.80q", s.Name)
	}
	if !serverPrefix().MatchString(s.Prefix) {
		return wrong(valueOf(node, "prefix"), "server %s: a prefix has letters, digits, _, . and -, 32 at most, not %.80q", s.Name, s.Prefix)
	}
	if s.Timeout < time.Second || s.Timeout > 24*time.Hour {
		return wrong(valueOf(node, "timeout"), "server %s: timeout must be from 1s to 24h", s.Name)
	}
	return nil
}

// checkReach wants one of a program and an address. No message shows the address, which may have a secret in it.
func (s *Server) checkReach(node *yaml.Node) error {
	if (s.Command == "") == (s.URL == "") {
		return wrong(node, "server %s: want one of command and url", s.Name)
	}
	if s.URL == "" {
		return nil
	}
	if err := s.URL.check(); err != nil {
		return wrong(valueOf(node, "url"), "server %s: %v", s.Name, err)
	}
	if strings.Contains(string(s.URL), "@") || strings.Contains(string(s.URL), "#") {
		return wrong(valueOf(node, "url"), "server %s: the url has no user, password or fragment; secrets belong in its secrets file", s.Name)
	}
	for _, key := range []string{"args", "env", "writable", "workspace"} {
		if at := valueOf(node, key); at != node && !(key == "workspace" && s.Workspace == Read) {
			return wrong(at, "server %s: %s is for a command, and this server has a url", s.Name, key)
		}
	}
	return nil
}

func (s *Server) checkProgram(node *yaml.Node) error {
	switch at := valueOf(node, "command"); {
	case strings.ContainsRune(s.Command+strings.Join(s.Args, "")+strings.Join(s.Env, ""), 0):
		return wrong(at, "server %s: a zero byte in command, args or env", s.Name)
	case strings.ContainsAny(s.Command, `/\`) && !strings.HasPrefix(s.Command, "~/") && !filepath.IsAbs(s.Command):
		return wrong(at, "server %s: command is a name in PATH, an absolute path, or begins with ~/: it is not run in the workspace", s.Name)
	case !strings.ContainsAny(s.Command, `/\`) && strings.ContainsAny(s.Command, " \t\n"):
		return wrong(at, "server %s: command is the program alone; what follows it belongs in args", s.Name)
	}
	for i, entry := range s.Env {
		if !variableName().MatchString(entry) {
			return wrong(itemOf(node, "env", i), "server %s: an entry of env is NAME=value", s.Name)
		}
	}
	for i, place := range s.Writable {
		if !filepath.IsAbs(place) && !strings.HasPrefix(place, "~/") {
			return wrong(itemOf(node, "writable", i), "server %s: writable has absolute paths, and those that begin with ~/; the workspace is workspace: write", s.Name)
		}
	}
	return nil
}

func (s *Server) checkChoices(node *yaml.Node) error {
	value := reflect.ValueOf(*s)
	for _, f := range fieldsOf(value.Type()) {
		choices, chosen := choicesOf(f), value.FieldByIndex(f.Index)
		if choices != nil && !slices.Contains(choices, chosen.String()) {
			return wrong(valueOf(node, keyOf(f.Name)), "server %s: %s is one of %s, not %.80q", s.Name, keyOf(f.Name), strings.Join(choices, ", "), chosen.String())
		}
	}
	return nil
}

func (s *Server) checkPatterns(node *yaml.Node) error {
	for key, patterns := range map[string][]string{"tools": s.Tools, "safe": s.Safe} {
		for i, pattern := range patterns {
			if err := upstream.CheckPattern(pattern); err != nil {
				return wrong(itemOf(node, key, i), "server %s: %s: %v", s.Name, key, err)
			}
		}
	}
	return nil
}

func (s *Server) checkEffects(node *yaml.Node) error {
	if _, known := mapping.Ready(s.Mapping); s.Mapping != "" && !known {
		return wrong(valueOf(node, "mapping"), "server %s: there is no mapping %.80q, but %s%s", s.Name, s.Mapping, strings.Join(mapping.Names(), ", "), didYouMean(s.Mapping, mapping.Names()))
	}
	for i, effect := range s.Effects {
		if err := effect.Check(); err != nil {
			return wrong(itemOf(node, "effects", i), "server %s: effects: %v", s.Name, err)
		}
	}
	return nil
}

// itemOf is an entry of a list that a mapping has.
func itemOf(mapping *yaml.Node, key string, i int) *yaml.Node {
	return valueOf(mapping, key).Content[i]
}

// decodeServers holds those of one source also to each other: two of one name, or prefix, are a mistake there.
func decodeServers(node *yaml.Node, into *[]Server) error {
	if len(node.Content) > MaxServers {
		return wrong(node, "more than %d servers", MaxServers)
	}
	if err := decodeList(node, reflect.ValueOf(into).Elem()); err != nil {
		return err
	}
	for i, s := range *into {
		if why := s.clash((*into)[:i]); why != "" {
			return wrong(node.Content[i], "server %s: %s", s.Name, why)
		}
	}
	return nil
}

// clash says what of a server one of others has already, "" for nothing.
func (s Server) clash(others []Server) string {
	for _, other := range others {
		where := ""
		if other.origin != "" {
			where = " (" + other.origin + ")"
		}
		switch {
		case other.Name == s.Name:
			return "there is one of that name already" + where
		case other.Prefix == s.Prefix && s.Prefix == "":
			return other.Name + where + " has no prefix already, and one server at most can be without"
		case other.Prefix == s.Prefix:
			return other.Name + where + " has its prefix"
		}
	}
	return ""
}

// placed notes where servers are declared.
func placed(servers []Server, source string, t tier) []Server {
	servers = slices.Clone(servers)
	for i := range servers {
		servers[i].origin, servers[i].tier = source+":"+formOf(reflect.TypeFor[int]()).format(servers[i].line), t
	}
	return servers
}

// settleServers puts the servers of stronger tiers first. One that has the name or prefix of another does not hold: in a weaker
// tier it could stand for that one, and get what agents believe to send there.
func (m *merger) settleServers() {
	all := m.loaded.Settings.Servers
	slices.SortStableFunc(all, func(a, b Server) int { return cmp.Compare(a.tier, b.tier) })
	var kept []Server
	for _, s := range all {
		if why := s.clash(kept); why != "" {
			m.loaded.Withheld = append(m.loaded.Withheld, Withheld{"servers", encode(s), s.origin, why, false})
			continue
		}
		kept = append(kept, s)
	}
	m.loaded.Settings.Servers = kept
}
