package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

const form = `{"message":"Which?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`

// asking are handlers whose questions wait for the test to answer.
type asking struct {
	questions chan string // key and params
	answers   chan string // "" for an error
	ended     chan error
}

var errRefused = errors.New("the agent shows no forms")

func newAsking() *asking {
	return &asking{questions: make(chan string), answers: make(chan string), ended: make(chan error, 100)}
}

func (a *asking) handlers() mcpclient.Handlers {
	return mcpclient.Handlers{Ask: func(ctx context.Context, key string, params json.RawMessage) (json.RawMessage, error) {
		select {
		case a.questions <- key + " " + string(params):
		case <-ctx.Done():
		}
		select {
		case answer := <-a.answers:
			if answer == "" {
				return nil, errRefused
			}
			return json.RawMessage(answer), nil
		case <-ctx.Done():
			a.ended <- ctx.Err()
			return nil, ctx.Err()
		}
	}}
}

func inLegacy(t *testing.T, test func(t *testing.T, c *mcpclient.Client, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		c, p := dial(t, options, (*peer).openLegacy)
		defer c.Close()
		test(t, c, p)
	})
}

func TestAQuestionReachesTheOneCallThatItCanBelongTo(t *testing.T) {
	inLegacy(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		a := newAsking()
		p.send(`{"jsonrpc":"2.0","id":"before","method":"elicitation/create","params":%s}`, form)
		check.Equal(t, p.next().line, `{"jsonrpc":"2.0","id":"before","result":{"action":"cancel"}}`)

		// A call whose client shows no forms may be another person's.
		silent := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		s := p.expect("tools/call")
		first := begin(t.Context(), c, "tools/call", call, a.handlers())
		m := p.expect("tools/call")
		p.send(`{"jsonrpc":"2.0","id":"whose","method":"elicitation/create","params":%s}`, form)
		check.Equal(t, p.next().line, `{"jsonrpc":"2.0","id":"whose","result":{"action":"cancel"}}`, "beside a silent call")
		p.answer(s, `{}`)
		check.OK(t, (<-silent).err)
		for i, id := range []string{`0`, `"q"`} {
			p.send(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`, id, form)
			check.Equal(t, <-a.questions, fmt.Sprintf("elicitation-%d %s", i+1, form))
			a.answers <- "{\"action\":\"accept\",\n\"content\":{\"a\":\"b\"}}"
			check.Equal(t, p.next().line, `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{"a":"b"}}}`)
		}
		second := begin(t.Context(), c, "tools/call", call, a.handlers())
		n := p.expect("tools/call")
		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, form)
		check.Equal(t, p.next().line, `{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}`, "with two calls")
		for _, each := range []rpc{m, n} {
			p.answer(each, `{}`)
		}
		check.OK(t, errors.Join((<-first).err, (<-second).err))
		check.Equal(t, c.Dropped(), mcpclient.Dropped{Requests: 3})
	})
}

func TestAQuestionEndsWithItsCall(t *testing.T) {
	inLegacy(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		a := newAsking()
		got := begin(t.Context(), c, "tools/call", call, a.handlers())
		m := p.expect("tools/call")
		ask := func(id string) {
			p.send(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":%s}`, id, form)
			<-a.questions
		}
		cancelled := func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"cancel"}}`
		}
		ask("1")
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		check.Equal(t, p.next().line, cancelled("1"))
		ask("2")
		p.answer(m, `{"without":"waiting"}`)
		check.Equal(t, <-got, reply{result: `{"without":"waiting"}`})
		check.Equal(t, p.next().line, cancelled("2"))
		check.Equal(t, len(a.ended), 2)

		got = begin(t.Context(), c, "tools/call", call, a.handlers())
		m = p.expect("tools/call")
		ask("3")
		a.answers <- ""
		check.Is(t, (<-got).err, errRefused)
		check.Equal(t, string(p.expect("notifications/cancelled").Params), `{"requestId":`+string(m.ID)+"}", "the call is given up before the server has an answer to go on with")
		check.Equal(t, p.next().line, cancelled("3"))
	})
}

func TestOtherRequestsOfAServerAreRefused(t *testing.T) {
	inLegacy(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		a := newAsking()
		got := begin(t.Context(), c, "tools/call", call, a.handlers())
		m := p.expect("tools/call")
		for request, want := range map[string]string{
			`"method":"ping"`: `"result":{}`,
			`"method":"sampling/createMessage","params":{}`:               `"code":-32601`,
			`"method":"roots/list"`:                                       `"code":-32601`,
			`"method":"tools/call","params":{"name":"x"}`:                 `"code":-32601`,
			`"method":"elicitation/create"`:                               `"code":-32602`,
			`"method":"elicitation/create","params":[]`:                   `"code":-32602`,
			`"method":"elicitation/create","params":{"mode":"url"}`:       `"code":-32602`,
			`"method":"elicitation/create","params":{"mode":"f\u006frm"}`: `"code":-32602`,
		} {
			p.send(`{"jsonrpc":"2.0","id":"x",%s}`, request)
			reply := p.next()
			check.That(t, strings.Contains(reply.line, want) && string(reply.ID) == `"x"`, "%s: got %s", request, reply.line)
		}
		p.send(`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`) // no id
		p.send(`{"jsonrpc":"2.0","id":"%s","method":"ping"}`, strings.Repeat("x", 2000))

		for i := range 9 {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, i, form)
			if i < 8 {
				<-a.questions
			}
		}
		check.That(t, strings.Contains(p.next().line, "too many"), "the ninth question is put")
		p.send(`{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":%s}`, form)
		check.That(t, strings.Contains(p.next().line, "too many"), "an id is used twice")
		p.answer(m, `{}`)
		check.OK(t, (<-got).err)
		for range 8 {
			p.next()
		}
	})
}

