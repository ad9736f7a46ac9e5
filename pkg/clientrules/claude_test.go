package clientrules_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// The tables and examples of code.claude.com/docs/en/permissions.
func TestClaudeDocumentedRules(t *testing.T) {
	for rule, want := range map[string]lines{
		"Bash":                        {allow: "npm test\ncurl x | sort\nmake && git push"},
		"Bash(*)":                     {allow: "npm test"},
		"Bash(npm run build)":         {allow: "npm run build", none: "npm run build --watch\nnpm run builds"},
		"Bash(npm run *)":             {allow: "npm run build\nnpm run test --watch\nnpm run", none: "npm install"},
		"Bash(npm run test:*)":        {allow: "npm run test\nnpm run test --watch", none: "npm run test:unit\nnpm run tests"},
		"Bash(npm run test*)":         {allow: "npm run test\nnpm run test:unit"},
		"Bash(git log * main)":        {allow: "git log --oneline main\ngit log -5 main", none: "git push origin main"},
		"Bash(git * main)":            {allow: "git merge main\ngit push origin main", none: "git log main --output=x\ngit fetch"},
		"Bash(* --version)":           {allow: "node --version", none: "node -v"},
		"Bash(lsof *)":                {allow: "lsof -i\nlsof", none: "lsofx"},
		"Bash(lsof*)":                 {allow: "lsof -i\nlsofx"},
		"Bash(* --help *)":            {allow: "npm --help x", none: "npm --help"},
		"Bash(git:* push)":            {none: "git push\ngit x push"},
		"Bash(npm test *)":            {allow: "npm test\ntimeout 30 npm test\nnice npm test x\ncommand npm test", none: "xargs -n1 npm test\nenv npm test\nnpx npm test\nsh -c 'npm test'\nNODE_ENV=test npm test"},
		"Bash(safe-cmd *)":            {allow: "safe-cmd && safe-cmd x; safe-cmd | safe-cmd\nsafe-cmd\nsafe-cmd x 2>&1\nsafe-cmd 2>/dev/null", none: "safe-cmd && other-cmd\nsafe-cmd &&\nsafe-cmd > x\nsafe-cmd < x\nsafe-cmd &\nsafe-cmd $x\nsafe-cmd $(other)\n(safe-cmd)\n! safe-cmd\nif safe-cmd; then safe-cmd; fi\nsafe-cmd <<< x\nsafe-cmd *\nsafe-cmd ~/x\nsafe-cmd 1>1"},
		"Bash(devbox run npm test)":   {allow: "devbox run npm test", none: "devbox run rm -rf .\nnpm test"},
		"Bash(setsid *)":              {none: "setsid npm test"},
		"Bash(find *)":                {allow: "find /tmp -name x", none: "find . -delete\nfind . -exec rm {} +"},
		"Bash(find . -delete)":        {allow: "find . -delete", none: "find x -delete"},
		`Bash(git commit -m "a b")`:   {allow: `git commit -m "a b"`, none: `git commit -m a b`},
		"Bash(git commit *)":          {allow: `git commit -m "a b; rm -rf /"`, none: "git commit -m \"$(x)\""},
		"Bash(sh -c 'npm test')":      {allow: "sh -c 'npm test'", none: "sh -c 'npm tests'"},
		"Read(./.env)":                {none: "npm test"},
		"B*":                          {none: "npm test"},
		"Bash(command:rm *)":          {none: "rm x"},
		"WebFetch(domain:github.com)": {none: "npm test"},
	} {
		newMachine(t).write(map[string]string{"home/.claude/settings.json": settings("allow", rule)}).want(clienthook.ClaudeCode, want)
	}
}

func settings(list string, rules ...string) string {
	text := ""
	for i, rule := range rules {
		if i > 0 {
			text += ","
		}
		text += quote(rule)
	}
	return `{"permissions":{"` + list + `":[` + text + `]}}`
}

