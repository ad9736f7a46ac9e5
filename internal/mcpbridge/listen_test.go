package mcpbridge_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

const (
	allLists = `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:"]}`
	listens  = `{"io.modelcontextprotocol/subscriptionId":%d}`
)

// listen opens a subscription, and reads what says so.
func (w way) listen(id int, filter, agreed string) {
	w.t.Helper()
	w.ask(id, "subscriptions/listen", filter)
	want := `"method":"notifications/subscriptions/acknowledged","params":{"_meta":` + fmt.Sprintf(listens, id) + `,"notifications":` + agreed + `}`
	a := w.next()
	check.Must(w.t, strings.Contains(a.Raw, want), "the subscription begins with %s, want %s", a.Raw, want)
}

// changed reads that a list has changed.
func (w way) changed(list, params string) {
	w.t.Helper()
	a := w.next()
	check.Must(w.t, strings.Contains(a.Raw, `"method":"notifications/`+list+`/list_changed","params":`+params), "got %s, want that %s have changed", a.Raw, list)
}

// Clients hear of lists that change: those of the initialize era all of them, those of 2026-07-28 what they asked for.
func TestListChanged(t *testing.T) {
	inAllWays(t, newHandler(t), newOthers(), func(t *testing.T, s *mcpbridge.Server, w way) {
		params := `{}`
		if w.modern {
			w.listen(5, allLists, `{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":true}`)
			params = `{"_meta":` + fmt.Sprintf(listens, 5) + `}`
		}
		if w.over == "SSE" && w.modern {
			// This one's client has also sent initialize.
			s.ListChanged("tools")
			a, b := w.next(), w.next()
			check.Equal(t, strings.Contains(a.Raw, "_meta") != strings.Contains(b.Raw, "_meta"), true, "%s %s", a.Raw, b.Raw)
			return
		}
		s.ListChanged("weather") // which there is not
		for range 1000 {
			s.ListChanged("prompts")
		}
		s.ListChanged("tools")
		w.changed("prompts", params)
		w.changed("tools", params)
	})
}

// What a client has not asked for it does not get, and each subscription has its own.
func TestListenFilters(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	config.Beside = newOthers()
	for _, over := range []string{"stdio", "HTTP"} {
		t.Run(over, func(t *testing.T) {
			s := check.Value(mcpbridge.New(config))(t)
			w := way{connect(t, s, over, true), true, over}
			w.listen(1, `"notifications":{"toolsListChanged":false,"resourcesListChanged":true}`, `{"resourcesListChanged":true}`)
			w.listen(2, `"notifications":{"promptsListChanged":true}`, `{"promptsListChanged":true}`)
			w.listen(3, `"notifications":{}`, `{}`)
			for _, list := range []string{"tools", "resources", "prompts"} {
				s.ListChanged(list)
			}
			want := map[string]bool{
				`notifications/resources/list_changed","params":{"_meta":` + fmt.Sprintf(listens, 1): true,
				`notifications/prompts/list_changed","params":{"_meta":` + fmt.Sprintf(listens, 2):   true,
			}
			for range 2 {
				a := w.next()
				maps.DeleteFunc(want, func(text string, _ bool) bool { return strings.Contains(a.Raw, text) })
			}
			check.Equal(t, len(want), 0, "what did not come: %v", want)
			for i, filter := range []string{``, `"notifications":[]`, `"notifications":{"toolsListChanged":1}`, `"notifications":{"ToolsListChanged":true}`,
				`"notifications":{"resourceSubscriptions":"a"}`} {
				w.answered(10+i, "subscriptions/listen", filter).wantError(t, fmt.Sprint(10+i), -32602, "")
			}
		})
	}
}

// Without others no list changes: nothing listens, and nothing is logged.
func TestNothingToListenTo(t *testing.T) {
	inAllWays(t, newHandler(t), nil, func(t *testing.T, s *mcpbridge.Server, w way) {
		s.ListChanged("tools")
		w.answered(1, "subscriptions/listen", allLists).wantError(t, "1", -32601, "not served")
		w.answered(2, "logging/setLevel", `"level":"info"`).wantError(t, "2", -32601, "not served")
		check.Equal(t, string(w.answered(3, "tools/list", "", `"io.modelcontextprotocol/logLevel":"loud"`).ID), "3")
	})
}

// In the initialize era nobody listens: the lists come unasked.
func TestListenIsOfItsEra(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	config.Beside = newOthers()
	c := startStdio(t, check.Value(mcpbridge.New(config))(t), mcpbridge.StdioOptions{}).initialize()
	c.send(way{}.message(1, "subscriptions/listen", allLists))
	c.read().wantError(t, "1", -32601, "not served")
}

