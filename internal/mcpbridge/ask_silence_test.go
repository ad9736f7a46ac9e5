package mcpbridge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// page is a response that can be read while it is written.
type page struct {
	header http.Header
	mu     sync.Mutex
	text   strings.Builder
}

func (p *page) Header() http.Header { return p.header }
func (p *page) WriteHeader(int)     {}
func (p *page) Flush()              {}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// A response on which a person is waited for is not silent, since clients and
// proxies give up on what is.
func TestOpenQuestionsKeepTheResponseOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := unserved(t, asker(t))
		post := func(body, id string) *page {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+aliceToken)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Session-Id", id)
			p := &page{header: make(http.Header)}
			go handler.ServeHTTP(p, r)
			synctest.Wait()
			return p
		}
		id := post(initialize, "").header.Get("Mcp-Session-Id")
		call := post(callLine(1, "wait", "{}"), id)
		_, after, found := strings.Cut(call.String(), `"id":"`)
		question, _, _ := strings.Cut(after, `"`)
		if !found || strings.Contains(call.String(), ": open") {
			t.Fatalf("got %s", call)
		}
		time.Sleep(2 * time.Minute)
		if got := strings.Count(call.String(), ": open\n\n"); got < 4 {
			t.Errorf("%d comments in two minutes: %s", got, call)
		}
		post(`{"jsonrpc":"2.0","id":"`+question+`",`+yes+`}`, id)
		if !strings.Contains(call.String(), "accept") {
			t.Errorf("got %s", call)
		}
	})
}
