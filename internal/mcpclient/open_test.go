package mcpclient_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

func TestTheEraIsAskedFor(t *testing.T) {
	refuse := func(p *peer, failure string) {
		p.send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, p.expect("server/discover").ID, failure)
	}
	handshake := func(p *peer) {
		p.answer(p.expect("initialize"), begun)
		p.expect("notifications/initialized")
	}
	for name, c := range map[string]struct {
		serve    func(*peer)
		revision string
		err      error
		within   time.Duration
	}{
		"modern":         {(*peer).openModern, "2026-07-28", nil, 0},
		"unknown method": {(*peer).openLegacy, "2025-06-18", nil, 0},
		"invalid params": {func(p *peer) { refuse(p, `{"code":-32602,"message":"Invalid request parameters"}`); handshake(p) }, "2025-06-18", nil, 0},
		"a code of its own, with another id first": {func(p *peer) {
			p.send(`{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":"x"}}`)
			refuse(p, `{"code":0,"message":"x"}`)
			handshake(p)
		}, "2025-06-18", nil, 0},
		"an answer to everything": {func(p *peer) { p.answer(p.expect("server/discover"), `{}`); handshake(p) }, "2025-06-18", nil, 0},
		"silence":                 {func(p *peer) { p.expect("server/discover"); handshake(p) }, "2025-06-18", nil, time.Second},
		"slow, then both asked": {func(p *peer) {
			discover, initialize := p.expect("server/discover"), p.expect("initialize")
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":""}}`, discover.ID)
			p.answer(initialize, begun)
			p.expect("notifications/initialized")
		}, "2025-06-18", nil, time.Second},
		"slow and modern": {func(p *peer) {
			discover, initialize := p.expect("server/discover"), p.expect("initialize")
			p.answer(discover, discovered)
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":""}}`, initialize.ID)
		}, "2026-07-28", nil, time.Second},
		"slow, of both eras": {func(p *peer) {
			discover, initialize := p.expect("server/discover"), p.expect("initialize")
			p.answer(discover, discovered)
			p.answer(initialize, begun)
			p.expect("notifications/initialized")
		}, "2025-06-18", nil, time.Second},
		"a later revision and an old one": {func(p *peer) {
			refuse(p, `{"code":-32022,"message":"","data":{"supported":["2027-01-01","2025-11-25"],"requested":"2026-07-28"}}`)
			handshake(p)
		}, "2025-06-18", nil, 0},
		"later revisions only": {func(p *peer) {
			refuse(p, `{"code":-32022,"message":"","data":{"supported":["2027-01-01"],"requested":"2026-07-28"}}`)
		}, "", mcpclient.ErrForeign, 0},
		"later revisions only, discovered": {func(p *peer) {
			p.answer(p.expect("server/discover"), strings.Replace(discovered, "2026-07-28", "2027-01-01", 1))
		}, "", mcpclient.ErrForeign, 0},
		"another handshake": {func(p *peer) {
			refuse(p, `{"code":-32601,"message":""}`)
			p.answer(p.expect("initialize"), `{"protocolVersion":"1999-01-01","capabilities":{}}`)
		}, "", mcpclient.ErrForeign, 0},
		"it ends at the question": {func(p *peer) { p.expect("server/discover"); p.die() }, "", mcpclient.ErrProbed, 0},
		"it ends at the handshake": {func(p *peer) {
			refuse(p, `{"code":-32601,"message":""}`)
			p.expect("initialize")
			p.die()
		}, "", mcpclient.ErrEnded, 0},
		"it never speaks": {func(p *peer) { p.expect("server/discover"); p.expect("initialize") }, "", context.DeadlineExceeded, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				p := newPeer(t)
				served := make(chan struct{})
				go func() { c.serve(p); close(served) }()
				began := time.Now()
				client, err := mcpclient.Connect(ctx, p.client, options)
				check.That(t, time.Since(began) <= c.within, "it took %v", time.Since(began))
				<-served
				if c.err != nil {
					check.Is(t, err, c.err)
					<-p.client.shut
					return
				}
				check.OK(t, err)
				i := client.Identity()
				check.That(t, i.Name == "scripted" && i.Title == "Scripted" && i.Version == "7" && i.Instructions == "be kind" && i.Revision == c.revision &&
					i.Modern == (c.revision == "2026-07-28") && client.Offers("tools") && !client.Offers("prompts"), "it says it is %+v", i)
				check.OK(t, client.Close())
			})
		})
	}
}

func TestTheHandshakeIsPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options
		o.Initialize = true
		c, _ := dial(t, o, func(p *peer) {
			m := p.expect("initialize")
			check.Equal(t, m.line, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},`+
				`"clientInfo":{"name":"orchestra-mcp","version":"1"}}}`)
			p.answer(m, begun)
			check.Equal(t, p.next().line, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		})
		check.OK(t, c.Close())
	})
}
