package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

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
		"a schema of an earlier version": {func(p *patient) { p.write(".orchestration/schema/intents.json", "{}") }, "workspace", doctor.Warn,
			"schema/intents.json is not the schema of this version", "orchestra-mcp schema intents", nil},
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
		"a torn end": {func(p *patient) { p.record("a"); p.append(p.ledger(), `{"prev":[],"ver`) }, "ledger", doctor.Warn, "torn_line",
			"orchestra-mcp ledger repair", func(p *patient) {
				p.sh("orchestra-mcp ledger repair && rm .git/orchestra/*/.orchestration/state/torn-*")
			}},
		"a torn end in the tree": {func(p *patient) { p.keepInTree(); p.record("a"); p.append(p.ledger(), `{"prev":[],"ver`) }, "ledger", doctor.Warn, "torn_line",
			"orchestra-mcp ledger repair", func(p *patient) { p.sh("orchestra-mcp ledger repair && rm .orchestration/state/torn-*") }},
		"a missing record": {func(p *patient) {
			p.keepInTree()
			p.record("a", "b", "c")
			p.sh("git add -A && git commit -qm records && sed -i.bak 2d .orchestration/agent_trace.jsonl && rm .orchestration/agent_trace.jsonl.bak")
		}, "ledger", doctor.Fail, "missing_predecessor", "orchestra-mcp ledger restore", nil},
		"a conflict": {func(p *patient) {
			p.keepInTree()
			p.sh("orchestra-mcp git install-hooks --remove; sed -i.bak /agent_trace/d .gitattributes && rm .gitattributes.bak && git add -A && git commit -qm plain")
			p.record("a")
			p.sh("git add -A && git commit -qm a && git checkout -qb other")
			p.record("b")
			p.sh("git add -A && git commit -qm b && git checkout -q main")
			p.record("c")
			p.sh("git add -A && git commit -qm c && { git merge -q other || :; }")
		}, "ledger", doctor.Fail, "malformed_line", "orchestra-mcp ledger merge", func(p *patient) { p.sh("orchestra-mcp ledger merge && orchestra-mcp init --yes") }},
		"a directory for a segment": {func(p *patient) { p.record("a"); p.write(p.ledgerPart("trace/x.jsonl/y"), "") }, "ledger", doctor.Fail, "unreadable_segment",
			"mv '/", nil},
		"a directory for a segment in the tree": {func(p *patient) { p.keepInTree(); p.write(".orchestration/trace/x.jsonl/y", "") }, "ledger", doctor.Fail, "unreadable_segment",
			"mv .orchestration/trace/x.jsonl ", nil},
		"a link for archives": {func(p *patient) { p.record("a"); p.sh("ln -s /dev/null " + p.ledgerPart("archive")) }, "ledger", doctor.Fail, "archive is not a directory of its own",
			"mv '/", nil},
		"a damaged archive": {func(p *patient) {
			p.record("a")
			p.write(p.ledgerPart("archive/20260220T000000.000000000-0123456789abcdef.jsonl.zst"), "x")
		}, "ledger", doctor.Fail, "archive",
			"mv '/", nil},
		"what a killed server left": {func(p *patient) { p.sh("git checkout -q -- .orchestration && leave-entry") }, "state", doctor.Warn, "1 entry of servers that are gone", "",
			func(p *patient) { p.changeOnce() }},
		"an end that was set aside": {func(p *patient) {
			p.record("a")
			p.write(".orchestration/state/x", "") // there is a state
			p.write(p.ledgerPart("state/torn-x.jsonl"), "x")
		}, "state", doctor.Warn, "a crash tore", "rm '/", nil},
		"an end that was set aside in the tree": {func(p *patient) { p.keepInTree(); p.write(".orchestration/state/torn-x.jsonl", "x") }, "state", doctor.Warn, "a crash tore",
			"rm .orchestration/state/torn-x.jsonl", nil},
		"an entry that was set aside": {func(p *patient) { p.write(".orchestration/state/inflight/x.entry.unreadable", "x") }, "state", doctor.Warn,
			"had not begun", "rm .orchestration/state/inflight/x.entry.unreadable", nil},
		"calls without record": {func(p *patient) { p.write(".orchestration/state/gaps/x.gap", "") }, "state", doctor.Warn, "could not be written", "",
			func(p *patient) { p.remove(".orchestration/state/gaps") }},
	}
}

// ledger is the file that records are appended to, and ledgerPart another name beside it, from the workspace.
func (p *patient) ledger() string { return p.ledgerPart("agent_trace.jsonl") }

