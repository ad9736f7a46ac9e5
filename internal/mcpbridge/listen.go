package mcpbridge

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxListens bounds the subscriptions of one connection (stdio, SSE), principalListens those of one principal over
// Streamable HTTP.
const (
	maxListens       = 16
	principalListens = 64
)

const listenMethod = "subscriptions/listen"

// readFilter takes out of the params of subscriptions/listen which lists are to be followed. What resources say of
// themselves is not passed on; the acknowledgement leaves it out, as the protocol has it.
func readFilter(params members) (follows []string, failure *rpcError) {
	filter, err := readMembers(params.get("notifications"))
	if err == nil {
		err = filter.checkNames([]string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"})
	}
	if err != nil {
		return nil, errorf(codeInvalidParams, `"notifications" must be an object: %v`, err)
	}
	for _, list := range changingLists {
		switch value := filter.get(list + "ListChanged"); {
		case value == nil, string(value) == "false":
		case string(value) == "true":
			follows = append(follows, list)
		default:
			return nil, errorf(codeInvalidParams, `"%sListChanged" must be true or false`, list)
		}
	}
	var uris []string
	if value := filter.get("resourceSubscriptions"); value != nil && json.Unmarshal(value, &uris) != nil {
		return nil, errorf(codeInvalidParams, `"resourceSubscriptions" must be an array of URIs`)
	}
	return follows, nil
}

// subscribed is the _meta of all that belongs to a subscription: the id of the request that opened it.
func (f *flight) subscribed() map[string]json.RawMessage {
	return map[string]json.RawMessage{mcp.MetaKeySubscriptionID: f.id}
}

// listen serves a subscription until its client ends it, or the server its connections. Its result says that it was the server.
func (f *flight) listen() []byte {
	lists := f.server.news.follow(f.follows)
	defer f.server.news.leave(lists)
	agreed := map[string]bool{}
	for _, list := range f.follows {
		agreed[list+"ListChanged"] = true
	}
	f.notify("notifications/subscriptions/acknowledged", map[string]any{"_meta": f.subscribed(), "notifications": agreed})
	for {
		select {
		case <-lists.woken():
			for _, list := range lists.take() {
				f.notify(changedMethod(list), map[string]any{"_meta": f.subscribed()})
			}
			continue
		case <-f.ctx.Done():
		case <-f.ending:
		}
		meta := f.subscribed()
		meta[mcp.MetaKeyServerInfo] = encode(f.server.identity)
		return encodeResult(f.id, encode(map[string]any{"resultType": mcp.ResultTypeComplete, "_meta": meta}))
	}
}
