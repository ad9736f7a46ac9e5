package clientsetup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// installed makes files below a directory of its own; a text that begins with -> is a link to what follows.
func installed(t *testing.T, files map[string]string) (base string) {
	t.Helper()
	base = check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	for name, text := range files {
		path := filepath.Join(base, filepath.FromSlash(name))
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, link := strings.CutPrefix(text, "->"); link {
			check.OK(t, os.Symlink(filepath.FromSlash(target), path))
		} else {
			check.OK(t, os.WriteFile(path, []byte(text), 0o755))
		}
	}
	return base
}

// platform is the package of npm's that has this machine's binary.
func platform() string {
	return "@intentgov/orchestra-mcp-" + runtime.GOOS + "-" + map[string]string{"amd64": "x64"}[runtime.GOARCH] + strings.TrimPrefix(runtime.GOARCH, "amd64")
}

const npx = "npx -y --prefix=/ --script-shell=/bin/sh --fetch-retries=0 @intentgov/orchestra-mcp"

// TestFind: what clients start is what will exist. BASE stands for the directory with the files.
func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no package is for Windows")
	}
	const binary, launcher = "/bin/orchestra-mcp", "@intentgov/orchestra-mcp/bin/orchestra-mcp"
	beside, version := platform(), `{"version": "1.2.3"}`
	for name, test := range map[string]struct {
		files                      map[string]string
		executable, path, image    string
		own, shared, problem, user string
	}{
		"a package of the system": {files: map[string]string{"usr/bin/orchestra-mcp": "x"}, executable: "usr/bin/orchestra-mcp", path: "usr/bin",
			own: "BASE/usr/bin/orchestra-mcp", shared: "orchestra-mcp"},
		"not on the PATH": {files: map[string]string{"opt/orchestra-mcp": "x"}, executable: "opt/orchestra-mcp", path: "usr/bin",
			own: "BASE/opt/orchestra-mcp", shared: "orchestra-mcp"},
		"npx": {files: map[string]string{"home/.npm/_npx/ab/node_modules/" + beside + binary: "x", "home/.npm/_npx/ab/node_modules/" + beside + "/package.json": version,
			"home/.npm/_npx/ab/node_modules/.bin/orchestra-mcp": "->../" + beside + binary},
			executable: "home/.npm/_npx/ab/node_modules/" + beside + binary, path: "home/.npm/_npx/ab/node_modules/.bin",
			own: npx + "@1.2.3", shared: npx + "@1.2.3"},
		"npx below lib": {files: map[string]string{"lib/_npx/lib/node_modules/" + beside + binary: "x"}, executable: "lib/_npx/lib/node_modules/" + beside + binary,
			own: npx + "@0.9.0", shared: npx + "@0.9.0"},
		"npx, a hostile version": {files: map[string]string{"_npx/ab/node_modules/" + beside + binary: "x", "_npx/ab/node_modules/" + beside + "/package.json": `{"version": "1.0.0; evil"}`},
			executable: "_npx/ab/node_modules/" + beside + binary, own: npx + "@0.9.0", shared: npx + "@0.9.0"},
		"npm, global": {files: map[string]string{"usr/lib/node_modules/@intentgov/orchestra-mcp/node_modules/" + beside + binary: "x", "usr/lib/node_modules/" + launcher: "y",
			"usr/bin/orchestra-mcp": "->../lib/node_modules/" + launcher},
			executable: "usr/lib/node_modules/@intentgov/orchestra-mcp/node_modules/" + beside + binary, path: "usr/bin",
			own: "BASE/usr/lib/node_modules/@intentgov/orchestra-mcp/node_modules/" + beside + binary, shared: "orchestra-mcp"},
		"npm, global elsewhere": {files: map[string]string{"npm/node_modules/" + beside + binary: "x", "npm/node_modules/" + launcher: "y", "npm/orchestra-mcp": "->node_modules/" + launcher},
			executable: "npm/node_modules/" + beside + binary, path: "npm", own: "BASE/npm/node_modules/" + beside + binary, shared: "orchestra-mcp"},
		"npm, a project": {files: map[string]string{"ws/node_modules/" + beside + binary: "x", "ws/node_modules/" + beside + "/package.json": version, "ws/node_modules/" + launcher: "y",
			"ws/node_modules/.bin/orchestra-mcp": "->../" + launcher, "ws/bin/orchestra-mcp": "->../node_modules/" + launcher},
			executable: "ws/node_modules/" + beside + binary, path: "ws/node_modules/.bin:ws/bin", own: npx + "@1.2.3", shared: npx + "@1.2.3"},
		"Homebrew": {files: map[string]string{"brew/Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp": "x", "brew/bin/orchestra-mcp": "->../Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp"},
			executable: "brew/Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp", path: "brew/Cellar/orchestra-mcp/1.2.3/bin:brew/bin", own: "BASE/brew/bin/orchestra-mcp", shared: "orchestra-mcp"},
		"Homebrew, not on the PATH": {files: map[string]string{"brew/Caskroom/orchestra-mcp/1.2.3/orchestra-mcp": "x", "brew/bin/orchestra-mcp": "->../Caskroom/orchestra-mcp/1.2.3/orchestra-mcp"},
			executable: "brew/Caskroom/orchestra-mcp/1.2.3/orchestra-mcp", own: "BASE/brew/bin/orchestra-mcp", shared: "orchestra-mcp"},
		"Homebrew without a link": {files: map[string]string{"brew/Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp": "x"}, executable: "brew/Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp",
			shared: "orchestra-mcp", problem: "brew link orchestra-mcp"},
		"a link in the workspace": {files: map[string]string{"opt/orchestra-mcp": "x", "ws/bin/orchestra-mcp": "->../../opt/orchestra-mcp"}, executable: "opt/orchestra-mcp", path: "ws/bin:bin",
			own: "BASE/opt/orchestra-mcp", shared: "orchestra-mcp"},
		"go run": {files: map[string]string{"go-build123/b001/exe/orchestra-mcp": "x"}, executable: "go-build123/b001/exe/orchestra-mcp", shared: "orchestra-mcp", problem: "the go command removes it"},
		"gone":   {executable: "opt/orchestra-mcp", shared: "orchestra-mcp", problem: "it is gone"},
		"an extension": {files: map[string]string{"Claude Extensions/x/server/orchestra-mcp": "x", "Claude Extensions/x/manifest.json": `{"manifest_version": "0.4", "server": {"mcp_config": {}}}`},
			executable: "Claude Extensions/x/server/orchestra-mcp", shared: "orchestra-mcp", problem: "which its client starts by itself"},
		"an image":         {image: "intentgov/orchestra-mcp:1.2.3\n", user: "1000:100", own: "docker run -i --rm -u 1000:100 -v /PATH/OF/THE/WORKSPACE:/workspace intentgov/orchestra-mcp:1.2.3"},
		"an image as root": {image: "registry.example:5000/intentgov/orchestra-mcp", user: "0:0", own: "docker run -i --rm -v /PATH/OF/THE/WORKSPACE:/workspace registry.example:5000/intentgov/orchestra-mcp"},
		"a strange image":  {image: "evil; rm", shared: "orchestra-mcp", problem: "does not name an image"},
		"an empty image":   {image: "\n", shared: "orchestra-mcp", problem: "does not name an image"},
	} {
		t.Run(name, func(t *testing.T) {
			base := installed(t, test.files)
			var path []string
			for dir := range strings.SplitSeq(test.path, ":") {
				path = append(path, filepath.Join(base, dir))
			}
			p := newPlace(t)
			p.opts.Launch = clientsetup.Find(clientsetup.Origin{Executable: filepath.Join(base, test.executable), Version: "v0.9.0", Path: strings.Join(path, ":"),
				Workspace: filepath.Join(base, "ws"), OS: runtime.GOOS, Image: test.image, User: test.user})
			shared := starts(p.plan("claude-code"))
			check.That(t, test.shared == "" || shared == test.shared, "shared files have %q, want %q", shared, test.shared)
			plan, err := clientsetup.New("claude-desktop", p.opts)
			if test.problem != "" {
				check.That(t, err != nil && strings.Contains(err.Error(), test.problem), "error %v, want %q", err, test.problem)
				return
			}
			check.Must(t, err == nil, "%v", err)
			own := strings.ReplaceAll(starts(plan), base, "BASE")
			check.That(t, own == test.own, "own files have %q, want %q", own, test.own)
		})
	}
}

