package clientsetup

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/secretlines"
	"github.com/intentgov/orchestra-mcp/internal/serverlist"
)

// ourWorkspace stands in our settings for the path of the workspace.
const ourWorkspace = "${workspace}"

// foreign is a client's entry of a server that is not ours, as it is read. The first reason why it cannot be moved is kept.
type foreign struct {
	*planner
	inside bool // the entry stands in the workspace
	fields map[string]any
	item   serverlist.Item
	why    string

	secrets []secret
	taken   []string // the variables that were put into what is read now
}

// secret is a variable or a header, its line in a file of secrets, and the variables of the environment whose values it has.
type secret struct {
	name, line string
	from       []string
}

// passedOver are the keys of an entry that say nothing that a server behind us needs: who approves what is ours to say, and so is
// how long a call may take.
func passedOver() []string {
	return []string{"type", "transport", "name", "description", "note", "timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "initTimeout",
		"alwaysAllow", "autoApprove", "trust", "disabled", "enabled", "required", "gallery", "version"}
}

// readForeign reads an entry.
func (p *planner) readForeign(entry any, inside bool) *foreign {
	fields, _ := entry.(map[string]any)
	f := &foreign{planner: p, inside: inside, fields: maps.Clone(fields)}
	f.transport()
	f.program()
	f.address()
	f.environment()
	f.chosenTools()
	for _, name := range passedOver() {
		delete(f.fields, name)
	}
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		f.not("it has %q, for which a server behind this one has nothing", name)
	}
	return f
}

// not keeps the first reason.
func (f *foreign) not(format string, args ...any) {
	if f.why == "" {
		f.why = fmt.Sprintf(format, args...)
	}
}

// take gives a text, and notes what is none.
func (f *foreign) take(name string) string {
	value, there := f.fields[name]
	delete(f.fields, name)
	text, is := value.(string)
	if there && !is {
		f.not("its %s is not a text", name)
	}
	return text
}

func (f *foreign) takeList(name string) (texts []string) {
	value, there := f.fields[name]
	delete(f.fields, name)
	list, is := value.([]any)
	if there && !is {
		f.not("its %s is not a list", name)
	}
	for _, element := range list {
		text, is := element.(string)
		if !is {
			f.not("its %s has what is not a text", name)
		}
		texts = append(texts, text)
	}
	return texts
}

// takeMap gives the members in the order of their names.
func (f *foreign) takeMap(name string) (pairs [][2]string) {
	value, there := f.fields[name]
	delete(f.fields, name)
	members, is := value.(map[string]any)
	if there && !is {
		f.not("its %s is not an object", name)
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		text, is := members[key].(string)
		if !is {
			f.not("%s of its %s is not a text", key, name)
		}
		pairs = append(pairs, [2]string{key, text})
	}
	return pairs
}

func (f *foreign) transport() {
	if on, there := f.fields["enabled"].(bool); there && !on || f.fields["disabled"] == true {
		f.not("it is switched off there")
	}
	for _, key := range []string{"type", "transport"} {
		kind, _ := f.fields[key].(string)
		switch strings.ToLower(strings.ReplaceAll(kind, "_", "-")) {
		case "", "stdio", "local", "remote", "http", "streamable-http", "streamablehttp":
		case "sse":
			f.not("it is reached by the old SSE transport, which this server does not speak")
		default:
			f.not("its %s %q is not known", key, kind)
		}
	}
	if kind, _ := f.fields["type"].(string); f.client.name == "gemini" && kind == "" && f.fields["url"] != nil {
		f.not("it is reached by the old SSE transport (Gemini CLI's url without a type), which this server does not speak")
	}
}