func TestClaudeRulesThatRestrict(t *testing.T) {
	for rule, want := range map[string]lines{
		"Bash":                   {deny: "ls\nx=1 y"},
		"*":                      {deny: "ls"},
		"B*":                     {deny: "ls"},
		"mcp__*":                 {none: "npm test"},
		"Bash(git push *)":       {deny: "git push\ngit push --force\ncd x && git push\ngit -C . push origin\n/usr/bin/git push\ngit 'push' x\nsh -c 'git push'\nsudo git push\nA=b git push\ntimeout 3 git push\nenv A=b git push\nnohup nice git push &\n(git push)\nfor i in 1; do git push; done\necho \"$(git push)\"\necho x | xargs git push\nfalse || git push > x\nls; git push $x", none: "git pull\ngit pushx\ngit commit -m push"},
		"Bash(git push --force)": {deny: "git push --force\ncd x; git push --force", none: "git push\ngit push --force x"},
		"Bash(rm -rf *)":         {deny: `rm -rf "$x"` + "\n" + `rm -rf a "b c"`, none: "rm -r -f x"},
		"Bash(curl * | sh)":      {deny: "curl x | sh"},
		"Bash(git clean *)":      {deny: "cd /tmp && git clean -f\necho \"$(git clean -f)\""},
		"Bash(* > *)":            {deny: "npm test > x"},
		"Bash(export *)":         {deny: "export A=b"},
		"Bash(ls *)":             {deny: "ls\nls -la"},
	} {
		newMachine(t).write(map[string]string{"ws/.claude/settings.json": settings("deny", rule)}).want(clienthook.ClaudeCode, want)
	}
}

func TestClaudeOrderOfRules(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"home/.claude/settings.json":                             settings("allow", "Bash(git *)", "Bash(make *)"),
		"ws/.claude/settings.json":                               settings("ask", "Bash(git push *)"),
		"ws/.claude/settings.local.json":                         settings("deny", "Bash(git push --force *)"),
		"ws/sub/.claude/settings.json":                           `{"permissions":{"allow":["Bash(npm *)"],"deny":["Bash(make *)"]}}`,
		"system/etc/claude-code/managed-settings.json":           settings("deny", "Bash(curl *)"),
		"system/etc/claude-code/managed-settings.d/10-more.json": settings("ask", "Bash(ssh *)"),
	})
	m.want(clienthook.ClaudeCode, lines{
		allow: "git fetch\nmake", ask: "git push\ngit fetch && git push\nssh x", deny: "git push --force x\nssh x && curl y", none: "npm test\ncd sub && git fetch",
	})
	got := m.ask(clienthook.ClaudeCode, "git fetch && git push")
	check.Equal(t, got.Rule, "Bash(git push *)")
	check.Equal(t, got.File, m.root+"/ws/.claude/settings.json")
	q := m.question(clienthook.ClaudeCode, "make")
	q.Cwd += "/sub"
	check.Equal(t, clientrulesJudge(q), deny)
	q.Line = "npm test"
	check.Equal(t, clientrulesJudge(q), none)
}

func TestClaudeManagedRulesOnly(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"home/.claude/settings.json":                   `{"allowManagedPermissionRulesOnly":false,"permissions":{"allow":["Bash(make *)"],"deny":["Bash(rm *)"]}}`,
		"system/etc/claude-code/managed-settings.json": `{"allowManagedPermissionRulesOnly":true,"permissions":{"allow":["Bash(npm *)"]}}`,
	})
	m.want(clienthook.ClaudeCode, lines{allow: "npm test", none: "make", deny: "rm x"})
}

