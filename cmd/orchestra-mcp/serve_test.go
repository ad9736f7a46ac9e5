package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// served is what a server says at its start, by the words before each colon.
type served struct {
	said map[string]string
	stop func() (code int, rest string)
}

// serveSSE runs the server as old instructions say, until it has said where it listens, or has ended.
func serveSSE(t *testing.T, dir string, flags ...string) served {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for one that does not say it
	from, to := io.Pipe()
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	ended := make(chan int, 1)
	go func() {
		code := execute(ctx, append([]string{"serve", "-t", "sse", "--listen", "127.0.0.1:0"}, flags...), streams{in: strings.NewReader(""), out: io.Discard, err: to}, env)
		to.Close()
		ended <- code
	}()
	s := served{said: make(map[string]string)}
	var text strings.Builder
	for buffer := make([]byte, 1024); s.said["for older clients, with server-sent events"] == ""; {
		n, err := from.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			break
		}
		for line := range strings.Lines(text.String()) {
			before, after, found := strings.Cut(line, ": ")
			if at, ok := strings.CutPrefix(line, "listening on "); ok {
				before, after, found = "listening on", at, true
			}
			if found && strings.HasSuffix(line, "\n") {
				s.said[before] = strings.TrimSpace(after)
			}
		}
	}
	s.stop = func() (int, string) {
		cancel()
		rest, _ := io.ReadAll(from)
		return <-ended, text.String() + string(rest)
	}
	return s
}

func get(t *testing.T, url, token string) int {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	response := check.Value(http.DefaultClient.Do(r))(t)
	response.Body.Close()
	return response.StatusCode
}

// What a client's configuration needs is said once and good at every start.
func TestServeKeepsItsToken(t *testing.T) {
	home(t)
	dir := t.TempDir()
	var first string
	for range 2 {
		s := serveSSE(t, dir)
		token := s.said["bearer token"]
		if first == "" {
			first = token
		}
		check.That(t, len(token) >= minToken && token == first, "the token is %q, and was %q", token, first)
		for name, want := range map[string]int{s.said["listening on"]: http.StatusBadRequest, s.said["for older clients, with server-sent events"]: http.StatusOK} {
			got := get(t, name, token)
			check.That(t, got == want, "%s answers %d, want %d", name, got, want)
			got = get(t, name, token+"x")
			check.That(t, got == http.StatusUnauthorized, "%s answers another token with %d", name, got)
		}
		code, text := s.stop()
		check.That(t, code == exitDone, "ended with %d: %s", code, text)
	}
	kept := filepath.Join(settings.UserDir(os.Environ()), tokenFile)
	info := check.Value(os.Stat(kept))(t)
	mode := info.Mode().Perm()
	check.That(t, mode == 0o600 || runtime.GOOS == "windows", "%s has mode %o", kept, mode)
}

func TestServeRefusesATokenThatIsNone(t *testing.T) {
	for _, test := range []struct {
		name, content, want string
		mode                os.FileMode
	}{
		{"others can read it", "0123456789abcdef\n", "chmod 600", 0o644},
		{"too short", "0123456789abcde\n", "remove it", 0o600},
		{"two words", "0123456789 abcdef\n", "remove it", 0o600},
		{"empty", "", "remove it", 0o600},
	} {
		t.Run(test.name, func(t *testing.T) {
			home(t)
			kept := filepath.Join(settings.UserDir(os.Environ()), tokenFile)
			check.OK(t, os.MkdirAll(filepath.Dir(kept), 0o700))
			check.OK(t, os.WriteFile(kept, []byte(test.content), test.mode))
			check.OK(t, os.Chmod(kept, test.mode))
			code, text := serveSSE(t, t.TempDir()).stop()
			check.That(t, code == exitFailed && strings.Contains(text, test.want) && strings.Contains(text, kept),
				"ended with %d: %s", code, text)
		})
	}
}

// A token is not kept where agents could read it.
func TestServeKeepsNoTokenInTheWorkspace(t *testing.T) {
	home(t)
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	s := serveSSE(t, dir)
	got := get(t, s.said["listening on"], s.said["bearer token"])
	check.That(t, got == http.StatusBadRequest, "answers %d", got)
	code, text := s.stop()
	check.That(t, code == exitDone && strings.Contains(text, "this start alone"), "ended with %d: %s", code, text)
	_, err := os.Lstat(filepath.Join(settings.UserDir(os.Environ()), tokenFile))
	check.That(t, err != nil, "a token was kept in the workspace")
}

func TestBaseURLIsOneToConnectTo(t *testing.T) {
	for _, test := range []struct {
		at    string
		names []string
		tls   bool
		want  string
	}{
		{"127.0.0.1:7428", nil, false, "http://127.0.0.1:7428"},
		{"192.0.2.7:7428", nil, true, "https://192.0.2.7:7428"},
		{"0.0.0.0:7428", nil, false, "http://localhost:7428"},
		{"[::]:7428", nil, false, "http://localhost:7428"},
		{"[2001:db8::7]:7428", nil, false, "http://[2001:db8::7]:7428"},
		{"0.0.0.0:443", []string{"mcp.example.com"}, true, "https://mcp.example.com:443"},
		{"0.0.0.0:443", []string{"*.example.com"}, true, "https://localhost:443"},
	} {
		at := check.Value(net.ResolveTCPAddr("tcp", test.at))(t)
		var s settings.HTTP
		if test.tls {
			s.TLSCert = "cert.pem"
		}
		got := baseURL(s, at, test.names)
		check.That(t, got == test.want, "at %s with the names %q: %s, want %s", test.at, test.names, got, test.want)
	}
}

// The names by which clients may call a server are the one that it listens at, and those of its certificate.
func TestServeKnowsItsNames(t *testing.T) {
	home(t)
	example := httptest.NewTLSServer(nil)
	defer example.Close()
	pair := example.TLS.Certificates[0]
	key := check.Value(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	dir := t.TempDir()
	store := func(name, kind string, der []byte) string {
		name = filepath.Join(dir, name)
		check.OK(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return name
	}
	cert, private := store("cert.pem", "CERTIFICATE", pair.Certificate[0]), store("key.pem", "PRIVATE KEY", key)
	for _, test := range []struct {
		settings settings.HTTP
		want     []string
	}{
		{settings.HTTP{Listen: "127.0.0.1:0"}, nil},
		{settings.HTTP{Listen: "localhost:0"}, []string{"localhost"}},
		{settings.HTTP{Listen: "localhost:0", TLSCert: cert, TLSKey: private}, append([]string{"localhost"}, example.Certificate().DNSNames...)},
	} {
		listener, names, err := listen(t.Context(), test.settings)
		check.OK(t, err)
		listener.Close()
		check.That(t, slices.Equal(names, test.want), "%+v: %q, want %q", test.settings, names, test.want)
	}
	s := serveSSE(t, dir, "--tls-cert", cert, "--tls-key", private)
	at := check.Value(url.Parse(s.said["listening on"]))(t)
	for name, want := range map[string]int{at.Host: http.StatusBadRequest, "evil.example": http.StatusForbidden} {
		r := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+at.Port()+"/mcp", nil))(t)
		r.Host = name
		r.Header.Set("Authorization", "Bearer "+s.said["bearer token"])
		response := check.Value(example.Client().Do(r))(t)
		response.Body.Close()
		check.That(t, response.StatusCode == want, "as %s it answers %d, want %d", name, response.StatusCode, want)
	}
	code, text := s.stop()
	check.That(t, code == exitDone, "ended with %d: %s", code, text)
}
