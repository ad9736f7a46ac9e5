package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

func TestFilterEnv(t *testing.T) {
	harmless := []string{
		"PATH=/bin", "HOME=/home/x", "LANG=C.UTF-8", "PWD=/x", "OLDPWD=/y", "GOPATH=/go", "GIT_AUTHOR_NAME=x", "KEYBOARD=us",
		"EDITOR=vi", "EMPTY=", "URL=https://example.com/a:b@c", "PROXY=http://user@proxy:80", "MONKEY=x", "PASSAGE=x", "LC_ALL=C",
	}
	dropped := []string{
		"GITHUB_TOKEN=x", "token=x", "MY_SECRET_NAME=x", "Db_Password=x", "MYSQL_PWD=x", "PGPASSWORD=x", "API_KEY=x", "OPENAI_API_KEY=x",
		"STRIPE_KEY_LIVE=x", "APIKEY=x", "AWS_PROFILE=x", "AZURE_TENANT=x", "VAULT_ADDR=x", "GOOGLE_APPLICATION_CREDENTIALS=/x",
		"SSH_AUTH_SOCK=/x", "NPM_CONFIG__AUTH=x", "SENTRY_DSN=x", "DATABASE_URL=x", "SLACK_WEBHOOK_URL=x", "XAUTHORITY=/x",
		"PROXY=http://user:pass@proxy:80", "BLOB=see postgres://u:p@h/db there", "a/b_TOKEN=x",
		"ORCHESTRA_RUN=x", "orchestra_auth=x", "BASH_ENV=/x", "ENV=/x", "SHELLOPTS=xtrace", "PS4=$(x)", "BASH_FUNC_ls%%=() { x; }",
		"no value", "=hidden", "",
	}
	env := slices.Concat(harmless, dropped)
	if got := command.FilterEnv(env); !slices.Equal(got, harmless) {
		t.Errorf("kept\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(harmless, "\n"))
	}
}

func TestFilterEnvAllow(t *testing.T) {
	env := []string{"GITHUB_TOKEN=x", "NPM_TOKEN=x", "AWS_PROFILE=p", "AWS_SECRET_ACCESS_KEY=x", "BASH_ENV=/x", "ORCHESTRA_AUTH_TOKEN=x"}
	got := command.FilterEnv(env, "github_token", "AWS_PROFILE", "ORCHESTRA_*", "BASH_ENV", "[")
	want := []string{"GITHUB_TOKEN=x", "AWS_PROFILE=p"}
	check.That(t, slices.Equal(got, want), "kept %q, want %q", got, want)
}
