package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
)

// secret is what must not be left of any line.
const secret = "S3cr3tV4lue"

// carriers are lines with a secret in the place of %s.
func carriers() []string {
	return []string{
		"mysql -uroot -p%s db", "mysql --host=h -u root -e 'select 1; select 2' -p%s", "mysqldump -h h -p%s db", "PGPASSWORD=%s psql -h h", "sshpass -p %s ssh h", "sshpass -v -p%s ssh h", "redis-cli -h h -a %s ping", "redis-cli --pass %s ping",
		"openssl enc -aes-256-cbc -k %s -in a", "openssl enc -aes-256-cbc -K %s -iv 0", "openssl rsa -in a -passin pass:%s", "openssl enc -d -pass pass:%s -in a", "openssl genrsa -passout pass:%s", "openssl dgst -mac HMAC -macopt hexkey:%s a",
		"curl -u user:%s h", "curl -su user:%s h", "curl -fsSLu user:%s h", "curl -uuser:%s h", "curl --user user:%s h", "curl --user=user:%s h", "curl --proxy-user user:%s h", "wget --password=%s h", "wget --http-password %s h",
		"x --token=%s y", "x --token %s y", "x --api-key %s", "x --client-secret=%s", "x -password %s", "AWS_SECRET_ACCESS_KEY=%s aws s3 ls", "export GITHUB_TOKEN=%s", "env A=1 DB_PASSWORD=%s make", "docker run -e MY_SECRET=%s i", "docker login -u u -p %s h",
		"echo %s | docker login -u u --password-stdin h", "printf '%%s\\n' %s | docker login --password-stdin", "docker login --password-stdin <<< %s", "echo %s | gh auth login --with-token", "echo %s | sudo -S make", "git clone https://user:%s@h/r", "psql postgres://u:%s@h:1/d",
	}
}

// texts are carriers that have quotes of their own.
func texts() []string {
	return []string{
		`curl -H 'Authorization: Bearer %s' h`, `curl -H "Authorization: Bearer %s" h`, `curl -H 'Authorization: Basic %s' h`, `curl -H "Authorization: Token %s" h`, `curl -H "X-Api-Key: %s" h`, `curl -H 'Cookie: a=b; session=%s' h`, `curl -H Authorization:\ Bearer\ %s h`,
		`curl -H 'Authorization: Digest username="u", realm="r", nonce="n", response="%s"' h`, `curl -H "Authorization: Digest username=\"u\", response=\"%s\", opaque=\"o\"" h`, `curl -H 'Proxy-Authorization: Digest username=u, response=%s' h`, `curl -H "Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=%s" h`,
		`curl -d '{"user":"u","password":"%s"}' h`, `curl -d "{\"user\":\"u\",\"password\":\"%s\"}" h`, `curl --data-raw '{"password":"a\"b%s"}' h`, `curl --data-raw "{\"password\":\"a\\\"b%s\"}" h`, `curl -d '{"a":{"api_key" : "%s"}}' h`, `curl -d "{'token': '%s'}" h`, `curl --json $'{"token":"%s"}' h`,
		"curl -d @- h <<E\n{\"password\": \"%s\"}\nE\n", "curl -d @- h <<'E'\n{\n  \"client_secret\": \"a\\\"b%s\"\n}\nE\n", "cat > c.json <<E\n{\"auth_token\":\"%s\"}\nE", `curl -d 'user=u&password=%s&x=1' h`, `curl "https://h/?access_token=%s&z"`, "docker login --password-stdin <<E\n%s\nE\n",
		"x --password \\\n  %s y", "curl -u \\\n user:%s h", "curl \\\n  -H \"Authorization: \\\nBearer %s\" h", "openssl enc \\\n -k \\\n %s", "mysql \\\n -u root \\\n -p%s", "true\nx --token %s\n", "a &&\n  DB_PASSWORD=%s make", "x --password 'a\n%s'", "DB_PASSWORD=\"a\n%s\" make", "x --pass\\\nword %s",
		`x --pass"word" %s`, `x "--password" %s`, `x '--token=%s'`, `x "--token"=%s`, `D"B_PASSWORD"=%s make`, `curl -H Author"ization: Bearer %s" h`, `curl '-su' 'user:%s' h`, `curl -su "user:a %s" h`, `curl -u 'user:a %s' h`, `openssl enc '-k' '%s'`, `sshpass "-p" "a %s" ssh h`, `git clone https://u:p@%s@h/r`,
		`bash -c "curl -H \"Authorization: Bearer %s\" h"`, `bash -c "sh -c \"x --password \\\"a %s\\\"\""`, `ssh h "PGPASSWORD='a %s' psql"`, `echo '%s' | docker login --password-stdin`, `echo "a %s" | chpasswd`, "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----",
	}
}

func wraps() []func(string) string {
	quoted := func(format string) func(string) string {
		return func(line string) string {
			return fmt.Sprintf(format, "'"+strings.ReplaceAll(line, "'", `'\''`)+"'")
		}
	}
	doubled := func(format string) func(string) string {
		return func(line string) string {
			return fmt.Sprintf(format, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(line)+`"`)
		}
	}
	plain := func(format string) func(string) string {
		return func(line string) string { return fmt.Sprintf(format, line) }
	}
	return []func(string) string{plain("%s"), plain("cd x && %s"), plain("true\n%s"), plain("(%s\n)"), plain("y=$(%s\n)"), plain("if a; then\n\t%s\nfi"), quoted("bash -c %s"), doubled("bash -c %s"), quoted("sudo sh -ec %s x"), doubled("ssh h %s"), quoted("eval %s"),
		func(line string) string { return quoted("sh -c %s")(doubled("bash -c %s")(line)) }, func(line string) string { return doubled("sh -c %s")(quoted("bash -c %s")(line)) }, func(line string) string { return doubled("sh -c %s")(doubled("bash -c %s")(line)) },
		plain("bash <<'E_E'\n%s\nE_E\n")}
}

// No secret of the corpus is left, wherever the line stands. It is best effort for all that is not in the corpus.
func TestCorpusOfSecrets(t *testing.T) {
	var lines []string
	for _, c := range carriers() {
		for _, value := range []string{secret, "'" + secret + "'", `"` + secret + `"`, `"a` + secret + `"`, "a" + secret, secret + `\ b`} {
			lines = append(lines, fmt.Sprintf(c, value))
		}
	}
	for _, c := range texts() {
		lines = append(lines, strings.ReplaceAll(c, "%s", secret))
	}
	left, total := 0, 0
	for n, line := range lines {
		for i, wrap := range wraps() {
			if i > 0 && (n+i)%7 != 0 && !check.Long() {
				continue
			}
			total++
			if got := redact.Text(wrap(line)); strings.Contains(got, secret) {
				if left++; i == 0 || left < 40 {
					t.Errorf("%q leaves %q", wrap(line), got)
				}
			}
		}
	}
	t.Logf("%d of %d lines leave the secret", left, total)
}
