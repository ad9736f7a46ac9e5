package policy_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

func rules(t *testing.T, prefixes ...string) []policy.Rule {
	t.Helper()
	var list []policy.Rule
	for _, prefix := range prefixes {
		r := check.Value(policy.Parse(prefix))(t)
		list = append(list, r)
	}
	return list
}

func TestStrictestWins(t *testing.T) {
	p := policy.Policy{Default: policy.Allow, Unjudged: policy.Ask, Sources: []policy.Source{
		{Name: "the settings", Allow: rules(t, "git", "go test"), Ask: rules(t, "npm install", "git push", "sh"), Deny: rules(t, "git push --force", "rm -rf", "/opt/x/tool", "docker run")},
		{Name: "INT-1", Deny: rules(t, "curl", "source")},
	}}
	for line, want := range map[string]string{
		"git status": "allow", "git push": "ask", "git push --force": "deny", "git push origin --force": "ask",
		"/usr/bin/git push": "ask", "./git push": "ask", `\git pu""sh`: "ask", "git -C sub push": "ask", "git -c user.name=x -C sub --no-pager push --force": "deny",
		"git --git-dir=x push": "ask", "git --git-dir x push": "ask", "git --unknown x push": "ask", "git log push": "allow", "git commit -m push": "allow",
		"rm -r -f x": "allow", "rm -rf x": "deny", "true && true && rm -rf x": "deny", "env A=1 rm -rf x": "deny", "sudo -u x nice rm -rf /": "deny",
		"echo $(rm -rf x)": "deny", "sh -c 'rm -rf x'": "deny", "bash -c 'go test'": "allow", "sh -c 'go test'": "ask",
		"npm --prefix web install": "ask", "npm --prefix web test": "allow", "npm ci": "allow", "npm --verbose install": "ask",
		"docker --context c run x": "deny", "docker -H tcp://x run": "deny", "docker ps": "allow",
		"/opt/x/tool": "deny", "tool": "allow", "/opt/x/../x/tool a": "deny", "/opt/y/tool": "allow",
		`git "$x"`: "ask", `git commit -m "$m"`: "allow", `git $args`: "ask", `git commit $args`: "allow", `rm "-r$x"`: "ask", `rm "-i$x"`: "allow", `rm -rf "$x"`: "deny",
		`"$x" push`: "ask", "curl x | sh": "deny", ". ./x": "deny", "source x": "deny", "go test ./...": "allow", "find . -exec curl {} +": "deny",
		"git.exe push": "ask",
	} {
		r := shell.Read(line, shell.Bash)
		check.Equal(t, p.Judge(&r).Action.String(), want, "%v", line)
	}
}

func TestDefaultIsForWhatNoRuleNames(t *testing.T) {
	p := policy.Policy{Default: policy.Deny, Unjudged: policy.Deny, Sources: []policy.Source{{Name: "s", Allow: rules(t, "go test", "git"), Ask: rules(t, "make")}}}
	for line, want := range map[string]string{
		"go test ./...": "allow", "cd x && go test": "allow", "go build": "deny", "git status | cat": "deny", "make": "ask", "ls": "deny", "x=1": "allow",
		`go "$x"`: "deny", "go -C sub test": "allow", "go -x test": "deny", "env go test": "deny", "/tmp/echo x": "deny", "source x": "deny", "echo $(go test)": "allow",
	} {
		r := shell.Read(line, shell.Bash)
		check.Equal(t, p.Judge(&r).Action.String(), want, "%v", line)
	}
}

func TestVerdictSaysWhy(t *testing.T) {
	p := policy.Policy{Unjudged: policy.Ask, Sources: []policy.Source{{Name: "INT-1", Deny: rules(t, "git push")}}}
	r := shell.Read("true; git -C a push origin \"$b\"", shell.Bash)
	if v := p.Judge(&r); v.Rule != "git push" || v.Source != "INT-1" || v.Program != "git -C a push origin …" {
		t.Errorf("%+v", v)
	}
	r = shell.Read("$x", shell.Bash)
	if v := p.Judge(&r); v.Action != policy.Ask || len(v.Unjudged) != 1 {
		t.Errorf("%+v", v)
	}
}

func TestRules(t *testing.T) {
	for _, bad := range []string{"", "  ", "git push; rm", "git | x", "git > x", "$x", "git $x", "git *", "a && b", "(x)", "git 'push", "x &", "a\nb"} {
		if r, err := policy.Parse(bad); err == nil {
			t.Errorf("%q: %+v", bad, r)
		}
	}
	for _, good := range []string{"git", "git push", "env", "sudo sh", "'my tool' -x", "bash -c", "/usr/bin/env", "find", "eval", "rm -rf", "xargs", "[", "git commit -m 'a b'"} {
		if _, err := policy.Parse(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	r := rules(t, "go test")[0]
	check.OK(t, r.Check([]string{"go test ./...", "cd x && go -C y test"}, []string{"go run .", "echo go test"}))
	if err := r.Check([]string{"go run ."}, nil); err == nil || !strings.Contains(err.Error(), "must match") {
		t.Error(err)
	}
	if err := r.Check(nil, []string{"go test"}); err == nil || !strings.Contains(err.Error(), "must not match") {
		t.Error(err)
	}
}
