package mcpbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxRaw bounds a result that another server has made, in bytes: it has to fit in one message to the client.
const maxRaw = defaultMaxMessage

// resultNames are the members of results that clients of 2026-07-28 act on. A reader that is laxer than ours must not find
// another value in them.
func resultNames() []string {
	return []string{"_meta", "resultType", "inputRequests", "requestState", "ttlMs", "cacheScope", "content", "structuredContent", "isError"}
}

// added is what goes into another server's result.
type added struct {
	meta      map[string]any // behind what its _meta has
	text      string         // as one more block of its content
	cacheable bool
}

// rawResult makes the response of a result that another server has made. Its members stay as they are, those that we do not
// know and those of another era among them. Only what a client would be misled by is not sent: a result that asks, which
// would have its user answer questions that nobody has put; and, in revisions that have none, structured content that is no
// object, over which clients throw the whole result away.
func (s *Server) rawResult(id, raw json.RawMessage, with added, caller Caller) ([]byte, error) {
	raw, result, err := readResult(raw)
	if err != nil {
		return nil, fmt.Errorf("the other server's result cannot be passed on: %w", err)
	}
	structured := result.get("structuredContent")
	unfit := !caller.Modern && structured != nil && structured[0] != '{'
	if !caller.Modern && !unfit && len(with.meta) == 0 && with.text == "" {
		return encodeResult(id, raw), nil
	}
	if unfit {
		result = result.without("structuredContent")
	}
	if caller.Modern {
		result = result.otherwise("resultType", encode(mcp.ResultTypeComplete))
		if with.cacheable {
			result = result.otherwise("ttlMs", json.RawMessage("0")).otherwise("cacheScope", encode(mcp.CacheScopePrivate))
		}
	}
	if result, err = s.withMeta(result, with.meta, caller); err == nil {
		result, err = withText(result, with.text)
	}
	if err != nil {
		return nil, fmt.Errorf("the other server's result cannot be passed on: %w", err)
	}
	b := append(beginResult(id, len(raw)+len(with.text)+512), '{')
	for i, each := range result {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(each.name)...), ':'), each.value...)
	}
	return endResult(append(b, '}')), nil
}

// readResult reads a result and has it in one line.
func readResult(raw json.RawMessage) (json.RawMessage, members, error) {
	if len(raw) > maxRaw {
		return nil, nil, fmt.Errorf("it is longer than %d bytes", maxRaw)
	}
	raw, err := inOneLine(raw)
	if err != nil {
		return nil, nil, err
	}
	result, err := readMembers(raw)
	if err == nil {
		err = result.checkNames(resultNames())
	}
	if kind, _ := result.text("resultType"); err == nil && result.get("resultType") != nil && kind != string(mcp.ResultTypeComplete) {
		err = fmt.Errorf("its type is %.40q", kind)
	}
	return raw, result, err
}

// inOneLine takes line breaks out, which would end a message, and refuses what is nested too deep for readers that recurse.
func inOneLine(raw json.RawMessage) (json.RawMessage, error) {
	if nesting(raw) > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	raw = bytes.TrimSpace(raw)
	if !bytes.ContainsAny(raw, "\r\n") { // which no JSON string has in it
		return raw, nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.Bytes(), err
}

// withMeta adds to _meta what is ours: the server that a client of 2026-07-28 speaks to is this one.
func (s *Server) withMeta(result members, more map[string]any, caller Caller) (members, error) {
	if !caller.Modern && len(more) == 0 {
		return result, nil
	}
	var meta members
	if there := result.get("_meta"); there != nil {
		var err error
		if meta, err = readMembers(there); err != nil {
			return nil, fmt.Errorf("its _meta: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		encoded, err := json.Marshal(more[name])
		if err != nil {
			return nil, err
		}
		meta = meta.with(name, encoded)
	}
	if caller.Modern {
		meta = meta.with(mcp.MetaKeyServerInfo, encode(s.identity))
	}
	return result.with("_meta", meta.object()), nil
}

// withText adds a block to a result's content.
func withText(result members, text string) (members, error) {
	if text == "" {
		return result, nil
	}
	block, _ := jsontext.AppendQuote([]byte(`{"type":"text","text":`), text) // the error is that of bytes which are not UTF-8
	block = append(block, '}')
	content := bytes.TrimSpace(result.get("content"))
	if content == nil {
		content = []byte("[]")
	}
	if content[0] != '[' {
		return nil, errors.New("its content is no array")
	}
	content = bytes.TrimRight(content[:len(content)-1], " \t")
	joined := bytes.Clone(content)
	if len(content) > 1 {
		joined = append(joined, ',')
	}
	return result.with("content", append(append(joined, block...), ']')), nil
}

// with has a member of that value, in the place of one of that name.
func (m members) with(name string, value json.RawMessage) members {
	return append(m.without(name), member{name, value})
}

// otherwise has a member of that value where there is none of that name.
func (m members) otherwise(name string, value json.RawMessage) members {
	if m.get(name) != nil {
		return m
	}
	return m.with(name, value)
}

// without has all but the members of a name.
func (m members) without(name string) members {
	kept := make(members, 0, len(m)+1)
	for _, each := range m {
		if each.name != name {
			kept = append(kept, each)
		}
	}
	return kept
}
