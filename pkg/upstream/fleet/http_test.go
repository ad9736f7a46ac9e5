package fleet_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// web is a server with an address, of the initialize era, that wants a key.
func web(t *testing.T, key string) (definition, *atomic.Int64) {
	t.Helper()
	p, asked := &program{way: "small"}, new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body := string(check.Value(io.ReadAll(r.Body))(t))
		switch {
		case r.Header.Get("Authorization") != key:
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case !strings.Contains(body, `"id":`):
			w.WriteHeader(http.StatusAccepted)
			return
		}
		id, method := between(body, `"id":`, ","), between(body, `"method":"`, `"`)
		answer := p.other(method, nil)
		if method == "tools/call" {
			answer = text("from afar")
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+strings.Trim(id, "}")+`,`+answer+`}`)
	}))
	t.Cleanup(s.Close)
	return definition{Name: "far", Prefix: "far_", URL: s.URL, Timeout: upstream.DefaultTimeout, Findings: upstream.Warn}, asked
}

// hangsOverHTTP is the address of a server with a tool that says that it was asked, and never answers.
func hangsOverHTTP(t *testing.T, asked func()) string {
	over, p := make(chan struct{}), &program{way: "plain"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := string(check.Value(io.ReadAll(r.Body))(t))
		method := between(body, `"method":"`, `"`)
		switch {
		case method == "tools/call":
			asked()
			select {
			case <-over:
			case <-r.Context().Done():
			}
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case !strings.Contains(body, `"id":`):
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":`+strings.Trim(between(body, `"id":`, ","), "}")+`,`+p.other(method, nil)+`}`)
		}
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s.URL
}

func between(text, start, end string) string {
	_, rest, _ := strings.Cut(text, start)
	rest, _, _ = strings.Cut(rest, end)
	return rest
}

func TestAddresses(t *testing.T) {
	d, _ := web(t, "Bearer the key")
	y := newYard(t, d)
	file := y.secrets(d, "Authorization: Bearer the key\n")
	y.open()
	check.Equal(t, y.said("far_echo", `{}`), "from afar")
	state := y.state("far")
	check.That(t, state.HTTP && state.Status == fleet.Running && state.PID == 0, "%+v", state)
	y.nowhere("the key")
	for _, text := range []string{"no header", "Host: x", "Bad Name: x", "A: \x01"} {
		y.secrets(d, text+"\n")
		y.open()
		err := y.Start(context.Background(), "far")
		check.That(t, errors.Is(err, fleet.ErrSecrets) && strings.Contains(err.Error(), file), "%q: %v", text, err)
	}
}

// TestLogin: who is not logged in is told how to.
func TestLogin(t *testing.T) {
	d, asked := web(t, "Bearer other")
	y := newYard(t, d).open()
	err := y.Start(context.Background(), "far")
	var wants *mcpclient.AuthError
	check.That(t, errors.As(err, &wants) && strings.Contains(err.Error(), "orchestra-mcp servers login far"), "%v", err)
	check.That(t, strings.Contains(y.state("far").Why, "servers login far"), "%+v", y.state("far"))
	n := asked.Load()
	check.That(t, errors.Is(y.Start(context.Background(), "far"), fleet.ErrResting), "it is asked again at once")
	check.Equal(t, asked.Load(), n)
}

// TestTheTokenOfALoginStaysHidden, whatever the server says of it.
func TestTheTokenOfALoginStaysHidden(t *testing.T) {
	p := &program{way: "small"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := string(check.Value(io.ReadAll(r.Body))(t))
		method := between(body, `"method":"`, `"`)
		w.Header().Set("Content-Type", "application/json")
		answer := p.other(method, nil)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case method == "tools/call" && strings.Contains(body, "status"):
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "you are "+r.Header.Get("Authorization"))
			return
		case method == "tools/call":
			answer = `"error":{"code":1,"message":"you are ` + r.Header.Get("Authorization") + `"}`
		}
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+strings.Trim(between(body, `"id":`, ","), "}")+`,`+answer+`}`)
	}))
	t.Cleanup(s.Close)
	d := definition{Name: "far", Prefix: "far_", URL: s.URL, Timeout: upstream.DefaultTimeout, Findings: upstream.Warn}
	y := newYard(t, d)
	y.secrets(d, "")
	login := `{"server":"` + s.URL + `","access_token":"a-token-of-a-login"}`
	check.OK(t, os.WriteFile(fleet.FilesOf(y.options.UserDir, y.workspace, d).Login, []byte(login), 0o600))
	y.open()
	for _, arguments := range []string{`{"text":"x"}`, `{"text":"status"}`} {
		_, err := y.call("far_echo", arguments)
		check.That(t, err != nil && strings.Contains(err.Error(), "[secret]") && !strings.Contains(err.Error(), "a-token"), "%v", err)
	}
	y.nowhere("a-token-of-a-login")
}