// starts is what stands before our own arguments in a plan's list of servers.
func starts(plan *clientsetup.Plan) string {
	var root struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	_ = json.Unmarshal(plan.Files[0].Content, &root)
	server := root.Servers[clientsetup.ServerName]
	start, _, _ := strings.Cut(strings.Join(append([]string{server.Command}, server.Args...), " "), " serve")
	return start
}

// way is a launch, with a word that no other has.
type way struct {
	word   string
	launch clientsetup.Launch
}

func ways(t *testing.T) []way {
	byNPX := func(version string) clientsetup.Launch {
		dir := "_npx/x/node_modules/@intentgov/orchestra-mcp-linux-x64/"
		base := installed(t, map[string]string{dir + "bin/orchestra-mcp": "x", dir + "package.json": `{"version": "` + version + `"}`})
		return clientsetup.Find(clientsetup.Origin{Executable: filepath.Join(base, dir, "bin/orchestra-mcp")})
	}
	image := clientsetup.Find(clientsetup.Origin{Image: "intentgov/orchestra-mcp:3.0", User: "7:7"})
	return []way{
		{"/opt/one/", clientsetup.Named("/opt/one/orchestra-mcp")}, {"1.2.3", byNPX("1.2.3")}, {"1.2.4", byNPX("1.2.4")}, {":3.0", image},
		{"/it's two/", clientsetup.Named("/it's two/orchestra-mcp")}, {":3.0", image}, {"1.2.4", byNPX("1.2.4")}, {"elsewhere", clientsetup.Named("elsewhere")},
	}
}

