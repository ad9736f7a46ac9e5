package e2e_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Who may not speak to the server is turned away before anything is read, on
// every method and path.
func TestHTTPTurnsAway(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.serveHTTP("sse")
	for name, c := range map[string]struct {
		method, path string
		headers      map[string]string
		want         int
	}{
		"no token":                  {"POST", "/mcp", map[string]string{"Authorization": ""}, 401},
		"wrong token":               {"POST", "/mcp", map[string]string{"Authorization": "Bearer " + strings.Repeat("a", len(e.token))}, 401},
		"token of another kind":     {"POST", "/mcp", map[string]string{"Authorization": "Basic " + e.token}, 401},
		"page of a web site":        {"POST", "/mcp", map[string]string{"Origin": "https://example.org"}, 403},
		"page, reading":             {"GET", "/mcp", map[string]string{"Origin": "https://example.org"}, 403},
		"page, older transport":     {"GET", "/sse", map[string]string{"Origin": "null"}, 403},
		"name that was rebound":     {"POST", "/mcp", map[string]string{"Host": "attacker.example.org"}, 403},
		"form":                      {"POST", "/mcp", map[string]string{"Content-Type": "text/plain"}, 415},
		"older transport, no token": {"GET", "/sse", map[string]string{"Authorization": ""}, 401},
		"another path":              {"POST", "/elsewhere", nil, 404},
		"a program, as it should":   {"POST", "/mcp", nil, 200},
	} {
		body := strings.NewReader(strings.Split(initialize, "\n")[0])
		request, err := http.NewRequestWithContext(t.Context(), c.method, strings.TrimSuffix(e.url, "/mcp")+c.path, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+e.token)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		for header, value := range c.headers {
			request.Header.Set(header, value)
		}
		if host, ok := c.headers["Host"]; ok {
			request.Host = host
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d: %s", name, response.StatusCode, c.want, text)
		}
	}
}
