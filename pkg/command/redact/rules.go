package redact

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// Rule is one kind of secret.
type Rule struct {
	// Name is the rule's for people.
	Name string
	// Patterns are regular expressions in RE2 syntax. The group "value" is left out. Where there is a group "name", it is
	// left out only if the name is that of a secret: of an option if Options, else of a variable.
	Patterns []string
	Options  bool
}

// word is a word of a shell line: quoted and bare pieces without a space between.
const word = `(?:"(?:[^"\\]|\\.)*"|'[^']*'|(?:\$\([^)]*\)|[^\s;|&<>()'"\\` + "`" + `]|\\.|` + "`[^`]*`" + `)+)+`

// rest are further words of a command, with what stands in their quotes.
const rest = `(?:[^;|&\n"']|"(?:[^"\\]|\\.)*"|'[^']*')*?`

// scheme is how an authorization begins.
const scheme = `(?:(?i:bearer|basic|token|digest|apikey|negotiate|aws4-hmac-sha256)(?:\s|\\ )+)?`

// login reads a secret from its standard input.
const login = `(?:--password-stdin|--with-token|--token-stdin|--passphrase-fd(?:\s+|=)0|sudo\s+(?:-\w+\s+)*-\w*S|chpasswd|passwd\s+--stdin|pass:stdin|-pass(?:in)?\s+stdin)`

// header names HTTP headers that hold secrets.
const header = `(?i:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|api-key|apikey|x-auth-token|x-access-token|private-token|x-gitlab-token|x-vault-token|x-goog-api-key|x-amz-security-token|x-csrf-token)`

// Rules are all rules; their order has no meaning.
func Rules() []Rule {
	return []Rule{
		{"options: --password=…, --token …, -api-key …", []string{
			`(?:^|[\s'"])(?P<name>--?[A-Za-z][A-Za-z0-9_.-]*)(?:=|[ \t]+)(?P<value>` + word + `)`,
		}, true},
		{"assignments and query parameters: NAME=…, with the names that are filtered from the environment", []string{
			`(?:^|[\s;|&(<?{,'"` + "`" + `])(?P<name>[A-Za-z_][A-Za-z0-9_]*)\+?=(?P<value>` + word + `)`,
		}, false},
		{"members of JSON: \"password\": \"…\"", []string{
			`"(?P<name>[A-Za-z_][A-Za-z0-9_-]*)"\s*:\s*"(?P<value>(?:[^"\\]|\\.)+)`,
			`\\"(?P<name>[A-Za-z_][A-Za-z0-9_-]*)\\"\s*:\s*\\"(?P<value>(?:[^"\\]|\\[^"])+)`,
			`'+(?P<name>[A-Za-z_][A-Za-z0-9_-]*)'+\s*:\s*'+(?P<value>(?:[^'\\]|\\.)+)`,
		}, true},
		{"headers: Authorization: …, Cookie: …, X-Api-Key: …", []string{
			`"` + header + `\s*:\s*` + scheme + `(?P<value>(?:[^"\\]|\\.)+)`,
			`'` + header + `\s*:\s*` + scheme + `(?P<value>[^']+)`,
			`(?:^|[^"'\w-])` + header + `\s*:(?:\s|\\ )*` + scheme + `(?P<value>(?:[^\s"'\\]|\\.)+)`,
			`(?i:(?:proxy-)?authorization)\s*:\s*(?i:digest|aws4-hmac-sha256)\s+(?P<value>[^\r\n]+)`,
			`(?i:\bbearer)\s+(?P<value>[A-Za-z0-9._~+/=-]{8,})`,
		}, false},
		{"passwords and tokens in URLs: https://user:…@host, https://…@host", []string{
			`(?i:[a-z][a-z0-9+.-]*)://[^/\s:@'"]*:(?P<value>(?:[^/\s'"\\]|\\.)+)@`,
			`(?i:[a-z][a-z0-9+.-]*)://(?P<value>[^/\s:@'"]{20,})@`,
		}, false},
		{"user:password of -u and --user", []string{
			`(?:^|[\s'"])(?:-[A-Za-z]*[uU]|--user|--proxy-user)(?:\s+|=)?["']?[^\s:'"=]+:(?P<value>[^\s'"]+)`,
			`(?:^|[\s'"])(?:-[A-Za-z]*[uU]|--user|--proxy-user)(?:\s+|=)?"[^\s:'"=]+:(?P<value>(?:[^"\\]|\\.)+)`,
			`(?:^|[\s'"])(?:-[A-Za-z]*[uU]|--user|--proxy-user)(?:\s+|=)?'+[^\s:'"=]+:(?P<value>[^']+)`,
		}, false},
		{"passwords of sshpass, mysql, redis-cli, openssl and of logins", []string{
			`\bsshpass\b` + rest + `\s["']?-[A-Za-z]*p["']?\s*(?P<value>` + word + `)`,
			`\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\b` + rest + `\s-p(?P<value>` + word + `)`,
			`\bredis-cli\b` + rest + `\s["']?-a["']?\s+(?P<value>` + word + `)`,
			`\b(?:docker|podman|buildah|skopeo|oras|registry|az)\s+login\b` + rest + `\s-p(?:\s+|=)?(?P<value>` + word + `)`,
			`\bopenssl\b` + rest + `\s["']?-[kK]["']?\s+(?P<value>` + word + `)`,
			`\bopenssl\b` + rest + `\b(?:hexkey|hexpass|key):(?P<value>[^\s'"]+)`,
			`\bpass:(?P<value>[^\s'"]+)`, `["']pass:(?P<value>[^'"]+)`, `\bpass:(?P<value>` + word + `)`,
			`\b(?:zip|7z|7za|unzip|gpg|gpg2)\b` + rest + `\s-[pP](?P<value>` + word + `)`, `\b(?:zip|unzip)\b` + rest + `\s-P\s+(?P<value>` + word + `)`,
		}, false},
		{"what is piped or given to a login: --password-stdin, --with-token, sudo -S, chpasswd", []string{
			`\b(?:echo|printf)\s+(?:-[neE]+\s+)*(?:['"\\]*%s(?:\\+n)?['"\\]*\s+)?(?P<value>` + word + `)\s*\|[^\n;]*` + login,
			login + `\b[^\n;|&<]*<<<\s*(?P<value>` + word + `)`,
			login + `\b[^\n;|&<]*<<-?\s*['"\\]?\w+['"]?[^\n]*\n(?P<value>[^\n]+)`,
		}, false},
		{"private keys in PEM", []string{
			`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?P<value>.*?)(?:-----END|\z)`,
		}, false},
		{"tokens of well-known shapes", shapes(), false},
	}
}