// A subscription ends when its client says so, without an answer; and with one when the server ends.
func TestListenEnds(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	config.Beside = newOthers()
	s := check.Value(mcpbridge.New(config))(t)
	c := startStdio(t, s, mcpbridge.StdioOptions{})
	w := way{duplex{t, func(m string) { c.send(m) }, pump(t, c.all()), nil}, true, "stdio"}
	w.listen(1, allLists, `{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":true}`)
	w.listen(2, `"notifications":{"toolsListChanged":true}`, `{"toolsListChanged":true}`)
	w.send(cancelLine(1))
	w.answered(3, "tools/list", "")
	s.ListChanged("tools")
	w.changed("tools", `{"_meta":`+fmt.Sprintf(listens, 2)+`}`)
	c.in.Close()
	a := w.next()
	check.That(t, string(a.ID) == "2" && strings.Contains(a.Raw, `"io.modelcontextprotocol/subscriptionId":2`) && a.Result != nil && a.Result.ResultType == "complete", "%s", a.Raw)
	check.OK(t, <-c.ended)
}

// Over HTTP the stream ends with the server, and says so.
func TestListenEndsWithTheServer(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	config.Beside = newOthers()
	s := check.Value(mcpbridge.New(config))(t)
	handler := check.Value(s.HTTPHandler(mcpbridge.HTTPOptions{Authenticate: authenticate}))(t)
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, listener) }()
	w := way{overModern(t, web{t, "http://" + listener.Addr().String()}), true, "HTTP"}
	w.listen(1, allLists, `{"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":true}`)
	cancel()
	a := w.next()
	check.That(t, string(a.ID) == "1" && a.Result != nil && a.Result.ResultType == "complete", "%s", a.Raw)
	check.OK(t, <-ended)
}

// Subscriptions are bounded, take no place of requests, and come back.
func TestListensAreBounded(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	config.Beside = newOthers()
	s := check.Value(mcpbridge.New(config))(t)
	c := startStdio(t, s, mcpbridge.StdioOptions{})
	w := way{duplex{t, func(m string) { c.send(m) }, pump(t, c.all()), nil}, true, "stdio"}
	for i := range 16 {
		w.listen(i, `"notifications":{}`, `{}`)
	}
	w.answered(16, "subscriptions/listen", `"notifications":{}`).wantError(t, "16", -31000, "too much")
	w.answered(17, "tools/list", "")
	w.send(cancelLine(0))
	eventually(t, "there is a place again", func() bool {
		w.ask(18, "subscriptions/listen", `"notifications":{}`)
		return w.next().Method == "notifications/subscriptions/acknowledged"
	})
}

func TestListensOfAPrincipalAreBounded(t *testing.T) {
	h := newHandler(t)
	config := bridgeConfig(h)
	config.Beside = newOthers()
	w := startWebWith(t, config, mcpbridge.HTTPOptions{MaxInFlight: 1, Burst: 10_000})
	message := way{modern: true}.message(1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	post := func(edits ...func(*http.Request)) *http.Request {
		return w.request(message, append(edits, modern("subscriptions/listen", ""))...)
	}
	var streams []*eventStream
	for range 64 {
		s := w.stream(post())
		check.That(t, strings.Contains(s.event(t).data, "acknowledged"), "it is open")
		streams = append(streams, s)
	}
	got := w.do(post())
	check.That(t, got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") != "", "%+v", got)
	check.Equal(t, w.do(w.request(modernLine(2, "whoami", "{}"), modern("tools/call", "whoami"))).status, http.StatusOK)
	check.That(t, strings.Contains(w.stream(post(as(bobToken))).event(t).data, "acknowledged"), "another principal has its own")
	streams[0].leave()
	eventually(t, "there is a place again", func() bool {
		s := w.stream(post())
		if s.status == http.StatusOK {
			return true
		}
		s.leave()
		return false
	})
	check.Equal(t, w.do(post(header("Accept", "application/json"))).status, http.StatusNotAcceptable)
}

// A session that had no stream when a list changed hears of it on the next that it opens.
func TestListChangedWaitsForAStream(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	config.Beside = newOthers()
	s := check.Value(mcpbridge.New(config))(t)
	handler := check.Value(s.HTTPHandler(mcpbridge.HTTPOptions{Authenticate: authenticate}))(t)
	w := serveHandler(t, handler)
	id := w.initialize()
	stdio := startStdio(t, s, mcpbridge.StdioOptions{}).initialize()
	s.ListChanged("prompts")
	check.Equal(t, stdio.read().Method, "notifications/prompts/list_changed")
	s.ListChanged("prompts") // in another round
	check.Equal(t, stdio.read().Method, "notifications/prompts/list_changed")
	eventually(t, "it waits", func() bool {
		stream := w.stream(w.request("", method(http.MethodGet), session(id)))
		defer stream.leave()
		return stream.status == http.StatusOK && strings.Contains(stream.event(t).data, "notifications/prompts/list_changed")
	})
	check.Equal(t, w.do(w.request("", method(http.MethodDelete), session(id))).status, http.StatusNoContent)
}