func TestClaudeModes(t *testing.T) {
	m := newMachine(t).write(map[string]string{"home/.claude/settings.json": `{"permissions":{"allow":["Bash(npm test)","Bash(make *)"],"ask":["Bash(git push *)"],"deny":["Bash(curl *)"]}}`})
	for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", "new"} {
		m.mode = mode
		m.want(clienthook.ClaudeCode, lines{allow: "npm test\nmake x\nls", ask: "git push", deny: "curl x", none: "cargo build\nmkdir x"})
	}
	m.mode = "auto" // broad rules are set aside, and what only reads can be reviewed
	m.want(clienthook.ClaudeCode, lines{allow: "npm test", ask: "git push", none: "make x\nls"})
	m.mode = "bypassPermissions"
	m.want(clienthook.ClaudeCode, lines{
		allow: "npm test\ncargo build > x\nrm -rf dist\nfor i in 1 2; do cargo build; done", ask: "cargo build; git push", deny: "curl x",
		none: "rm -rf /\nrm -rf ROOT/home\nrm -rf ROOT\nrm -rf ~\nrm -rf \"$HOME\"\nrm -rf dist/*\ncd / && rm -rf .\neval \"$x\"",
	})
}

func TestClaudeCommandsThatOnlyRead(t *testing.T) {
	m := newMachine(t)
	check.OK(t, symlink(m.root+"/outside", m.root+"/ws/link"))
	m.want(clienthook.ClaudeCode, lines{
		allow: "ls\nls -la sub\ncat package.json | head -3 | wc -l\ncd sub && ls\ngrep -rn x .\nfind . -name x -type f\ngit status\ngit log --oneline -5\ngit diff --stat\necho a 'b c'\ncat ROOT/ws/package.json\ncat x 2>/dev/null\ndiff a b; pwd",
		none:  "ls > x\nls *.go\nls $x\nls ..\ncat ROOT/outside/secret\ncat ~/.ssh/id_rsa\ncat link/secret\ncd .. && ls\ncd && ls\ncd sub && git status\nfind . -delete\nfind . -exec rm {} ;\nfind . -fprint x\ngit log --output=x\ngit -c a=b status\ngit diff --ext-diff\ngit commit\ngit\n/bin/ls\n./ls\nsort x\ntee x\ngrep -f/etc/passwd x\nls &\nX=1 ls\nls;\\rm x",
	})
	m.write(map[string]string{"ws/.claude/settings.json": settings("ask", "Bash(cat *)")})
	m.want(clienthook.ClaudeCode, lines{ask: "cat package.json", allow: "ls"})
}

// Rules about reading and editing are also about the commands that do it.
func TestClaudeFileRules(t *testing.T) {
	for rule, want := range map[string]lines{
		"Read(./.env)":        {deny: "cat .env\ncat ./.env\ncd sub && cat ../.env\nhead -1 ROOT/ws/.env\ngrep x .env | sort\nwc < .env\nsh -c 'cat .env'", none: "npm test\nrm .env", allow: "ls .env\ncat sub/.env"},
		"Read(.env)":          {deny: "cat .env\ncat sub/.env"},
		"Read(/secrets/**)":   {deny: "cat secrets/a/b", allow: "cat sub/secrets/a"},
		"Read(~/.ssh/**)":     {deny: "cat ~/.ssh/id_rsa\ncat ROOT/home/.ssh/x\nbase64 <~/.ssh/id_rsa\ncat ../home/.ssh/x", allow: "cat .ssh/x"},
		"Read(//etc/**)":      {deny: "cat /etc/passwd\ntail -f /etc/x/y", none: "cat /usr/x"},
		"Read":                {deny: "cat x", allow: "ls", none: "npm test"},
		"Edit(package.json)":  {deny: "echo x > package.json\nsed -i s/a/b/ package.json\nnpm test | tee package.json\nrm package.json\nmv x package.json", allow: "cat package.json"},
		"Edit(/src/**)":       {deny: "echo x >> src/a/b", none: "echo x > sub/y"},
		"Write(package.json)": {none: "echo x > package.json"},
	} {
		newMachine(t).write(map[string]string{"home/.claude/settings.json": settings("deny", rule)}).want(clienthook.ClaudeCode, want)
	}
}

func TestClaudeConfigDir(t *testing.T) {
	m := newMachine(t).write(map[string]string{"other/settings.json": settings("deny", "Bash(x *)"), "home/.claude/settings.json": settings("deny", "Bash(y *)")})
	m.env["CLAUDE_CONFIG_DIR"] = m.root + "/other"
	m.want(clienthook.ClaudeCode, lines{deny: "x", none: "y"})
}
