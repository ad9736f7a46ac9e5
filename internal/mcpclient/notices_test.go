package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

func TestProgressReachesItsCallOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		var got [2][]string
		handlers := func(i int) mcpclient.Handlers {
			return mcpclient.Handlers{Progress: func(message string, done, total float64) { got[i] = append(got[i], fmt.Sprint(message, done, total)) }}
		}
		first := begin(t.Context(), c, "tools/call", call, handlers(0))
		a := p.expect("tools/call")
		second := begin(t.Context(), c, "tools/call", call, handlers(1))
		b := p.expect("tools/call")
		third := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		none := p.expect("tools/call")
		progress := func(token string, rest string) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}`, token, rest)
			synctest.Wait()
		}
		progress(string(a.ID), `"progress":1,"total":4,"message":"one"`)
		progress(string(b.ID), `"progress":0.5`)
		progress(string(a.ID), `"progress":2`)
		for _, token := range []string{string(none.ID), `1`, `"` + string(a.ID) + `"`, `null`} {
			progress(token, `"progress":9`)
		}
		progress(string(a.ID), `"progress":"much"`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":3}}`, a.ID)
		for _, each := range []rpc{a, b, none} {
			p.answer(each, `{}`)
		}
		check.That(t, (<-first).err == nil && (<-second).err == nil && (<-third).err == nil, "a call failed")
		check.Equal(t, fmt.Sprint(got), "[[one1 4 2 0 3 0] [0.5 0]]")
		progress(string(a.ID), `"progress":9`)
		check.Equal(t, c.Dropped(), mcpclient.Dropped{Notices: 7})
	})
}

func TestFloodsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		var lines int
		var last float64
		blocked := make(chan struct{})
		var once sync.Once
		got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{
			Progress: func(_ string, done, _ float64) { lines, last = lines+1, done; once.Do(func() { <-blocked }) },
			Log:      func(string, string, json.RawMessage) { lines++ },
		})
		m := p.levelled(c, "info").expect("tools/call")
		began := time.Now()
		for i := range 20000 {
			p.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ID, i)
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"%d"}}`, i)
		}
		check.That(t, time.Since(began) >= 3*time.Second, "40,000 notifications were taken in %v", time.Since(began))
		p.answer(m, `{}`)
		close(blocked)
		check.OK(t, (<-got).err)
		check.That(t, last == 19999 && lines >= 3 && lines < 200, "%d calls of handlers, the last progress %v", lines, last)
	})
}

func TestLogsReachTheOneCallThatTheyCanBelongTo(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		var got []string
		h := mcpclient.Handlers{LogLevel: "warning", Log: func(level, logger string, data json.RawMessage) {
			got = append(got, level+logger+string(data))
		}}
		log := func(params string) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":%s}`, params)
			synctest.Wait()
		}
		log(`{"level":"error","data":"before"}`)
		silent := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		s := p.expect("tools/call")
		first := begin(t.Context(), c, "tools/call", call, h)
		a := p.levelled(c, "warning").expect("tools/call")
		log(`{"level":"error","data":"whose"}`)
		p.answer(s, `{}`)
		check.OK(t, (<-silent).err)
		log(`{"level":"error","logger":"db","data":{"a": 1.0}}`)
		log(`{"level":"info","data":"too little"}`)
		log(`{"level":"loud","data":1}`)
		log(`{"level":"error","data":"` + strings.Repeat("x", 2<<20) + `"}`)
		second := begin(t.Context(), c, "tools/call", call, h)
		b := p.expect("tools/call")
		log(`{"level":"error","data":"whose"}`)
		for _, each := range []rpc{a, b} {
			p.answer(each, `{}`)
		}
		check.That(t, (<-first).err == nil && (<-second).err == nil, "a call failed")
		check.Equal(t, fmt.Sprint(got), `[errordb{"a": 1.0}]`)
		check.Equal(t, c.Dropped().Notices, 5)

		// The least level of all is told, once; a server that says no, or nothing, is asked no more.
		for _, level := range []string{"error", "debug", "info"} {
			h.LogLevel = level
			got := begin(t.Context(), c, "tools/call", call, h)
			if m := p.next(); m.Method == "tools/call" {
				p.answer(m, `{}`)
			} else {
				check.That(t, level == "debug" && m.Method == "logging/setLevel", "got %s", m.line)
				p.expect("notifications/cancelled")
				p.answer(p.expect("tools/call"), `{}`)
			}
			check.OK(t, (<-got).err)
		}
	})
}

func TestChangesOfListsAreFollowed(t *testing.T) {
	for era, open := range eras {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				seen := map[string]int{}
				take := func() string {
					time.Sleep(time.Second)
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					defer clear(seen)
					return fmt.Sprint(seen)
				}
				o := options
				o.Changed = func(list string) { mu.Lock(); seen[list]++; mu.Unlock() }
				c, p := dial(t, o, open)
				defer c.Close()
				var listening rpc
				if era == "modern" {
					listening = p.expect("subscriptions/listen")
					check.That(t, strings.Contains(listening.line, `"params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion"`), "got %s", listening.line)
					p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
				}
				for range 1000 {
					p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				check.Equal(t, take(), "map[tools:1]")
				p.send(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
				p.send(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
				check.Equal(t, take(), "map[prompts:1 resources:1]")
				check.Equal(t, c.Dropped(), mcpclient.Dropped{})
				if era != "modern" {
					return
				}
				p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, listening.ID)
				again := p.expect("subscriptions/listen")
				check.Equal(t, take(), "map[tools:1]", "what changed meanwhile is not known")
				p.answer(again, `{"resultType":"complete"}`)
				again = p.expect("subscriptions/listen")
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, again.ID)
				time.Sleep(time.Hour)
				got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
				p.answer(p.expect("tools/call"), "{}")
				check.OK(t, (<-got).err)
			})
		})
	}
}