func (p *patient) ledgerPart(name string) string {
	p.t.Helper()
	way := check.Value(filepath.Rel(p.dir, filepath.Join(ledgertest.Home(p.dir), name)))(p.t)
	return filepath.ToSlash(way)
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
	_, err := os.Lstat(p.path("src/new.go"))
	check.Must(p.t, err == nil, "the file was not written: %s", out)
}

func brokenGit() map[string]breakage {
	return map[string]breakage{
		"no attributes":             {func(p *patient) { p.sh("git rm -q .gitattributes") }, "git", doctor.Warn, "seals, which are signed byte for byte", "orchestra-mcp init --yes", nil},
		"no attributes in the tree": {func(p *patient) { p.keepInTree(); p.sh("git rm -q .gitattributes") }, "git", doctor.Warn, "keeping both", "orchestra-mcp init --yes", nil},
		"a link that git sees": {func(p *patient) {
			p.record("a")
			p.write(".orchestration/.gitignore", "/state/\n/cache/\n")
		}, "git", doctor.Warn, "does not ignore .orchestration/agent_trace.jsonl", "orchestra-mcp ledger move", nil},
		"an ignored ledger": {func(p *patient) { p.keepInTree(); p.write(".gitignore", "*.jsonl\n"); p.record("a") }, "git", doctor.Warn,
			"git ignores .orchestration/agent_trace.jsonl (.gitignore:1: *.jsonl)", "git add -f -- .orchestration/agent_trace.jsonl", nil},
		"a ledger that will be ignored": {func(p *patient) { p.keepInTree(); p.write(".gitignore", "*.jsonl\n") }, "git", doctor.Warn, "git ignores .orchestration/agent_trace.jsonl", "",
			func(p *patient) { p.remove(".gitignore") }},
		"tracked state": {func(p *patient) { p.write(".orchestration/state/x", ""); p.sh("git add -f .orchestration/state/x") }, "git", doctor.Warn,
			"git tracks files", "git rm ", nil},
		"state that is not ignored": {func(p *patient) { p.remove(".orchestration/.gitignore") }, "git", doctor.Warn, "does not ignore .orchestration/state",
			"orchestra-mcp init --yes", nil},
		"half the hooks":    {func(p *patient) { p.sh("orchestra-mcp git install-hooks && rm .git/hooks/commit-msg") }, "git", doctor.Warn, "Only some", "orchestra-mcp git install-hooks", nil},
		"hooks left behind": {func(p *patient) { p.sh("orchestra-mcp git install-hooks && git config core.hooksPath .git/other") }, "git", doctor.Warn, "core.hooksPath", "orchestra-mcp git install-hooks", nil},
		"hooks of a program": {func(p *patient) {
			p.sh(`git config --unset core.hooksPath; orchestra-mcp git install-hooks && sed -i.bak "s|^program=.*|program='/gone/it'|" .git/hooks/pre-commit`)
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
		"a name not found": {edit(`s|"command": .*|"command": "orchestra-mpc",|`), "clients", doctor.Fail, "orchestra-mpc, which is not on the PATH", setup, nil},
		"a relative name": {func(p *patient) {
			p.sh("printf '#!/bin/sh\\n' >evil && chmod +x evil")
			edit(`s|"command": .*|"command": "./evil",|`)(p)
		}, "clients", doctor.Warn, "./evil, which depends", setup, nil},
		"another program":   {edit(`s|"command": .*|"command": "/bin/sh",|`), "clients", doctor.Fail, "not a build of orchestra-mcp", setup, nil},
		"another workspace": {edit(`s|"serve"|"serve", "--workspace", "/"|`), "clients", doctor.Fail, "serves another workspace, /", setup, nil},
		"a path of this machine": {func(p *patient) {
			p.write(".mcp.json", strings.Replace(p.read(".mcp.json"), `"serve"`, fmt.Sprintf(`"serve", "--workspace", %q`, p.dir), 1))
		}, "clients", doctor.Warn, "a path of this machine", setup, nil},
		"other arguments": {edit(`s|"serve"|"listen"|`), "clients", doctor.Warn, "arguments that setup does not write", setup, nil},
		"settings in an entry": {edit(`s|"command":|"env": {"ORCHESTRA_WRITE_BLIND": "allow"}, "command":|`), "clients", doctor.Warn,
			"settings, which count as yours: ORCHESTRA_WRITE_BLIND=allow", "", edit(`s|"env": {[^}]*}, ||`)},
		"a flag in an entry": {func(p *patient) {
			p.write(".mcp.json", strings.Replace(p.read(".mcp.json"), `"serve"`, `"serve", "--uninitialized", "allow"`, 1))
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