func inModern(t *testing.T, test func(t *testing.T, c *mcpclient.Client, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		c, p := dial(t, options, (*peer).openModern)
		defer c.Close()
		test(t, c, p)
	})
}

func TestInputIsAskedForAndSentAlong(t *testing.T) {
	inModern(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		a := newAsking()
		got := begin(t.Context(), c, "tools/call", call, a.handlers())
		first := p.expect("tools/call")
		p.answer(first, `{"resultType":"input_required","inputRequests":{"b":{"method":"elicitation/create","params":`+form+`},"a\u0022":{"method":"elicitation/create","params":{"mode":"form"}}},"requestState":"s\u00e9"}`)
		check.Equal(t, <-a.questions, `a" {"mode":"form"}`)
		a.answers <- `{"action":"decline"}`
		check.Equal(t, <-a.questions, "b "+form)
		a.answers <- `{"action":"accept","content":{"a":"b"}}`
		second := p.expect("tools/call")
		check.That(t, string(second.ID) != string(first.ID) && strings.Contains(second.line, `"arguments":{"text":"a"},"inputResponses":{"a\"":{"action":"decline"},"b":{"action":"accept","content":{"a":"b"}}},"requestState":"s\u00e9","_meta"`), "got %s", second.line)
		p.answer(second, `{"resultType":"input_required","requestState":"alone"}`)
		third := p.expect("tools/call")
		check.That(t, !strings.Contains(third.line, "inputResponses") && strings.Contains(third.line, `"requestState":"alone"`), "got %s", third.line)
		p.answer(third, `{"resultType":"input_required","inputRequests":{}}`)
		fourth := p.expect("tools/call")
		check.That(t, strings.Contains(fourth.line, `"inputResponses":{},"_meta"`), "got %s", fourth.line)
		p.answer(fourth, `{"resultType":"complete"}`)
		check.Equal(t, <-got, reply{result: `{"resultType":"complete"}`})

		got = begin(t.Context(), c, "tools/call", call, a.handlers())
		p.answer(p.expect("tools/call"), `{"resultType":"input_required","inputRequests":{"x":{"method":"elicitation/create","params":{}}}}`)
		<-a.questions
		a.answers <- ""
		check.Is(t, (<-got).err, errRefused)
	})
}

func TestInputThatNobodyGives(t *testing.T) {
	inModern(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		many := strings.Repeat(`"a%d":{"method":"elicitation/create","params":{}},`, 9)
		for _, each := range []struct {
			method, result string
			h              mcpclient.Handlers
			want           error
		}{
			{"tools/call", `{"x":{"method":"elicitation/create","params":{}}}`, mcpclient.Handlers{}, mcpclient.ErrQuestion},
			{"tools/call", `{"x":{"method":"sampling/createMessage","params":{}}}`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `{"x":{"method":"roots/list"}}`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `{"x":{"method":"elicitation/create","params":{"mode":"url"}}}`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `{"x":{"method":"elicitation/create"}}`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `{"x":7}`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `[]`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `{` + strings.TrimSuffix(fmt.Sprintf(many, 1, 2, 3, 4, 5, 6, 7, 8, 9), ",") + `}`, newAsking().handlers(), mcpclient.ErrQuestion},
			{"tools/call", `null`, newAsking().handlers(), mcpclient.ErrAnswer},
			{"tools/call", `{},"requestState":7`, newAsking().handlers(), mcpclient.ErrAnswer},
			{"tools/list", `{"x":{"method":"elicitation/create","params":{}}}`, newAsking().handlers(), mcpclient.ErrAnswer},
		} {
			got := begin(t.Context(), c, each.method, "", each.h)
			p.answer(p.expect(each.method), `{"resultType":"input_required","inputRequests":`+each.result+`}`)
			check.Is(t, (<-got).err, each.want, "%s", each.result)
		}
		got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		for range 16 {
			p.answer(p.expect("tools/call"), `{"resultType":"input_required","requestState":"again"}`)
		}
		check.Is(t, (<-got).err, mcpclient.ErrQuestion, "without end")

		p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%s}`, form)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		synctest.Wait()
		check.Equal(t, c.Dropped().Requests, 2)
	})
}
