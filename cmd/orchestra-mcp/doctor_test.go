package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

// patient is a workspace of its own, with a home of its own, that the real program is run on.
type patient struct {
	t         *testing.T
	base, dir string
	env       []string
}

// newPatient is a healthy workspace: set up, in a repository, connected to one client.
func newPatient(t *testing.T) *patient {
	t.Helper()
	p := barePatient(t)
	p.write("src/a.go", "package a\n")
	p.sh("git init -q -b main")
	p.sh("orchestra-mcp init --yes")
	p.sh("orchestra-mcp setup claude-code")
	p.sh("git add -A && git commit -qm start")
	return p
}

func barePatient(t *testing.T) *patient {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{t: t, base: base, dir: filepath.Join(base, "work it's")}
	home := filepath.Join(base, "home")
	for _, dir := range []string{p.dir, home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "APPDATA=" + filepath.Join(home, "AppData"),
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	return p
}

func (p *patient) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *patient) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) append(name, text string) {
	p.t.Helper()
	p.write(name, p.read(name)+text)
}

func (p *patient) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

func (p *patient) remove(name string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

// sh runs a shell line in the workspace. Who is asked something takes what is proposed.
func (p *patient) sh(line string) string {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, strings.NewReader("\n\n\n\n\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// record puts records into the ledger.
func (p *patient) record(paths ...string) {
	p.t.Helper()
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	defer root.Close()
	l, err := ledger.Open(root, ledger.Options{Version: "v1"})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range paths {
		if _, err := l.Append(context.Background(), recordFor(path)); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := l.Close(context.Background()); err != nil {
		p.t.Fatal(err)
	}
}

func recordFor(path string) ledger.Record {
	return ledger.Record{
		Kind: ledger.KindMutation, IntentID: "INT-001", Call: "write_to_file", Contributor: ledger.Contributor{Type: ledger.ContributorAI},
		Changes: []ledger.Change{{Path: path, Op: ledger.OpCreated, After: "sha256:" + strings.Repeat("a", 64)}},
	}
}

// examine runs doctor, which must leave every file of the workspace and of the home as it is.
func (p *patient) examine() doctor.Report {
	p.t.Helper()
	before := p.tree()
	cmd := exec.Command("orchestra-mcp", "doctor", "--json")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	var report doctor.Report
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil {
		p.t.Fatalf("doctor: %v, %v\n%s", err, jsonErr, out)
	}
	if got, want := cmd.ProcessState.ExitCode(), min(1, report.Count(doctor.Fail)); got != want {
		p.t.Errorf("exit code %d with %d failed checks", got, report.Count(doctor.Fail))
	}
	if after := p.tree(); !slices.Equal(before, after) {
		p.t.Errorf("doctor changed something:\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	return report
}

// tree lists all files with their state and content.
func (p *patient) tree() (all []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		all = append(all, fmt.Sprintf("%s %v %v %q", path, info.Mode(), info.ModTime().UnixNano(), content))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// worries are the findings that are not ok, but for the one that every workspace has in this version.
func worries(r doctor.Report) (found []doctor.Finding) {
	for _, f := range r.Findings {
		if f.Status != doctor.OK && !strings.Contains(f.Message, "not confined in this version") {
			found = append(found, f)
		}
	}
	return found
}

// breakage is something that is wrong, and what doctor must say of it.
type breakage struct {
	do     func(p *patient)
	area   string
	status doctor.Status
	says   string
	// command is how the remedy begins; "" where a person has to decide.
	command string
	// mend does what the remedy says; nil runs its command as it is.
	mend func(p *patient)
}

func breakages() map[string]breakage {
	all := map[string]breakage{}
	for _, part := range []map[string]breakage{brokenWorkspaces(), brokenIntents(), brokenLedgers(), brokenGit(), brokenClients(), brokenPrograms()} {
		for name, b := range part {
			if _, taken := all[name]; taken {
				panic("two breakages are called " + name)
			}
			all[name] = b
		}
	}
	return all
}

func brokenWorkspaces() map[string]breakage {
	return map[string]breakage{
		"no workspace": {func(p *patient) { p.remove(".orchestration") }, "workspace", doctor.Fail, "not a workspace yet", "orchestra-mcp init", nil},
		"a file in its place": {func(p *patient) { p.remove(".orchestration"); p.write(".orchestration", "") }, "workspace", doctor.Fail,
			"not a directory of its own", "mv .orchestration ", nil},
		"a link for state": {func(p *patient) { p.sh("rm -rf .orchestration/state && ln -s ../src .orchestration/state") }, "workspace", doctor.Fail,
			".orchestration/state is not a directory", "mv .orchestration/state ", nil},
		"a link for the map": {func(p *patient) { p.sh("ln -s ../src/a.go .orchestration/intent_map.md") }, "workspace", doctor.Warn,
			".orchestration/intent_map.md is not a regular file", "mv .orchestration/intent_map.md ", nil},
		"a rule that is none": {func(p *patient) {
			p.write(".orchestration/config.yaml", "rules:\n  - {name: x, when: \"size(\", action: refuse, message: m}\n")
		}, "settings", doctor.Fail, `config.yaml:2:21: rules: rule "x"`, "", func(p *patient) { p.write(".orchestration/config.yaml", "") }},
		"a wrong setting": {func(p *patient) { p.append(".orchestration/config.yaml", "\nsandbx: off\n") }, "settings", doctor.Fail, "sandbx", "",
			func(p *patient) {
				p.sh(`sed -i.bak '/sandbx/d' .orchestration/config.yaml && rm .orchestration/config.yaml.bak && orchestra-mcp trust --yes`)
			}},
		"settings of a stranger": {func(p *patient) { p.write(".orchestration/config.yaml", "write:\n  blind: allow\n") }, "settings", doctor.Warn,
			"write.blind = allow has no effect until you trust it", "orchestra-mcp trust", nil},
		"a locked setting": {func(p *patient) {
			p.write("../home/.config/orchestra-mcp/config.yaml", "sandbox: require\nlock: [sandbox]\n")
			p.write(".orchestration/config.yaml", "sandbox: \"off\"\n")
			p.sh("orchestra-mcp trust --yes")
		}, "settings", doctor.Warn, "sandbox = off has no effect", "", func(p *patient) { p.write(".orchestration/config.yaml", "") }},
		"an unknown variable": {func(p *patient) { p.env = append(p.env, "ORCHESTRA_SANDBX=off") }, "settings", doctor.Warn, "ORCHESTRA_SANDBX",
			"unset ORCHESTRA_SANDBX", func(p *patient) { p.env = p.env[:len(p.env)-1] }},
	}
}

func brokenIntents() map[string]breakage {
	const intents, ignore = ".orchestration/active_intents.yaml", ".orchestration/.intentignore"
	return map[string]breakage{
		"no intents": {func(p *patient) { p.remove(intents) }, "intents", doctor.Fail, "every change is refused", "orchestra-mcp init", nil},
		"intents that are no YAML": {func(p *patient) { p.append(intents, "\n\t- x\n") }, "intents", doctor.Fail, intents + ":", "",
			func(p *patient) { p.sh("git checkout -q -- " + intents) }},
		"an intent's rule that is none": {func(p *patient) {
			p.write(intents, strings.Replace(p.read(intents), "    status:", "    rules: [{name: x, when: \"size(\", action: refuse, message: m}]\n    status:", 1))
		}, "intents", doctor.Fail, intents + ":", "", func(p *patient) { p.sh("git checkout -q -- " + intents) }},
		"an unclear ignore rule": {func(p *patient) { p.append(ignore, "intent:\n") }, "intents", doctor.Fail, ignore + ":", "",
			func(p *patient) { p.sh("git checkout -q -- " + ignore) }},
		"both": {func(p *patient) { p.append(intents, "\n\t- x\n"); p.append(ignore, "intent:\n") }, "intents", doctor.Fail, ignore + ":", "",
			func(p *patient) { p.sh("git checkout -q -- .orchestration") }},
		"nothing to select": {func(p *patient) { p.sh("sed -i.bak s/IN_PROGRESS/DONE/ " + intents + " && rm " + intents + ".bak") }, "intents", doctor.Warn,
			"none can be selected", "orchestra-mcp intents add ", nil},
		"a rule for no intent": {func(p *patient) { p.append(ignore, "intent:NOPE-7\n") }, "intents", doctor.Warn, "NOPE-7", "",
			func(p *patient) { p.sh("git checkout -q -- " + ignore) }},
	}
}

func brokenLedgers() map[string]breakage {
	return map[string]breakage{
		"a torn end": {func(p *patient) { p.record("a"); p.append(storyLedger, `{"prev":[],"ver`) }, "ledger", doctor.Warn, "torn_line",
			"orchestra-mcp ledger repair", func(p *patient) { p.sh("orchestra-mcp ledger repair && rm .orchestration/state/torn-*") }},
		"a missing record": {func(p *patient) {
			p.record("a", "b", "c")
			p.sh("git add -A && git commit -qm records && sed -i.bak 2d " + storyLedger + " && rm " + storyLedger + ".bak")
		}, "ledger", doctor.Fail, "missing_predecessor", "orchestra-mcp ledger restore", nil},
		"a conflict": {func(p *patient) {
			p.sh("orchestra-mcp git install-hooks --remove; sed -i.bak /agent_trace/d .gitattributes && rm .gitattributes.bak && git add -A && git commit -qm plain")
			p.record("a")
			p.sh("git add -A && git commit -qm a && git checkout -qb other")
			p.record("b")
			p.sh("git add -A && git commit -qm b && git checkout -q main")
			p.record("c")
			p.sh("git add -A && git commit -qm c && { git merge -q other || :; }")
		}, "ledger", doctor.Fail, "malformed_line", "orchestra-mcp ledger merge", func(p *patient) { p.sh("orchestra-mcp ledger merge && orchestra-mcp init --yes") }},
		"a directory for a segment": {func(p *patient) { p.write(".orchestration/trace/x.jsonl/y", "") }, "ledger", doctor.Fail, "unreadable_segment",
			"mv .orchestration/trace/x.jsonl ", nil},
		"what a killed server left": {func(p *patient) { p.sh("leave-entry") }, "state", doctor.Warn, "1 entry of servers that are gone", "",
			func(p *patient) { p.changeOnce() }},
		"an end that was set aside": {func(p *patient) { p.write(".orchestration/state/torn-x.jsonl", "x") }, "state", doctor.Warn, "a crash tore",
			"rm .orchestration/state/torn-x.jsonl", nil},
		"an entry that was set aside": {func(p *patient) { p.write(".orchestration/state/inflight/x.entry.unreadable", "x") }, "state", doctor.Warn,
			"had not begun", "rm .orchestration/state/inflight/x.entry.unreadable", nil},
		"calls without record": {func(p *patient) { p.write(".orchestration/state/gaps/x.gap", "") }, "state", doctor.Warn, "could not be written", "",
			func(p *patient) { p.remove(".orchestration/state/gaps") }},
	}
}

// leaveEntry ends in the middle of a change, as a program of its own.
func leaveEntry() {
	root, err := os.OpenRoot(".")
	if err != nil {
		panic(err)
	}
	l, err := ledger.Open(root, ledger.Options{Version: "v1"})
	if err != nil {
		panic(err)
	}
	draft, err := l.Draft(recordFor("src/b.go"))
	if err != nil {
		panic(err)
	}
	state := func() (*os.Root, error) {
		home, err := durable.OpenOwn(root, ".orchestration", 0)
		if err != nil {
			return nil, err
		}
		return durable.OpenOwn(home, "state", 0o700)
	}
	if _, err := journal.Open(journal.Options{State: state}).Begin(journal.Entry{Began: draft.Time(), Lines: draft.Lines()}); err != nil {
		panic(err)
	}
}

// changeOnce has an agent write a file through a server.
func (p *patient) changeOnce() {
	p.t.Helper()
	out := p.sh(`orchestra-mcp serve 2>../log <<'EOF'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"select_active_intent","arguments":{"intent_id":"INT-001"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"src/new.go","content":"package a\n"}}}
EOF`)
	if _, err := os.Lstat(p.path("src/new.go")); err != nil {
		p.t.Fatalf("the file was not written: %s", out)
	}
}

func brokenGit() map[string]breakage {
	return map[string]breakage{
		"no attributes": {func(p *patient) { p.sh("git rm -q .gitattributes") }, "git", doctor.Warn, ".gitattributes lacks", "orchestra-mcp init --yes", nil},
		"an ignored ledger": {func(p *patient) { p.write(".gitignore", "*.jsonl\n"); p.record("a") }, "git", doctor.Warn,
			"git ignores .orchestration/agent_trace.jsonl (.gitignore:1: *.jsonl)", "git add -f -- .orchestration/agent_trace.jsonl", nil},
		"a ledger that will be ignored": {func(p *patient) { p.write(".gitignore", "*.jsonl\n") }, "git", doctor.Warn, "git ignores .orchestration/agent_trace.jsonl", "",
			func(p *patient) { p.remove(".gitignore") }},
		"tracked state": {func(p *patient) { p.write(".orchestration/state/x", ""); p.sh("git add -f .orchestration/state/x") }, "git", doctor.Warn,
			"git tracks files", "git rm ", nil},
		"state that is not ignored": {func(p *patient) { p.remove(".orchestration/.gitignore") }, "git", doctor.Warn, "does not ignore .orchestration/state",
			"orchestra-mcp init --yes", nil},
		"half the hooks":    {func(p *patient) { p.sh("orchestra-mcp git install-hooks && rm .git/hooks/commit-msg") }, "git", doctor.Warn, "Only some", "orchestra-mcp git install-hooks", nil},
		"hooks left behind": {func(p *patient) { p.sh("orchestra-mcp git install-hooks && git config core.hooksPath .git/other") }, "git", doctor.Warn, "core.hooksPath", "orchestra-mcp git install-hooks", nil},
		"hooks of a program": {func(p *patient) {
			p.sh(`orchestra-mcp git install-hooks && sed -i.bak "s|^program=.*|program='/gone/it'|" .git/hooks/pre-commit`)
		}, "git", doctor.Warn, "/gone/it, which is gone", "orchestra-mcp git install-hooks", nil},
		"a broken repository": {func(p *patient) { p.sh("mv .git ../git && echo gitdir: nowhere >.git") }, "git", doctor.Warn, "git does not read it", "",
			func(p *patient) { p.sh("rm .git && mv ../git .git") }},
	}
}

func brokenClients() map[string]breakage {
	const setup = "orchestra-mcp setup claude-code"
	edit := func(expression string) func(p *patient) {
		return func(p *patient) { p.sh("sed -i.bak '" + expression + "' .mcp.json && rm .mcp.json.bak") }
	}
	return map[string]breakage{
		"no client":        {func(p *patient) { p.remove(".mcp.json") }, "clients", doctor.Warn, "No MCP client is set up", setup, nil},
		"a program gone":   {edit(`s|"command": .*|"command": "/gone/it",|`), "clients", doctor.Fail, "/gone/it, which is not there", setup, nil},
		"a name not found": {edit(`s|"command": .*|"command": "orchestra-mpc",|`), "clients", doctor.Fail, "orchestra-mpc, which is not there", setup, nil},
		"a relative name": {func(p *patient) {
			p.sh("printf '#!/bin/sh\\n' >evil && chmod +x evil")
			edit(`s|"command": .*|"command": "./evil",|`)(p)
		}, "clients", doctor.Warn, "./evil, which depends", setup, nil},
		"another program":   {edit(`s|"command": .*|"command": "/bin/sh",|`), "clients", doctor.Fail, "not a build of orchestra-mcp", setup, nil},
		"another workspace": {edit(`s|"--workspace",|"--workspace", "/",|`), "clients", doctor.Fail, "serves another workspace, /", setup, nil},
		"other arguments":   {edit(`s|"serve"|"serve", "--listen"|`), "clients", doctor.Warn, "arguments that setup does not write", setup, nil},
		"settings in an entry": {edit(`s|"command":|"env": {"ORCHESTRA_WRITE_BLIND": "allow"}, "command":|`), "clients", doctor.Warn,
			"settings, which count as yours: ORCHESTRA_WRITE_BLIND=allow", "", edit(`s|"env": {[^}]*}, ||`)},
		"a flag in an entry": {func(p *patient) {
			p.write(".mcp.json", strings.Replace(p.read(".mcp.json"), fmt.Sprintf("%q", p.dir), fmt.Sprintf("%q, \"--uninitialized\", \"allow\"", p.dir), 1))
		}, "clients", doctor.Warn, "count as yours: --uninitialized allow", "", func(p *patient) {
			p.write(".mcp.json", strings.Replace(p.read(".mcp.json"), `, "--uninitialized", "allow"`, "", 1))
		}},
		"broken JSON": {func(p *patient) { p.write(".mcp.json", "{") }, "clients", doctor.Warn, "it is not JSON", setup,
			func(p *patient) { p.remove(".mcp.json"); p.sh(setup) }},
		"comments in JSON": {edit(`s|{|{ // mine|`), "clients", doctor.Warn, "ignores the whole file", "", func(p *patient) { edit(`s|// mine||`)(p) }},
		"open ways":        {func(p *patient) { p.remove(".claude/settings.json") }, "clients", doctor.Warn, "past the server", setup, nil},
		"a link outside": {func(p *patient) { p.sh("mv .mcp.json ../mcp.json && ln -s ../mcp.json .mcp.json") }, "clients", doctor.Warn, "leads out of the workspace", setup,
			func(p *patient) { p.sh("rm .mcp.json && " + setup) }},
	}
}

func brokenPrograms() map[string]breakage {
	return map[string]breakage{
		"another program of the name": {func(p *patient) {
			p.write("../bin/orchestra-mcp", "#!/bin/sh\nexit 9\n")
			p.sh("chmod +x ../bin/orchestra-mcp")
			p.setPath(filepath.Join(p.base, "bin") + ":" + os.Getenv("PATH"))
		}, "program", doctor.Warn, "orchestra-mcp on your PATH is another one", "export PATH=", func(p *patient) { p.setPath(p.exported()) }},
		"a program that is not on the PATH": {func(p *patient) { p.setPath("/usr/bin:/bin") }, "program", doctor.Warn, "not on your PATH", "export PATH=",
			func(p *patient) { p.setPath(p.exported()) }},
	}
}

func (p *patient) setPath(path string) {
	for i, variable := range p.env {
		if strings.HasPrefix(variable, "PATH=") {
			p.env[i] = "PATH=" + path
		}
	}
}

// exported runs the command that doctor names, and gives the PATH that it makes.
func (p *patient) exported() string {
	for _, f := range worries(p.examine()) {
		if strings.HasPrefix(f.Command, "export PATH=") {
			return strings.TrimSpace(p.sh(f.Command + `; printf %s "$PATH"`))
		}
	}
	p.t.Fatal("no such command")
	return ""
}

func TestDoctorFindsNothingInAHealthyWorkspace(t *testing.T) {
	p := newPatient(t)
	p.record("src/a.go")
	if found := worries(p.examine()); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

// TestDoctorAndItsRemedies breaks a workspace in each way, and mends it as doctor says.
func TestDoctorAndItsRemedies(t *testing.T) {
	for name, b := range breakages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			b.do(p)
			report := p.examine()
			found := worries(report)
			i := slices.IndexFunc(found, func(f doctor.Finding) bool {
				return f.Area == b.area && f.Status == b.status && strings.Contains(f.Message, b.says)
			})
			if i < 0 {
				t.Fatalf("nothing says %s %s %q: %+v", b.area, b.status, b.says, found)
			}
			if !strings.HasPrefix(found[i].Command, b.command) || (b.command == "") != (found[i].Command == "") || found[i].Remedy == "" {
				t.Errorf("remedy %q, command %q, want %q", found[i].Remedy, found[i].Command, b.command)
			}
			if b.mend != nil {
				b.mend(p)
			} else {
				p.sh(answered(found[i].Command))
			}
			if left := worries(p.examine()); len(left) > 0 {
				t.Errorf("after %s: %+v", found[i].Command, left)
			}
		})
	}
}

// answered is a command that asks whoever is at a terminal.
func answered(command string) string {
	for _, asks := range []string{" init", " trust", " ledger restore"} {
		if strings.HasSuffix(command, asks) {
			return command + " --yes"
		}
	}
	return command
}

// TestDoctorKnowsEveryClient: what setup writes is right, a program that is gone is found, and setup mends it.
func TestDoctorKnowsEveryClient(t *testing.T) {
	files := map[string]string{
		"claude-desktop": "../home/.config/Claude/claude_desktop_config.json", "claude-code": ".mcp.json", "cursor": ".cursor/mcp.json",
		"roo": ".roo/mcp.json", "vscode": ".vscode/mcp.json",
	}
	switch runtime.GOOS {
	case "darwin":
		files["claude-desktop"] = "../home/Library/Application Support/Claude/claude_desktop_config.json"
	case "windows":
		files["claude-desktop"] = "../home/AppData/Claude/claude_desktop_config.json"
	}
	for _, client := range clientsetup.Names() {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.remove(".mcp.json")
			for _, flag := range []string{"", " --keep-read-tools"} {
				p.sh("orchestra-mcp setup " + client + flag)
				if found := worries(p.examine()); len(found) > 0 {
					t.Errorf("after setup%s: %+v", flag, found)
				}
			}
			p.write(files[client], commandLine.ReplaceAllString(p.read(files[client]), `"command": "/gone/it"`))
			found := worries(p.examine())
			if len(found) == 0 || found[0].Status != doctor.Fail || found[0].Command != "orchestra-mcp setup "+client {
				t.Fatalf("found %+v", found)
			}
			p.sh(found[0].Command)
			if found := worries(p.examine()); len(found) > 0 {
				t.Errorf("after the remedy: %+v", found)
			}
		})
	}
}

var commandLine = regexp.MustCompile(`"command": "[^"]*"`)

func TestDoctorOutsideAWorkspace(t *testing.T) {
	p := barePatient(t)
	report := p.examine()
	if report.Count(doctor.Fail) != 1 || worries(report)[0].Command != "orchestra-mcp init" {
		t.Errorf("found %+v", worries(report))
	}
	p.sh(answered(worries(report)[0].Command))
	if got := p.examine(); got.Count(doctor.Fail) != 0 {
		t.Errorf("after init: %+v", worries(got))
	}
}

// TestDoctorAndAHostileRepository: nothing that a repository names is run, and nothing it says acts on a terminal.
func TestDoctorAndAHostileRepository(t *testing.T) {
	p := newPatient(t)
	evil := filepath.Join(p.dir, "evil")
	p.write("evil", "#!/bin/sh\ntouch '"+strings.ReplaceAll(p.base, "'", `'\''`)+"/pwned'\n")
	p.sh("chmod +x evil && git config core.fsmonitor ./evil && git config core.hooksPath evil && git config core.pager ./evil && git config alias.check-attr '!./evil'")
	forged := "\x1b[2J\u202e$(touch pwned)`touch pwned`'"
	p.write(".mcp.json", fmt.Sprintf(`{"mcpServers": {"orchestra": {"command": %q, "args": ["serve", "--workspace", %q]}, "a\u001b[31m": {"command": "x"}}}`, evil, p.dir))
	p.write(".cursor/mcp.json", `{"mcpServers": {"orchestra": {"command": "\u001b[2J\u202e", "args": ["serve", "--workspace", "/\u001b[2J"]}}}`)
	p.append(".orchestration/config.yaml", "\n\""+`\e[2Jx`+"\": "+"1\n")
	p.append(".orchestration/.intentignore", forged+"[\nintent:"+forged+"\n")
	p.append(".orchestration/active_intents.yaml", "  - id: \""+`\e[2J`+"\"\n")
	p.write(".orchestration/trace/"+forged+".jsonl", forged+"\n")
	p.write(".orchestration/state/torn-"+forged+".jsonl", forged)
	p.write(".gitignore", "*"+forged+"\n*.jsonl\n")
	report := p.examine()
	if report.Count(doctor.Fail) < 4 {
		t.Errorf("found only %+v", worries(report))
	}
	cmd := exec.Command("orchestra-mcp", "doctor")
	cmd.Dir, cmd.Env = p.dir, p.env
	text, _ := cmd.CombinedOutput()
	raw, _ := exec.Command("orchestra-mcp", "--workspace", p.dir, "doctor", "--json").Output()
	for _, out := range []string{string(text), string(raw)} {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 || out == "" {
			t.Errorf("%q is printed as it is", out[max(0, i):])
		}
	}
	// The remedy for a hostile name names exactly that file.
	for _, f := range worries(report) {
		if strings.HasPrefix(f.Command, "rm ") {
			p.sh(f.Command)
		}
	}
	if left, _ := filepath.Glob(p.path(".orchestration/state/torn-*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	for _, name := range []string{filepath.Join(p.base, "pwned"), p.path("pwned")} {
		if _, err := os.Lstat(name); err == nil {
			t.Error("a program of the repository was run")
		}
	}
}
