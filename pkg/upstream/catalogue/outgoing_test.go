package catalogue_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

const variable = "s3cr3t-Value+of/a=Variable9"

func outgoing() *catalogue.Outgoing {
	return catalogue.NewOutgoing([]string{"MY_TOKEN=" + variable, "AWS_REGION=ap-southeast-2", "SSH_AUTH_SOCK=/run/user/1000/agent.123", "PLAIN=plain-value-number-1", "SHORT_KEY=a1", "EMPTY_KEY="})
}

func arguments(t testing.TB, value any) json.RawMessage {
	t.Helper()
	return check.Value(json.Marshal(value))(t)
}

func joined(parts ...string) string { return strings.Join(parts, "") } // scanners would take examples for tokens

func TestSecretsThatGoOut(t *testing.T) {
	filler := strings.Repeat("ordinary words of a text; ", 2000)
	for name, value := range map[string]any{
		"the variable":           map[string]any{"q": variable},
		"in a text":              map[string]any{"q": filler + variable + filler},
		"deep":                   map[string]any{"a": []any{map[string]any{"b": []any{1, "x " + variable}}}},
		"as a name":              map[string]any{variable: 1},
		"in hex":                 map[string]any{"q": hex.EncodeToString([]byte(variable))},
		"in base64":              map[string]any{"q": base64.StdEncoding.EncodeToString([]byte("a" + variable + "bc"))},
		"in base64, shifted":     map[string]any{"q": base64.StdEncoding.EncodeToString([]byte("ab" + variable))},
		"in base64 of addresses": map[string]any{"q": base64.RawURLEncoding.EncodeToString([]byte(variable + "abc"))},
		"in an address":          map[string]any{"q": "https://h.example/?q=" + url.QueryEscape(variable)},
		"GitHub":                 map[string]any{"body": filler + joined("ghp", "_abcdefghijklmnopqrstuvwxyz0123456789")},
		"AWS":                    map[string]any{"body": joined("AKIA", "IOSFODNN7EXAMPLE")},
		"a model's":              map[string]any{"body": joined("sk", "-ant-api03-abcdefghijklmnopqrst")},
		"JSON Web Token":         map[string]any{"body": joined("eyJ", "hbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc_def")},
		"private key":            map[string]any{"body": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefgh1234567\n-----END RSA PRIVATE KEY-----"},
		"address":                map[string]any{"dsn": "postgres://u:hunter2hunter2@db.example/x"},
		"header":                 map[string]any{"headers": "Authorization: Bearer abcdef1234567890"},
		"assignment":             map[string]any{"content": "A=1\nDB_PASSWORD=hunter2hunter2\n"},
		"JSON in a text":         map[string]any{"content": `{"api_key": "k1234567890"}`},
		"command":                map[string]any{"command": "mysql -uroot -phunter2hunter2 db"},
		"argument's name":        map[string]any{"password": "correct horse"},
		"argument's name, deep":  map[string]any{"login": map[string]any{"accessToken": "abcd"}},
	} {
		found := outgoing().Secrets(arguments(t, value))
		check.That(t, len(found) > 0, "%s: nothing is found", name)
		for _, f := range found {
			check.That(t, f.Kind == catalogue.Secret, "%s: %v", name, f)
			if name != "as a name" {
				safe(t, f)
				check.That(t, !strings.Contains(f.String(), "hunter2") && !strings.Contains(f.String(), variable), "%s: %v shows it", name, f)
			}
		}
	}
}

func TestWhatIsNoSecret(t *testing.T) {
	for _, value := range []any{
		map[string]any{"path": "/home/u/project/src/main.go", "head": 40, "x": nil, "y": true},
		map[string]any{"region": "ap-southeast-2", "q": "plain-value-number-1 a1 /run/user/1000/agent.123"},
		map[string]any{"content": "func auth(token string) { key := os.Getenv(\"API_TOKEN\"); password = cfg.Password1; api(token=token2, key=self.key9) }"},
		map[string]any{"content": "export API_TOKEN=$OTHER\npassword: ${{ secrets.PASSWORD1 }}\n"},
		map[string]any{"pageToken": "CAUQAA1234", "next_token": "x", "token_type": "bearer", "password_field": "#pw", "secretName": "prod/db1", "cursor": "eyJhIjox"},
		map[string]any{"text": "How do I rotate my password and the API key of the monkey keyboard author?", "url": "https://h.example/a@b/c?x=1"},
		map[string]any{"password": "", "api_key": "$KEY"},
		map[string]any{}, nil, []any{},
	} {
		for _, f := range outgoing().Secrets(arguments(t, value)) {
			t.Errorf("%v: %v", value, f)
		}
	}
	check.That(t, len(outgoing().Secrets(nil)) == 0, "no arguments have a finding")
}

// What is not looked at is said.
func TestArgumentsBeyondBounds(t *testing.T) {
	for _, raw := range []string{`{"a":"` + strings.Repeat("key word ", 60000) + `"}`, `{"a":`, `{"a":1} x`, strings.Repeat("[", 20000)} {
		found := outgoing().Secrets(json.RawMessage(raw))
		check.That(t, len(found) > 0 && found[len(found)-1].Kind == catalogue.TooMuch, "%.40s: %v", raw, found)
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add([]byte(`{"a":"password=hunter2hunter2 x"}`))
	f.Add([]byte(`[{"İ":"ghp_ token"}]`))
	o := outgoing()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, found := range o.Secrets(raw) {
			check.That(t, found.Where != "" && found.Text != "", "%+v", found)
		}
	})
}

func BenchmarkSecrets(b *testing.B) {
	o := outgoing()
	for name, value := range map[string]any{
		"small": map[string]any{"path": "/home/u/project/src/main.go", "head": 40},
		"hint":  map[string]any{"path": "/home/u/project/src/token/auth.go", "head": 40},
		"64KiB": map[string]any{"content": strings.Repeat("ordinary words of a text; ", 2520)},
	} {
		raw := arguments(b, value)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				o.Secrets(raw)
			}
		})
	}
}