// TestAnotherWayReplacesTheFirst: whatever an earlier setup has written, of it nothing is left; a removal knows all of it,
// without the memory of what was there.
func TestAnotherWayReplacesTheFirst(t *testing.T) {
	all := ways(t)
	for _, client := range clientsetup.Names() {
		for i, second := range all {
			first, p := all[(i+len(all)-1)%len(all)], newPlace(t)
			p.opts.UserDir = "" // as in a colleague's clone
			p.opts.Launch = first.launch
			plan := p.apply(client)
			list := plan.Files[0]
			if plan.ForAllWorkspaces() { // into which a person has put what a container prints
				if second.launch.Container() {
					continue
				}
				check.OK(t, os.WriteFile(list.Path, []byte(strings.ReplaceAll(string(list.Content), "/PATH/OF/THE/WORKSPACE", p.workspace)), 0o600))
			}
			p.opts.Launch = second.launch
			p.apply(client)
			left := strings.NewReplacer(`\\'`, "'", `'\''`, "'").Replace(strings.Join(p.snapshot(), "\n"))
			check.That(t, strings.Contains(left, second.word) && !strings.Contains(left, first.word), "%s: from %s to %s:\n%s", client, first.word, second.word, left)
			again := p.plan(client)
			entries := again.Entries()
			check.That(t, !again.Changes() && len(entries) == 1 && entries[0].Workspace == p.workspace && slices.Equal(entries[0].Launch.Words(), served(second.launch, client)),
				"%s: from %s to %s again: %+v, %+v", client, first.word, second.word, again.Files, entries)
			for _, hook := range again.Hooks() {
				check.That(t, slices.Equal(hook.Launch.Words(), second.launch.Words()), "%s: hooks start %q", client, hook.Launch.Words())
			}
			check.That(t, len(again.Hooks()) > 0 != (second.launch.Container() || client == "roo" || client == "claude-desktop"), "%s: %d hooks", client, len(again.Hooks()))
			p.remove(client)
			rest := p.snapshot()
			check.That(t, len(rest) == 0, "%s: from %s to %s leaves %q", client, first.word, second.word, rest)
		}
	}
}

