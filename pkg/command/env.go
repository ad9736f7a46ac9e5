package command

import (
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// MarkerVariable is set to a random value in the environment of every command. It marks the processes of a command, and
// tells a program that it runs below a governed server. A command can unset it, so its absence proves nothing.
const MarkerVariable = "ORCHESTRA_RUN"

// reservedPrefix is of variables that steer the server itself; commands neither see nor hand them on.
const reservedPrefix = "ORCHESTRA_"

// SecretPatterns are the globs over names, in any letter case, of variables that FilterEnv takes for secrets.
// A variable whose value holds a URL with a password is taken for one as well, whatever its name.
func SecretPatterns() []string {
	return strings.Fields(`*TOKEN* *SECRET* *PASSWORD* *PASSWD* *PASSPHRASE* *CREDENTIAL* *COOKIE*
		*_PASS *_PWD *_PAT *_KEY *_KEY_* *APIKEY* *_AUTH *_AUTH_* *_DSN *CONNECTION_STRING*
		*WEBHOOK* OTEL_EXPORTER_*HEADERS DATABASE_URL XAUTHORITY GPG_AGENT_INFO AWS_* AZURE_* VAULT_*`)
}

// shellStartupPatterns are variables that make a shell run other code than the line that was judged. They are always dropped.
const shellStartupPatterns = "BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND BASH_FUNC_*"

// urlPassword finds scheme://user:password@ in a value.
var urlPassword = lazy.Regexp(`(?i)[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@`)

// FilterEnv returns the entries of env that a command may see, in their order. It drops secrets (SecretPatterns) unless
// their name matches one of the globs in allow, and always drops what begins with ORCHESTRA_, what makes the shell run
// other code than its command line (BASH_ENV, exported functions and their like), and entries without a name.
func FilterEnv(env []string, allow ...string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && !forbidden(name) && (matchesAny(allow, name) || !IsSecret(name, value)) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// IsSecret reports whether FilterEnv takes a variable for a secret.
func IsSecret(name, value string) bool {
	return matchesAny(SecretPatterns(), name) || urlPassword().MatchString(value)
}

func forbidden(name string) bool {
	return strings.HasPrefix(strings.ToUpper(name), reservedPrefix) || matchesAny(strings.Fields(shellStartupPatterns), name)
}

// matchesAny ignores letter case. A glob that does not compile matches nothing, so a mistake in an allow list lets nothing through.
func matchesAny(globs []string, name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "/", "_") // a star of path.Match stops at a slash
	for _, glob := range globs {
		if ok, err := path.Match(strings.ToUpper(glob), name); err == nil && ok {
			return true
		}
	}
	return false
}

// environment is what the shell gets: the caller's entries without those that the server decides, and the marker.
func environment(env []string, marker string) []string {
	out := make([]string, 0, len(env)+1)
	out = append(out, MarkerVariable+"="+marker)
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if name == "PWD" || name == "OLDPWD" || strings.HasPrefix(strings.ToUpper(name), reservedPrefix) {
			continue
		}
		out = append(out, entry)
	}
	return out
}