// shapes are tokens that are known by their beginning.
func shapes() []string {
	var patterns []string
	for _, shape := range []string{
		`(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}`,                        // AWS
		`gh[pousr]_[A-Za-z0-9]{20,}`, `github_pat_[A-Za-z0-9_]{20,}`, // GitHub
		`gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_.-]{16,}`,         // GitLab
		`xox[abeoprs]-[A-Za-z0-9-]{10,}`, `xapp-[A-Za-z0-9-]{10,}`, // Slack
		`sk-[A-Za-z0-9_-]{20,}`,                              // OpenAI, Anthropic
		`(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}`,   // Stripe
		`AIza[A-Za-z0-9_-]{30,}`, `ya29\.[A-Za-z0-9_-]{20,}`, // Google
		`npm_[A-Za-z0-9]{30,}`, `pypi-[A-Za-z0-9_-]{20,}`, // registries
		`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`,                        // SendGrid
		`hf_[A-Za-z0-9]{20,}`, `dop_v1_[a-f0-9]{32,}`, `hv[sb]\.[\w-]{20,}`, // Hugging Face, DigitalOcean, Vault
		`shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}`,                             // Shopify
		`AGE-SECRET-KEY-1[A-Z0-9]{30,}`,                                   // age
		`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`, // JSON Web Token
		`ses_[A-Za-z0-9_-]{20,}`,                                          // a session of this server
	} {
		patterns = append(patterns, `(?:^|[^A-Za-z0-9_])(?P<value>`+shape+`)`)
	}
	return patterns
}

// secretOption finds options that take a secret; notSecret those of them that only say where it is, or how long.
var (
	secretOption = lazy.Regexp(`(?i)pass(?:word|wd|phrase|code)|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|auth[-_.]?key|account[-_.]?key|credential|^-*(?:auth|pass)$`)
	notSecret    = lazy.Regexp(`(?i)^--?no-|[-_.](?:stdin|file|path|dir|name|id|arn|type|env|url|uri|format|length|limit|count|size|ttl|policy|field|header|regex)$|tokens$|tokeni[sz]e`)
)

// secretName reports whether a name is that of a secret.
func secretName(name string, option bool) bool {
	if option {
		return secretOption().MatchString(name) && !notSecret().MatchString(name)
	}
	return command.IsSecret(strings.TrimLeft(name, "-"), "")
}