// served are a launch's words as a client's list has them.
func served(l clientsetup.Launch, client string) []string {
	dir := map[string]string{"vscode": "${workspaceFolder}", "cursor": "${workspaceFolder}"}[client]
	if dir == "" {
		dir = "."
	}
	words := slices.Clone(l.Words())
	for i, word := range words {
		words[i] = strings.Replace(word, "/PATH/OF/THE/WORKSPACE:", dir+":", 1)
	}
	return words
}

// TestPlainLaunches: what a clone's file has under our name is this program only where a registry or an image gives it, and
// flags that setup does not write are seen.
func TestPlainLaunches(t *testing.T) {
	const docker = "docker run -i --rm -u 7:7 -v .:/workspace intentgov/orchestra-mcp:3.0"
	for line, want := range map[string]struct{ ours, plain bool }{
		npx + "@1.2.3": {true, true}, npx: {true, true}, npx + "@latest": {true, true}, npx + "@^1.2": {true, true}, docker: {true, true},
		strings.Replace(docker, "-u 7:7 ", "", 1): {true, true}, strings.Replace(docker, "docker", "/usr/bin/podman", 1): {true, true},
		"npx -y @intentgov/orchestra-mcp": {true, false}, strings.Replace(npx, "-y", "-y --registry=http://127.0.0.1:1", 1): {true, false},
		strings.Replace(npx, "@int", "--script-shell=./sh @int", 1): {true, false}, strings.Replace(docker, "-v", "-v /:/host -v", 1): {true, false},
		strings.Replace(docker, "-u 7:7", "--entrypoint -u", 1): {true, false},
		npx + "@file:./evil": {}, npx + "@./evil": {}, npx + "@evil.tgz": {}, npx + "@1.2.3-x.TGZ": {}, npx + "@npm:evil@1.2.3": {}, npx + "@evil/evil": {}, npx + "-evil": {},
		strings.Replace(docker, "intentgov/", "intentgov/evil/", 1): {},
	} {
		p := newPlace(t)
		words := strings.Fields(line)
		entry := map[string]any{"command": words[0], "args": append(words[1:], "serve")}
		text := check.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{clientsetup.ServerName: entry}}))(t)
		check.OK(t, os.WriteFile(filepath.Join(p.workspace, ".mcp.json"), text, 0o600))
		entries := p.plan("claude-code").Entries()
		check.Must(t, len(entries) == 1, "%s: %+v", line, entries)
		launch := entries[0].Launch
		check.That(t, (entries[0].Workspace == p.workspace) == want.ours && (launch.NPX() || launch.Container()) == want.ours, "%s: %+v", line, entries)
		check.That(t, !want.ours || launch.Plain() == want.plain, "%s: plain %v", line, launch.Plain())
	}
}

// TestWhatAWayCosts: a plan says what npx costs, and what a container leaves open.
func TestWhatAWayCosts(t *testing.T) {
	all := ways(t)
	for _, client := range clientsetup.Names() {
		if client == "roo" || client == "claude-desktop" { // which have no hooks
			continue
		}
		for i, says := range map[int]string{0: "", 1: "npm install -g @intentgov/orchestra-mcp", 3: "a hook does not work out of a container"} {
			p := newPlace(t)
			p.opts.Launch = all[i].launch
			plan := p.plan(client)
			open := strings.Join(plan.Open, "\n")
			check.That(t, says == "" && !strings.Contains(open, "npx") || says != "" && strings.Count(open, says) == 1, "%s: %q", client, plan.Open)
			asks := strings.Contains(strings.Join(plan.Closed, "\n"), "asks this program")
			check.That(t, asks != all[i].launch.Container(), "%s: closed %q", client, plan.Closed)
		}
		p := newPlace(t)
		p.opts.Managed, p.opts.SystemRoot, p.opts.Launch = true, t.TempDir(), all[3].launch
		_, err := clientsetup.New(client, p.opts)
		check.That(t, err != nil, "%s: hooks of a container for all users", client)
	}
}