// program reads what starts a server.
func (f *foreign) program() {
	var line []string
	if _, list := f.fields["command"].([]any); list { // OpenCode's
		line = f.takeList("command")
	} else if command := f.take("command"); command != "" {
		line = append([]string{command}, f.takeList("args")...)
	} else if args := f.takeList("args"); len(args) > 0 {
		f.not("it has args and no command")
	}
	f.startsHere(f.take("cwd"))
	for i, word := range line {
		line[i] = f.path(f.expanded(word, false), i == 0)
	}
	if len(line) > 0 {
		if strings.HasPrefix(line[0], ourWorkspace) {
			f.not("its program lies in the workspace, where agents write, and a server behind this one is started by a name or an absolute path")
		} else if strings.ContainsAny(line[0], " \t\n") && !strings.ContainsAny(line[0], `/\`) {
			f.not("its command is more than a program")
		}
		f.item.Command, f.item.Args, f.item.Mapping = line[0], line[1:], readyFor(line[1:])
	}
}

// startsHere: servers behind us start in a directory of their own.
func (f *foreign) startsHere(dir string) {
	switch dir = f.expanded(dir, false); {
	case f.inside && slices.Contains([]string{"", ".", "./", ourWorkspace, f.Workspace}, dir):
	case dir != "":
		f.not("it is started in the directory %s, and a server behind this one is started in one of its own", dir)
	}
}

// path is a word of a command line, in which what the client resolves in the workspace names it.
func (f *foreign) path(word string, program bool) string {
	flag, value := "", word
	if i := strings.IndexByte(word, '='); strings.HasPrefix(word, "-") && i > 0 {
		flag, value = word[:i+1], word[i+1:]
	}
	slashed := filepath.ToSlash(value)
	if rest, below := strings.CutPrefix(slashed, filepath.ToSlash(f.Workspace)+"/"); f.inside && below {
		return flag + ourWorkspace + "/" + rest
	}
	dotted := slashed == "." || slashed == ".." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../")
	if !f.inside {
		if dotted {
			f.not("its path %s hangs on the directory that the client is started in", value)
		}
		return word
	}
	if slashed == f.Workspace || slashed == "." {
		return flag + ourWorkspace
	}
	there := !filepath.IsAbs(value) && !strings.HasPrefix(value, "-") && value != "" && !strings.Contains(value, ourWorkspace) && !(program && !strings.Contains(slashed, "/"))
	if there {
		_, err := os.Lstat(f.inWorkspace(slashed))
		there = err == nil
	}
	if dotted || there {
		return flag + ourWorkspace + "/" + strings.TrimPrefix(slashed, "./")
	}
	return word
}

// address reads what a server is reached by.
func (f *foreign) address() {
	for _, name := range []string{"url", "httpUrl", "serverUrl"} {
		if text := f.take(name); text != "" {
			f.item.URL = f.expanded(text, false)
		}
	}
	switch program, remote := f.item.Command != "", f.item.URL != ""; {
	case program && remote:
		f.not("it has a command and an address")
	case !program && !remote:
		f.not("it has neither a command nor an address")
	case remote:
		at, err := url.Parse(f.item.URL)
		if err != nil || at.Scheme != "https" && !(at.Scheme == "http" && isLocal(at.Hostname())) {
			f.not("its address is neither https nor http on this machine")
		} else if strings.ContainsAny(f.item.URL, "@#") {
			f.not("its address has a user, a password or a fragment, which would stand in the settings")
		}
	}
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// environment reads variables and headers, all of which are taken for secrets.
func (f *foreign) environment() {
	for _, list := range []string{"env", "environment"} {
		for _, pair := range f.takeMap(list) {
			f.secret(pair[0], "=", strings.ReplaceAll(f.expanded(pair[1], true), ourWorkspace, f.Workspace))
		}
	}
	for _, name := range f.takeList("env_vars") { // Codex'
		f.secret(name, "=", f.variable(name))
	}
	for _, list := range []string{"headers", "http_headers"} {
		for _, pair := range f.takeMap(list) {
			f.secret(pair[0], ": ", f.expanded(pair[1], true))
		}
	}
	for _, pair := range f.takeMap("env_http_headers") {
		f.secret(pair[0], ": ", f.variable(pair[1]))
	}
	if name := f.take("bearer_token_env_var"); name != "" {
		f.secret("Authorization", ": ", "Bearer "+f.variable(name))
	}
}

func (f *foreign) secret(name, between, value string) {
	remote, read := between == ": ", secretlines.Variable
	if remote {
		read = secretlines.Header
	}
	_, _, named := read(name + between)
	_, kept, fits := read(name + between + value)
	switch {
	case remote && f.item.Command != "" || !remote && f.item.URL != "":
		f.not("it has %s, which is not for a server of its kind", name)
	case !named || strings.ContainsAny(name, between):
		f.not("the name %q does not fit into a file of secrets", name)
	case !fits || kept != value || strings.TrimSpace(value) != value:
		f.not("the value of %s has more than one line, or blanks around it, and does not fit into a file of secrets", name)
	}
	f.secrets = append(f.secrets, secret{name, name + between + value, f.taken})
	f.taken = nil
}

// chosenTools reads which tools the client takes from the server.
func (f *foreign) chosenTools() {
	var chosen []string
	for _, list := range []string{"tools", "includeTools", "enabled_tools"} {
		if names := f.takeList(list); !slices.Contains(names, "*") {
			chosen = append(chosen, names...)
		}
	}
	for _, list := range []string{"excludeTools", "disabled_tools", "disabledTools"} {
		for _, name := range f.takeList(list) {
			chosen = append(chosen, "!"+name)
		}
	}
	if slices.ContainsFunc(chosen, func(name string) bool { return strings.ContainsAny(name, `*?[]\()`) || name == "" || name == "!" }) {
		f.not("it names tools by patterns of the client's own")
	}
	f.item.Tools = chosen
}

var (
	bracedVariable = lazy.Regexp(`\$\{([^{}]*)\}`)
	geminiVariable = lazy.Regexp(`\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
	openVariable   = lazy.Regexp(`\{((?:env|file):[^{}]*)\}`)
)

// expanded puts in what the client puts in the place of variables. What it takes from its environment becomes a secret, and only
// of a secret; a server behind us does not have that environment.
func (f *foreign) expanded(text string, secret bool) string {
	var of *regexp.Regexp
	switch f.client.name {
	case "claude-desktop", "codex":
	case "gemini":
		of = geminiVariable()
	case "opencode":
		of = openVariable()
	default:
		of = bracedVariable()
	}
	if of == nil || of == openVariable() {
		if strings.Contains(text, ourWorkspace) {
			f.not("it has the text %s, which means the workspace here", ourWorkspace)
		}
	}
	if of == nil {
		return text
	}
	return of.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "${}")
		kind, rest, qualified := strings.Cut(name, ":")
		switch {
		case name == "workspaceFolder" || name == "workspaceRoot":
			if !f.inside {
				f.not("%s is not known for all workspaces", found)
			}
			return ourWorkspace
		case name == "userHome" || name == "HOME" || name == "env:HOME":
			return f.Home
		case name == "pathSeparator" || name == "/":
			return "/"
		case kind == "input":
			f.not("the client asks for a value of it (%s)", found)
		case kind == "env" && qualified:
			name = rest
		case kind == "file" || qualified && !strings.HasPrefix(rest, "-"):
			f.not("%s is not known here", found)
		}
		if !secret {
			f.not("it takes %s from the client's environment, which a server behind this one does not get", found)
			return found
		}
		return f.variable(name)
	})
}

// variable is a variable's value here; behind :- stands what it is without one.
func (f *foreign) variable(name string) string {
	name, standard, has := strings.Cut(name, ":-")
	if value, set := f.LookupEnv(name); set && (value != "" || !has) {
		f.taken = append(f.taken, name)
		return value
	}
	if !has {
		f.not("it takes %s from the client's environment, and it is not set here: set it for this command", name)
	}
	return standard
}

// readyFor is the mapping that comes with this program for a package that is started by its name.
func readyFor(args []string) string {
	for _, arg := range args {
		name := arg
		if i := strings.LastIndexByte(arg, '@'); i > 0 { // a version
			name = arg[:i]
		}
		if ready := ReadyMappings()[name]; ready != "" {
			return ready
		}
	}
	return ""
}

// ReadyMappings are the names of mappings, by the npm packages of the servers that they are for.
func ReadyMappings() map[string]string {
	const official = "@modelcontextprotocol/server-"
	return map[string]string{
		official + "filesystem": "filesystem", official + "memory": "memory", official + "everything": "everything",
		official + "sequential-thinking": "sequential-thinking", "@playwright/mcp": "playwright",
	}
}
