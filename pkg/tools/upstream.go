package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// Upstream has other servers carry out calls.
type Upstream interface {
	// Call has the server of a tool carry out one call of it, under the server's own name for it, within the time that the server's
	// definition gives. It returns the whole result as it was sent, a JSON object of one line. The context is the call's: with
	// it the client is found that is asked what the server wants to ask. progress may be nil.
	//
	// ErrNotSent says that the server was never asked, ErrUnanswered that the client's user has to be asked first. After any
	// other error nobody knows what the server did.
	Call(ctx context.Context, t catalogue.Tool, arguments json.RawMessage, progress func(message string, done, total float64)) (json.RawMessage, error)
}

// The errors that an Upstream's are told apart by.
var (
	ErrNotSent    = errors.New("the server was not asked")
	ErrUnanswered = errors.New("the client's user has to be asked first")
)

// Offer is what other servers offer now. It is asked for each call, by several at a time.
type Offer interface {
	// Tool finds a tool that is trusted, by the name under which it is offered.
	Tool(name string) (catalogue.Tool, bool)
	// Withheld says why a tool is not offered that is known by its name, in a sentence for the agent; "" for one that nobody knows.
	Withheld(name string) string
	// Tools are all of them.
	Tools(ctx context.Context) []catalogue.Tool
}

// UpstreamOptions are what Upstreams are made of.
type UpstreamOptions struct {
	// Commands has the workspace and what finds the changes of servers that may write it.
	Commands    *Commands
	Definitions []upstream.Definition
	Offer       Offer
	Server      Upstream
	// Secrets finds what looks like a secret in arguments that go out, and shows none of it; several calls use it at a time.
	// Nil looks at nothing.
	Secrets func(arguments json.RawMessage) []catalogue.Finding
	// Level says what holds the program of a server; nil: nothing does.
	Level func(server string) sandbox.Level
}

// Upstreams governs the tools of other servers: Tool is for hooks.Options.Beside. It is safe for concurrent use.
type Upstreams struct {
	UpstreamOptions
	servers map[string]*upstreamServer
	tools   sync.Map // *upstreamTool by name
}

// upstreamServer is one of the other servers.
type upstreamServer struct {
	upstream.Definition
	mapping *mapping.Mapping
	// turn is taken by each call of a server that may write the workspace: what it changes is told by when it changes.
	turn chan struct{}
}

// NewUpstreams compiles what the definitions say of arguments.
func NewUpstreams(o UpstreamOptions) (*Upstreams, error) {
	u := &Upstreams{UpstreamOptions: o, servers: map[string]*upstreamServer{}}
	for _, d := range o.Definitions {
		ready, known := mapping.Ready(d.Mapping)
		if d.Mapping != "" && !known {
			return nil, fmt.Errorf("servers: %s: there is no mapping %q", d.Name, d.Mapping)
		}
		compiled, err := mapping.Compile(append(ready[:len(ready):len(ready)], d.Effects...)...)
		if err != nil {
			return nil, fmt.Errorf("servers: %s: %w", d.Name, err)
		}
		u.servers[d.Name] = &upstreamServer{d, compiled, make(chan struct{}, 1)}
	}
	return u, nil
}

// Tool finds the tool that is offered under a name.
func (u *Upstreams) Tool(name string) (hooks.Tool, bool) {
	t, ok := u.Offer.Tool(name)
	if !ok {
		return nil, false
	}
	made := u.made(t)
	return made, made != nil
}

// Missing is the refusal of a call of a tool that is known and not offered; nil for any other name.
func (u *Upstreams) Missing(name string) *refusal.Refusal {
	why := u.Offer.Withheld(name)
	if why == "" {
		return nil
	}
	return refusal.New(refusal.UpstreamUnavailable, why).
		Suggest("Nothing was done. Tell the user what the message says, with the command in it, or go on without this tool.")
}

// made is a tool as it is offered now: made anew where it was trusted, or classed, otherwise before. It is nil for one of a server
// that nobody has defined.
func (u *Upstreams) made(t catalogue.Tool) *upstreamTool {
	if known, ok := u.tools.Load(t.Name); ok {
		if known := known.(*upstreamTool); known.tool.Hash == t.Hash && known.tool.Safe == t.Safe && known.tool.Server == t.Server && known.tool.Own == t.Own {
			return known
		}
	}
	server, ok := u.servers[t.Server]
	if !ok {
		return nil
	}
	made := newUpstreamTool(u, server, t)
	u.tools.Store(t.Name, made)
	return made
}

// Listed are the definitions of tools as tools/list has them, without those that are found by search_tools.
func (u *Upstreams) Listed(offered []catalogue.Tool) []json.RawMessage {
	var listed []json.RawMessage
	for _, t := range offered {
		if made := u.made(t); made != nil && !made.server.Searched {
			listed = append(listed, made.listed())
		}
	}
	return listed
}

// Faces are the tools by which agents find and call those that are not listed; none where all are.
func (u *Upstreams) Faces() []hooks.Tool {
	for _, server := range u.servers {
		if server.Searched {
			return []hooks.Tool{searchTools(u), callTool(u)}
		}
	}
	return nil
}

// take takes the server's turn, and gives what ends it, which has no effect the second time.
func (s *upstreamServer) take(ctx context.Context) (end func(), err error) {
	if !s.Writes {
		return func() {}, nil
	}
	select {
	case s.turn <- struct{}{}:
		return sync.OnceFunc(func() { <-s.turn }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
