package redact_test

import (
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
)

// join keeps scanners from taking the examples for real tokens.
func join(parts ...string) string { return strings.Join(parts, "") }

// In each line the secret is what stands between « and »; without them, the line is to stay.
func cases() []string {
	return []string{
		"psql --password=«hunter2»", "x --password «hunter2» y", "x --password='«»'", "x --db-password=«'with space'» y", `x --token "«»"`,
		"x --token=«abc»; y", "vault login -token=«s.abc»", "x --api-key «k1234567»", "x --secret-access-key=«a/b+c»", "x --client-secret «zzz»",
		"docker login --password-stdin", "x --token-file /run/token", "x --max-tokens 4096", "x --no-password y", "x --secret-id prod/db", "x --token 12345",
		"x --password $PW", `x --password "$PW"`, "x --password ${PW}", "x --password $(cat pw)", "x --token `cat t`", "x --password «a$PW»", "x --password «${PW:-hunter2}»",
		"API_TOKEN=«abc» make", "export DB_PASSWORD='«»'", "export DB_PASSWORD=«'a b'»", "env -i PGPASSWORD=«x» psql", "docker run -e NPM_TOKEN=«x» y", "A=1;MY_SECRET=«x»;B=2",
		"FOO=bar make", "TOKEN=$OTHER make", "GITHUB_TOKEN= make", "curl 'https://h/?q=1&access_token=«abc»&z=1'", "AWS_SECRET_ACCESS_KEY=«abc/def» aws s3 ls",
		`curl -d '{"user":"u","password":"«p w»"}'`, `curl -d "{\"api_key\":\"«abc»\"}"`, `curl -d '{"max_tokens": 5}'`,
		"curl -H 'Authorization: Bearer «abc.def»' https://h", `curl -H "Authorization: Basic «dTpw»" h`, "curl -H 'X-Api-Key: «k»'", "curl -H Authorization:«abc» h",
		`curl -H "Authorization: Bearer $TOKEN" h`, "curl -H 'Cookie: «a=b; c=d»' h", "curl -H 'Accept: application/json' h", `curl -H Authorization:\ Bearer\ «abcd» h`, "echo bearer «abcdefghij»",
		"git clone https://user:«pass»@h/r", "git clone https://«0123456789abcdefghij»@h/r", "git clone git@h:r", "psql postgres://u:«p»@h:5432/d", "curl http://localhost:8080/a@b", "git clone https://user@h/r",
		"curl -u me:«pw» h", "curl --user='me:«pw»' h", "curl -ume:«pw» h", "docker run -u 1000:1000 x", "curl -u me h",
		"sshpass -p «pw» ssh h", "sshpass -p «'p w'» ssh h", "mysql -uroot -p«pw» db", "mysql -u root -p db", "redis-cli -h h -a «pw» ping", "docker login -u u -p «pw» h", "openssl rsa -passin pass:«pw»",
		"ssh -p 22 h", "mkdir -p a/b",
		"echo '-----BEGIN RSA PRIVATE KEY-----«\nMIIE\n»-----END RSA PRIVATE KEY-----' > k",
		join("echo «AKIA", "IOSFODNN7EXAMPLE» x"), join("echo «ghp", "_abcdefghijklmnopqrstuvwxyz0123456789»"), join("echo «sk", "-ant-api03-abcdefghijklmnopqrst»"),
		join("echo «xox", "b-123456789012-abcdef»"), join("echo «eyJ", "hbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc_def»"), join("x «glpat", "-abcdefghijklmnopqrst»;y"), join("x=«npm", "_abcdefghijklmnopqrstuvwxyz0123456789»"),
		"git push", "go test ./... -run TestToken", "npm run tokenize -- --tokenize x", "cat token.txt", "grep -r password src", "git commit -m 'fix password check'", "echo ask-abcdefghijklmnopqrstuvwxyz",
		"sed -i 's/a=b/c=d/' f", "",
	}
}

func TestRules(t *testing.T) {
	for _, c := range cases() {
		line, want, secret := strings.NewReplacer("«", "", "»", "").Replace(c), c, false
		if from, to := strings.Index(c, "«"), strings.Index(c, "»"); to > from+len("«") {
			want, secret = c[:from]+redact.Mark+c[to+len("»"):], true
		} else {
			want = line
		}
		got, redacted := redact.Line(line)
		check.That(t, got == want && redacted == secret, "%q\n got %q (%v)\nwant %q", line, got, redacted, want)
	}
}

// Each rule is named in README.md, and each variable that is filtered.
func TestRulesAreDocumented(t *testing.T) {
	page := check.Value(os.ReadFile("README.md"))(t)
	for _, r := range redact.Rules() {
		check.That(t, strings.Contains(string(page), "\n- "+r.Name+"\n"), "README.md does not have the rule %q", r.Name)
	}
	for _, pattern := range command.SecretPatterns() {
		check.That(t, strings.Contains(string(page), "`"+pattern+"`"), "README.md does not have the variables %s", pattern)
	}
}

// Redacting again changes nothing: a record that is drafted anew stays as it is.
func FuzzAgain(f *testing.F) {
	for _, c := range cases() {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, line string) {
		once, redacted := redact.Line(line)
		twice, again := redact.Line(once)
		check.That(t, redacted == (once != line) || strings.Contains(line, redact.Mark), "%q: %v %q", line, redacted, once)
		check.That(t, !again || twice != once, "%q is said to be redacted once more: %q", line, once)
	})
}
