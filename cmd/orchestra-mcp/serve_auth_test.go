package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Who names tokens or an issuer gets no further token that is good for everything, and one that was kept is good no more.
func TestServeMakesNoTokenBesideOthers(t *testing.T) {
	for variable, value := range map[string]string{
		"ORCHESTRA_AUTH_TOKENS": `[{name: ci, token: "ci-ci-ci-ci-ci-ci"}]`, "ORCHESTRA_AUTH_ISSUER": "http://127.0.0.1:9",
	} {
		home(t)
		kept := filepath.Join(settings.UserDir(os.Environ()), tokenFile)
		check.OK(t, os.MkdirAll(filepath.Dir(kept), 0o700))
		check.OK(t, os.WriteFile(kept, []byte("0123456789abcdef\n"), 0o600))
		t.Setenv(variable, value)
		s := serveSSE(t, t.TempDir())
		check.Equal(t, get(t, s.said["listening on"], "0123456789abcdef"), http.StatusUnauthorized, variable, "the token that was kept")
		check.Equal(t, get(t, s.said["listening on"], "ci-ci-ci-ci-ci-ci") == http.StatusBadRequest, variable == "ORCHESTRA_AUTH_TOKENS", variable, "the named one")
		code, text := s.stop()
		check.That(t, code == exitDone && !strings.Contains(text, "bearer token:") && !strings.Contains(text, "ci-ci-"), "%s: ended with %d: %s", variable, code, text)
		check.OK(t, os.Unsetenv(variable))
	}
}

// The operator's own token counts beside the others.
func TestServeTakesTheChosenTokenBesideOthers(t *testing.T) {
	home(t)
	t.Setenv("ORCHESTRA_AUTH_TOKENS", `[{name: ci, token: "ci-ci-ci-ci-ci-ci"}]`)
	t.Setenv("ORCHESTRA_AUTH_TOKEN", "0123456789abcdef")
	s := serveSSE(t, t.TempDir())
	check.Equal(t, get(t, s.said["listening on"], "0123456789abcdef"), http.StatusBadRequest)
	check.Equal(t, get(t, s.said["listening on"], "ci-ci-ci-ci-ci-ci"), http.StatusBadRequest)
	s.stop()
	t.Setenv("ORCHESTRA_AUTH_TOKEN", "ci-ci-ci-ci-ci-ci")
	code, text := serveSSE(t, t.TempDir()).stop()
	check.That(t, code == exitFailed && strings.Contains(text, "operator and ci have the same token") && !strings.Contains(text, "ci-ci-"), "ended with %d: %s", code, text)
}

// A token that lets nobody in is not said to be taken.
func TestServeNamesExpiredTokens(t *testing.T) {
	home(t)
	t.Setenv("ORCHESTRA_AUTH_TOKENS", `[{name: old, token: "old-old-old-old-old", expires: 2020-01-01}, {name: ci, token: "ci-ci-ci-ci-ci-ci"}]`)
	code, text := serveSSE(t, t.TempDir()).stop()
	check.That(t, code == exitDone && strings.Contains(text, "are taken: old (expired), ci\n"), "ended with %d: %s", code, text)
}

// What other machines reach has no address of its own that tokens could be for.
func TestServeNeedsAResourceBeyondLoopback(t *testing.T) {
	home(t)
	t.Setenv("ORCHESTRA_AUTH_ISSUER", "https://auth.example.com")
	code, text := serveSSE(t, t.TempDir(), "--listen", "0.0.0.0:0", "--insecure").stop()
	check.That(t, code == exitUsage && strings.Contains(text, "auth.resource"), "ended with %d: %s", code, text)
}
