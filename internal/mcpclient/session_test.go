package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

func TestASessionThatIsForgottenIsBegunAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	changed := make(chan string, 10)
	o := options
	o.Changed = func(list string) { changed <- list }
	c := s.dial(t, mcpclient.HTTPOptions{}, o)
	s.session.Store(2)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			result, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
			check.That(t, err == nil && string(result) == `{"ok":true}`, "got %s, %v", result, err)
		})
	}
	all.Wait()
	check.Equal(t, strings.Count(s.methods(), "initialize"), 2+2, "in %s", s.methods())
	check.Equal(t, <-changed, "tools")

	s.serve = func(w http.ResponseWriter, _ *http.Request, _ rpc) { http.Error(w, "gone", http.StatusNotFound) }
	_, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
	check.That(t, isStatus(404)(err), "a server that forgets all at once: got %v", err)
	check.Equal(t, strings.Count(s.methods(), "initialize "), 0, "it is begun in a session")
}

func TestAStreamThatIsLostIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	var id atomic.Value
	s.serve = func(w http.ResponseWriter, _ *http.Request, m rpc) {
		id.Store(string(m.ID))
		events(w)("id: e1\nretry: 1\ndata:\n\n")
	}
	var taken atomic.Int32
	s.get = func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Last-Event-Id") {
		case "e1":
			events(w)("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n\n", id.Load())
		case "e2":
			if taken.Add(1) < 3 {
				panic(http.ErrAbortHandler)
			}
			events(w)("id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"late\":true}}\n\n", id.Load())
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}
	c := s.dial(t, mcpclient.HTTPOptions{}, options)
	progress := 0
	result, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{Progress: func(string, float64, float64) { progress++ }})
	check.OK(t, err)
	check.That(t, string(result) == `{"late":true}` && progress == 1, "got %s, progress %d", result, progress)

	s.get = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadRequest) }
	_, err = c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
	check.That(t, isStatus(400)(err), "got %v", err)
	s.get = func(w http.ResponseWriter, r *http.Request) { events(w)(":\n") }
	_, err = c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
	check.Is(t, err, mcpclient.ErrLost, "a stream that stays empty")
}

// TestQuestionsOverHTTP: the stream of a call says whose a question is, the one that all share does not.
func TestQuestionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, false)
	answers := make(chan string, 10)
	release := make(chan struct{})
	calls := make(chan struct{}, 10)
	s.serve = func(w http.ResponseWriter, _ *http.Request, m rpc) {
		if m.Method == "" {
			answers <- m.line
			w.WriteHeader(http.StatusAccepted)
			return
		}
		send := events(w)
		if strings.Contains(m.line, "asks") {
			send("data: {\"jsonrpc\":\"2.0\",\"id\":\"own\",\"method\":\"elicitation/create\",\"params\":%s}\n\n", form)
		}
		send("data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n")
		calls <- struct{}{}
		<-release
		send("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID)
	}
	shared := make(chan string)
	s.get = func(w http.ResponseWriter, r *http.Request) {
		send := events(w)
		for {
			select {
			case id := <-shared:
				send("data: {\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"elicitation/create\",\"params\":%s}\n\n", id, form)
				send("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}
	c := s.dial(t, mcpclient.HTTPOptions{}, options)
	var asked sync.Map
	ask := func(who string) mcpclient.Handlers {
		return mcpclient.Handlers{Ask: func(_ context.Context, key string, params json.RawMessage) (json.RawMessage, error) {
			asked.Store(who+" "+key, string(params))
			return json.RawMessage(`{"action":"accept"}`), nil
		}}
	}
	first := begin(t.Context(), c, "tools/call", `{"name":"quiet"}`, ask("quiet"))
	<-calls
	check.Equal(t, <-answers, `{"jsonrpc":"2.0","id":"p","result":{}}`)
	shared <- "shared"
	check.Equal(t, <-answers, `{"jsonrpc":"2.0","id":"shared","result":{"action":"accept"}}`)
	second := begin(t.Context(), c, "tools/call", `{"name":"asks"}`, ask("asks"))
	<-calls
	got := []string{<-answers, <-answers}
	check.That(t, sameWords(strings.Join(got, ", "), `{"jsonrpc":"2.0","id":"p","result":{}}, {"jsonrpc":"2.0","id":"own","result":{"action":"accept"}}`), "got %v", got)
	shared <- "whose"
	check.Equal(t, <-answers, `{"jsonrpc":"2.0","id":"whose","result":{"action":"cancel"}}`)
	close(release)
	check.OK(t, errors.Join((<-first).err, (<-second).err))
	keys := 0
	asked.Range(func(key, value any) bool {
		keys++
		check.That(t, value == form && (key == "quiet elicitation-1" || key == "asks elicitation-1"), "asked %v: %v", key, value)
		return true
	})
	check.Equal(t, keys, 2)
}

func TestChangesOverHTTP(t *testing.T) {
	t.Parallel()
	overHTTP(t, func(t *testing.T, s *site) {
		const notice = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
		s.get = func(w http.ResponseWriter, r *http.Request) {
			events(w)(notice)
			<-r.Context().Done()
		}
		s.serve = func(w http.ResponseWriter, r *http.Request, m rpc) {
			check.That(t, m.Method == "subscriptions/listen" && r.Header.Get("Mcp-Method") == m.Method, "got %s", m.line)
			s.get(w, r)
		}
		changed := make(chan string, 10)
		o := options
		o.Changed = func(list string) { changed <- list }
		c := s.dial(t, mcpclient.HTTPOptions{}, o)
		check.Equal(t, <-changed, "tools")
		check.OK(t, c.Close())
	})
}

func TestATokenThatCannotBeHadEndsTheRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	failure := errors.New("not logged in")
	_, err := mcpclient.ConnectHTTP(t.Context(), s.URL, mcpclient.HTTPOptions{Token: func(context.Context) (string, error) { return "", failure }}, options)
	check.Is(t, err, failure)
	check.Equal(t, s.methods(), "")
}

func TestHeadersOfParameters(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"B"},"c":{"type":"integer","x-mcp-header":"C"}}}`:        `[A =?base64?IHg=?= B true C 42]`,
		`{"properties":{"a":{"type":"string","x-mcp-h\u0065ader":"A"}}}`:                                                                                       `[A =?base64?IHg=?=]`,
		`{"properties":{"missing":{"type":"string","x-mcp-header":"A"},"null":{"type":"string","x-mcp-header":"N"},"b":{"type":"string","x-mcp-header":"B"}}}`: `[]`,
		`{"properties":{"x-mcp-header":{"type":"string"}},"default":{"x-mcp-header":"A"}}`:                                                                     `[]`,
		`{"properties":{"c":{"type":"number","x-mcp-header":"C"}}}`:                                                                                            `error`,
		`{"properties":{"c":{"x-mcp-header":"C"}}}`:                                                                                                            `error`,
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                                                             `error`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`:                                                                                          `error`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nX: y"}}}`:                                                                                    `error`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"a"}}}`:                                                  `error`,
		`{"x-mcp-header":"A","type":"string"}`:                                                                                                                 `error`,
		`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`:                                                                                  `error`,
		`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`:                                                                                `error`,
	} {
		got, err := mcpclient.Mirrored(json.RawMessage(schema), json.RawMessage(`{"a":" x","b":true,"c":42.0,"null":null}`))
		if err != nil {
			got = []string{"error"}
		}
		check.Equal(t, strings.Replace(fmt.Sprint(got), "[error]", "error", 1), want, "%s", schema)
	}
}
