package catalogue

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/redact"
)

// Outgoing looks for secrets in the arguments of calls: by the patterns by which they are left out of records, by the name of the
// argument, and by the values of the environment's secret variables, also encoded. It is immutable and safe for concurrent use.
type Outgoing struct{ values []secretValue }

type secretValue struct {
	name  string
	forms []string
}

// NewOutgoing returns one for an environment (NAME=value).
func NewOutgoing(environ []string) *Outgoing {
	o := &Outgoing{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !command.IsSecret(name, value) || len(value) < 12 || strings.HasPrefix(value, "/") || !mixed(value) || noSecret().MatchString(name) {
			continue
		}
		o.values = append(o.values, secretValue{name, formsOf(value)})
	}
	return o
}

// noSecret are names that are filtered from environments with others, and have no secret.
var noSecret = lazy.Regexp(`(?i)_(?:REGION|PROFILE|TENANT_ID|ACCOUNT_ID|ENDPOINT|NAME|PATH|FILE|DIR|SOCK|ADDR)$`)

// formsOf are a value as it is and as it is often written. Of base64 it is the part that is the same wherever the value begins.
func formsOf(value string) []string {
	forms := []string{value, hex.EncodeToString([]byte(value)), url.QueryEscape(value), url.PathEscape(value)}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString(append(make([]byte, before), value...))
			text = text[(before*8+5)/6:]
			if (before+len(value))%3 != 0 {
				text = text[:len(text)-1]
			}
			forms = append(forms, text)
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// mixed: letters and digits.
func mixed(text string) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) && strings.ContainsFunc(text, unicode.IsLetter)
}

// maxMatched bounds how much of one call's arguments is matched with patterns, in bytes: that around what hints at a secret.
const maxMatched = 128 << 10

// Secrets finds them, and shows none. Arguments that do not parse have a finding too.
func (o *Outgoing) Secrets(arguments json.RawMessage) []Finding {
	if len(bytes.TrimSpace(arguments)) == 0 {
		return nil
	}
	var in inspection
	left := maxMatched
	d := jsontext.NewDecoder(bytes.NewReader(arguments), jsontext.AllowDuplicateNames(true))
	member := ""
	for {
		kind := d.PeekKind()
		token, err := d.ReadToken()
		switch {
		case err != nil && d.StackDepth() == 0 && kind == 0 && d.InputOffset() > 0 && len(bytes.TrimSpace(arguments[d.InputOffset():])) == 0:
			return in.findings
		case err != nil:
			in.add(TooMuch, "the arguments", "they are no JSON, and not looked at")
			return in.findings
		case token.Kind() != '"':
			continue
		}
		text := token.String()
		if what := o.secret(text, member, &left); what != "" {
			kind := Secret
			if left < 0 {
				kind = TooMuch
			}
			in.add(kind, place(d), what)
		}
		member = ""
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
			member = text
		}
	}
}

// secret says what of a text is one, "" for nothing. member is the name of the argument that it is the value of.
func (o *Outgoing) secret(text, member string, left *int) string {
	for _, v := range o.values {
		for _, form := range v.forms {
			if strings.Contains(text, form) {
				return "the value of the variable " + printable.Text(v.name)
			}
		}
	}
	if len(text) >= 4 && !strings.HasPrefix(text, "$") && secretMember().MatchString(member) && !notSecretMember().MatchString(member) {
		return "it has the name of a secret"
	}
	for _, part := range hinted(text) {
		if *left -= len(part); *left < 0 {
			return "the rest of the arguments is not looked at: they hint at secrets in too many places"
		}
		if n := redacted(part); n > 0 {
			return fmt.Sprintf("what looks like a token, key or password, of %d characters", n)
		}
	}
	return ""
}

var (
	secretMember    = lazy.Regexp(`(?i)pass(?:word|wd|phrase|code)|secret|api[-_.]?key|access[-_.]?key|private[-_.]?key|auth[-_.]?key|(?:access|auth|bearer|refresh|id|api)[-_.]?token|^token$|credentials?$`)
	notSecretMember = lazy.Regexp(`(?i)[-_.]?(?:name|id|path|file|dir|url|uri|type|field|hint|policy|format|length|arn|selector|label)s?$`)
)

// redacted is the length of what the rules of redact leave out of a text and is likely a secret, 0 for nothing.
func redacted(text string) int {
	without, any := redact.Line(text)
	if !any {
		return 0
	}
	rest := text
	parts := strings.Split(without, redact.Mark)
	rest = strings.TrimPrefix(rest, parts[0])
	for _, part := range parts[1:] {
		end := len(rest)
		if part != "" {
			if end = strings.Index(rest, part); end < 0 {
				return len(rest)
			}
		}
		if likely(rest[:end]) {
			return end
		}
		rest = rest[min(len(rest), end+len(part)):]
	}
	return 0
}

// likely keeps source code apart, in which names of secrets stand before what is none.
func likely(value string) bool {
	value = strings.Trim(value, "\"'` \n")
	return len(value) >= 8 && mixed(value) && !strings.ContainsAny(value, "()[]{}<>$") && (!code().MatchString(value) || strings.HasPrefix(value, "eyJ"))
}

// code is members of members.
var code = lazy.Regexp(`^[A-Za-z_]\w{0,24}(?:\??\.[A-Za-z_]\w{0,24})+[;,]?$`)

// hints are parts of what the rules of redact find, in lower case: beginnings of tokens, and words before a value.
var (
	hints = []string{
		"-----begin", "akia", "asia", "aroa", "aida", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "xox", "xapp-",
		"sk-", "sk_", "rk_", "whsec_", "aiza", "ya29.", "npm_", "pypi-", "sg.", "hf_", "dop_v1_", "hvs.", "hvb.", "shpat_", "shpca_", "shppa_", "shpss_", "age-secret-key", "eyj", "ses_", "://",
	}
	hintWords = []string{
		"pass", "secret", "token", "key", "cred", "cookie", "auth", "bearer", "_pwd", "_pat", "_dsn", "connection_string", "webhook", "database_url", "aws_", "azure_", "vault_",
		"mysql", "mariadb", "redis-cli", "login", "openssl", "curl", "--user", "--proxy-user",
	}
)

// around is how much of a text is matched on each side of a hint.
const around = 256

// hinted are the parts of a text around what hints at a secret: most texts have none, and matching costs a second for a megabyte.
func hinted(text string) (parts []string) {
	if len(text) < 8 {
		return nil
	}
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		lower = strings.Map(func(r rune) rune { // offsets stay
			if r < unicode.MaxASCII {
				return unicode.ToLower(r)
			}
			return r
		}, text)
	}
	var at []int
	all := hints
	if strings.ContainsAny(text, "=: \t\n") { // a name of a secret has a value behind it
		all = slices.Concat(hints, hintWords)
	}
	for _, hint := range all {
		for from := 0; ; {
			i := strings.Index(lower[from:], hint)
			if i < 0 {
				break
			}
			if hint != "://" || strings.Contains(lower[from+i:min(len(lower), from+i+around)], "@") {
				at = append(at, from+i)
			}
			from += i + around/2
			if from >= len(lower) {
				break
			}
		}
	}
	slices.Sort(at)
	for i := 0; i < len(at); {
		from, to := max(0, at[i]-around), min(len(text), at[i]+2*around)
		for i++; i < len(at) && at[i]-around <= to; i++ {
			to = min(len(text), at[i]+2*around)
		}
		parts = append(parts, text[from:to])
	}
	return parts
}
