package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

// inBubble runs a test on a clock of its own, for each era.
func inBubble(t *testing.T, test func(t *testing.T, c *mcpclient.Client, p *peer)) {
	for era, open := range eras {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := dial(t, options, open)
				defer c.Close()
				test(t, c, p)
			})
		})
	}
}

func TestResultsAndErrorsPassAsTheyCame(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		const result = `{ "content":[{"type":"text","text":"é\u00e9 \/"}],"n":1.00e2,"big":12345678901234567890, "resultType":"complete","_meta":{"a":null}}`
		got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		p.send(" \t")
		p.answer(p.expect("tools/call"), result)
		check.Equal(t, <-got, reply{result: result})

		got = begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		m := p.expect("tools/call")
		p.send(`{"error":{"data":{"x":1.0},"message":"no\u001b[2J","code":-32602},"id":%s,"jsonrpc":"2.0"}`, m.ID)
		var failure *mcpclient.Error
		err := (<-got).err
		check.Must(t, errors.As(err, &failure), "got %v", err)
		check.That(t, failure.Code == -32602 && string(failure.Data) == `{"x":1.0}` && failure.Message == "no\x1b[2J" && !strings.Contains(err.Error(), "\x1b"), "got %#v: %q", failure, err)
	})
}

func TestWhatARequestLooksLike(t *testing.T) {
	h := mcpclient.Handlers{
		Meta: json.RawMessage(`{"traceparent":"00-1-2-01"}`), Progress: func(string, float64, float64) {}, Log: func(string, string, json.RawMessage) {},
		Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}
	const info = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"orchestra-mcp","version":"1"},"io.modelcontextprotocol/clientCapabilities":`
	want := map[string][2]string{
		"initialize": {`"params":{}}`, `"params":{"name":"echo","arguments":{"text":"a"},"_meta":{"progressToken":ID,"traceparent":"00-1-2-01"}}}`},
		"modern": {`"params":{"_meta":{` + info + `{}}}}`, `"params":{"name":"echo","arguments":{"text":"a"},"_meta":{` + info +
			`{"elicitation":{"form":{}}},"progressToken":ID,"io.modelcontextprotocol/logLevel":"info","traceparent":"00-1-2-01"}}}`},
	}
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		era := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		for i, params := range []string{"", call} {
			given := h
			if i == 0 {
				given = mcpclient.Handlers{}
			}
			got := begin(t.Context(), c, "m/x", params, given)
			if i == 1 {
				p.levelled(c, "info")
			}
			m := p.next()
			check.Equal(t, m.line, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"method":"m/x",`+strings.ReplaceAll(want[era][i], "ID", string(m.ID)))
			p.answer(m, `{}`)
			check.Equal(t, <-got, reply{result: "{}"})
		}
	})
}

// TestNothingIsSmuggledBesideARequest: arguments of an agent, sent over HTTP, may have line breaks.
func TestNothingIsSmuggledBesideARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		got := begin(t.Context(), c, "tools/call", "{\"arguments\":[\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n,\"\\n\"]}\n", mcpclient.Handlers{})
		m := p.expect("tools/call")
		check.That(t, strings.Contains(m.line, `"arguments":[{"jsonrpc":"2.0","id":1,"method":"tools/call"},"\n"]`), "got %s", m.line)
		p.answer(m, `{}`)
		check.OK(t, (<-got).err)
		for _, params := range []string{`[]`, `{"a":1},"id":7`, `{"a":1`, `"x"`, `{"_meta":{}}`, `{"_m\u0065ta":{}}`, `{"requestState":"x"}`, `{"inputResponses":{}}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}"} {
			check.Fails(c.Request(t.Context(), "tools/call", json.RawMessage(params), mcpclient.Handlers{}))(t, mcpclient.ErrParams, "%q", params)
		}
		for _, meta := range []string{`{"progressToken":1}`, `{"io.modelcontextprotocol/logLevel":"debug"}`, `1`} {
			check.Fails(c.Request(t.Context(), "tools/call", nil, mcpclient.Handlers{Meta: json.RawMessage(meta)}))(t, mcpclient.ErrParams, "%q", meta)
		}
	})
}

func TestOnlyTheAnswerToARequestIsTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		first := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		a := p.expect("tools/call")
		ctx, cancel := context.WithCancelCause(t.Context())
		second := begin(ctx, c, "tools/call", call, mcpclient.Handlers{})
		b := p.expect("tools/call")
		why := errors.New("the agent is gone")
		cancel(why)
		check.Is(t, (<-second).err, why)
		check.Equal(t, string(p.expect("notifications/cancelled").Params), fmt.Sprintf(`{"requestId":%s}`, b.ID))

		p.answer(b, `{"late":true}`)
		for _, id := range []string{`1`, `"` + string(a.ID) + `"`, string(a.ID) + ".0", `null`, `99999999999999999999`} {
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"other":true}}`, id)
		}
		p.send(`{"jsonrpc":"2.0","result":{"none":true}}`)
		p.answer(a, `{"mine":true}`)
		check.Equal(t, <-first, reply{result: `{"mine":true}`})
		p.answer(a, `{"twice":true}`)
		synctest.Wait()
		check.Equal(t, c.Dropped(), mcpclient.Dropped{Answers: 8})
	})
}

func TestAnswersThatAreNotValidEndTheRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		for _, answer := range []string{
			`"result":[]`, `"result":null`, `"result":"x"`, `"result":{},"error":{"code":1,"message":""}`, `"result":{"resultType":"task"}`, `"result":{"resultType":7}`,
			`"result":{"a":1,"a":2}`, `"result":{"a":{"b":1,"\u0062":2}}`, "\"result\":{\"a\":\"\xff\"}", `"result":{"a":"\ud800"}`,
			`"result":{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		} {
			got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
			p.send(`{"jsonrpc":"2.0","id":%s,%s}`, p.expect("tools/call").ID, answer)
			check.Is(t, (<-got).err, mcpclient.ErrAnswer, "%.40s", answer)
		}
		got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		p.send(`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":%s,"result":{"in":"a batch"}}]`, p.expect("tools/call").ID)
		check.Equal(t, <-got, reply{result: `{"in":"a batch"}`})
	})
}

func TestTheEndOfAServerEndsWhatIsInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		first, second := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{}), begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		p.expect("tools/call")
		p.expect("tools/call")
		p.die()
		check.Is(t, (<-first).err, mcpclient.ErrEnded)
		check.Is(t, (<-second).err, mcpclient.ErrEnded)
		<-c.Done()
		<-p.client.shut
		check.Is(t, c.Err(), mcpclient.ErrEnded)
		check.Fails(c.Request(t.Context(), "tools/call", nil, mcpclient.Handlers{}))(t, mcpclient.ErrEnded)
	})
}

func TestCloseEndsWhatIsInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		p.expect("tools/call")
		check.OK(t, c.Close())
		check.Is(t, (<-got).err, mcpclient.ErrClosed)
		check.Is(t, c.Err(), mcpclient.ErrClosed)
	})
}

// TestALineWithoutEndIsNotHeld: the server sends for ever.
func TestALineWithoutEndIsNotHeld(t *testing.T) {
	for era, open := range eras {
		synctest.Test(t, func(t *testing.T) {
			o := options
			o.MaxMessage = 1 << 20
			c, p := dial(t, o, open)
			got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"fits":"%s"}}`, p.expect("tools/call").ID, strings.Repeat("x", 1<<20-100))
			check.OK(t, (<-got).err)
			got = begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
			p.expect("tools/call")
			sent, err := io.Copy(p.out, endless{})
			check.That(t, sent <= 1<<20+128<<10 && errors.Is(err, io.ErrClosedPipe), "%s: %d bytes were taken, then %v", era, sent, err)
			check.Is(t, (<-got).err, mcpclient.ErrTooLarge)
			check.Is(t, c.Err(), mcpclient.ErrTooLarge)
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestAServerThatDoesNotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		first := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		m := p.expect("tools/call")
		ctx, cancel := context.WithCancel(t.Context())
		stuck, queued := begin(ctx, c, "tools/call", call, mcpclient.Handlers{}), begin(ctx, c, "tools/call", call, mcpclient.Handlers{})
		synctest.Wait()
		for i := range 1000 { // answers to them find no reader either
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		}
		p.answer(m, `{}`)
		check.Equal(t, <-first, reply{result: "{}"})
		cancel()
		check.Is(t, (<-stuck).err, context.Canceled)
		check.Is(t, (<-queued).err, context.Canceled)
		began := time.Now()
		check.Is(t, (<-begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})).err, mcpclient.ErrStalled)
		check.That(t, time.Since(began) <= 30*time.Second, "it took %v", time.Since(began))
	})
}

func TestBannersPassAndOtherProgramsDoNot(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		p.send("Server listening\n\n{}\n{\"jsonrpc\":\"2.0\"}\nnull\n42\n[1,{}]")
		got := begin(t.Context(), c, "tools/call", call, mcpclient.Handlers{})
		p.answer(p.expect("tools/call"), `{}`)
		check.OK(t, (<-got).err)
		check.That(t, c.Dropped().Garbage > 4, "got %+v", c.Dropped())
		for range 1000 {
			p.send("y")
		}
		<-c.Done()
		check.Is(t, c.Err(), mcpclient.ErrForeign)
	})
}

func TestLists(t *testing.T) {
	inBubble(t, func(t *testing.T, c *mcpclient.Client, p *peer) {
		list := func() <-chan string {
			done := make(chan string, 1)
			go func() {
				entries, err := c.List(context.Background(), "tools/list", "tools")
				for i := range entries {
					done <- string(entries[i])
				}
				done <- fmt.Sprint(err)
			}()
			return done
		}
		got := list()
		p.answer(p.expect("tools/list"), `{"tools":[ {"name": "a"}, 7 ,null,[]],"nextCursor":"\u0070"}`)
		second := p.expect("tools/list")
		check.That(t, strings.Contains(second.line, `"params":{"cursor":"\u0070"`), "got %s", second.line)
		p.answer(second, `{"tools":[{"x-mcp-header":1}],"nextCursor":null}`)
		check.Equal(t, <-got+<-got+<-got, `{"name": "a"}{"x-mcp-header":1}<nil>`)

		got = list()
		p.answer(p.expect("tools/list"), `{"tools":[],"nextCursor":"a"}`)
		p.answer(p.expect("tools/list"), `{"tools":[],"nextCursor":"b"}`)
		p.answer(p.expect("tools/list"), `{"tools":[],"nextCursor":"a"}`)
		text := <-got
		check.That(t, strings.Contains(text, mcpclient.ErrList.Error()), "got %s", text)

		for _, page := range []string{`{}`, `{"tools":{}}`, `{"tools":[` + strings.Repeat("{},", 10000) + `{}]}`, `{"tools":[],"nextCursor":7}`} {
			got = list()
			p.answer(p.expect("tools/list"), page)
			text := <-got
			check.That(t, text != "<nil>", "%.30s: got %s", page, text)
		}
	})
}
