package mcpbridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// besideTTL is how long clients of 2026-07-28 may keep lists that change, in milliseconds. Who listens hears of a change
	// at once; for the others it bounds how long they show a tool that is no longer there.
	besideTTL = 5_000
	// maxBeside and besideBytes bound what is listed of other servers, in each list.
	maxBeside   = 4096
	besideBytes = 8 << 20
	// maxTold bounds what is remembered of definitions that were left out, so that the log names each once.
	maxTold = 1024
)

// besideList is one of the lists to which Beside adds.
type besideList struct {
	member, key string // of the result, and what identifies its entries
	of          func(b Beside, ctx context.Context) ([]json.RawMessage, error)
	ours        func(s *Server, key string) bool
}

// besideLists has them by the method. A client that has read one entry under a key takes a later one for the same.
func besideLists(method string) (list besideList, ok bool) {
	switch method {
	case "tools/list":
		return besideList{"tools", "name", Beside.Tools, func(s *Server, key string) bool { _, ours := s.tools[key]; return ours }}, true
	case "prompts/list":
		return besideList{"prompts", "name", Beside.Prompts, func(s *Server, key string) bool { return s.prompt(key) != nil }}, true
	case "resources/list":
		return besideList{"resources", "uri", Beside.Resources, func(s *Server, key string) bool { r, _ := s.resource(key); return r != nil }}, true
	case "resources/templates/list":
		return besideList{"resourceTemplates", "uriTemplate", Beside.ResourceTemplates, (*Server).hasTemplate}, true
	}
	return list, false
}

func (s *Server) hasTemplate(uri string) bool {
	for _, template := range s.config.ResourceTemplates {
		if template.URI == uri {
			return true
		}
	}
	return false
}

// withBeside adds to the result of a list what Beside has. Any other result stays as it is.
func (s *Server) withBeside(ctx context.Context, r *request, result json.RawMessage) (_ json.RawMessage, failure *rpcError) {
	list, ok := besideLists(r.method)
	if !ok || s.config.Beside == nil {
		return result, nil
	}
	defer s.survive(r.method, &failure)
	ours, err := readMembers(result)
	if err != nil {
		return nil, errorf(codeInternal, "internal error: %v", err)
	}
	definitions, err := list.of(s.config.Beside, ctx)
	if err != nil {
		s.log.Warn().Str("list", list.member).Err(err).Msg("not all of what other servers have is listed")
	}
	array := []byte(cmp.Or(string(ours.get(list.member)), "[]"))
	array = append(array[:len(array)-1], s.fitting(list, definitions, r.caller, len(array) > 2)...)
	return ours.with(list.member, append(array, ']')).object(), nil
}

// fitting writes those definitions that can be listed; behind is whether others stand before them.
func (s *Server) fitting(list besideList, definitions []json.RawMessage, caller Caller, behind bool) (out []byte) {
	seen := make(map[string]bool, len(definitions))
	for i, definition := range definitions {
		if len(seen) == maxBeside || len(out)+len(definition) > besideBytes {
			s.leftOut(list, "", fmt.Errorf("there are more than %d, or %d bytes of them; %d are left out", maxBeside, besideBytes, len(definitions)-i))
			break
		}
		name, listed, err := list.read(definition, caller)
		switch {
		case err != nil:
		case list.ours(s, name):
			err = errors.New("the server has one of its own by that name")
		case seen[name]:
			err = errors.New("another one has that name")
		}
		if err != nil {
			s.leftOut(list, name, err)
			continue
		}
		seen[name] = true
		if behind {
			out = append(out, ',')
		}
		out, behind = append(out, listed...), true
	}
	return out
}

// leftOut says once what is not listed.
func (s *Server) leftOut(list besideList, name string, why error) {
	key := list.member + "\n" + shorten(name) + "\n" + why.Error()
	s.toldMu.Lock()
	known := s.told[key] || len(s.told) >= maxTold
	if !known {
		s.told[key] = true
	}
	s.toldMu.Unlock()
	if !known {
		s.log.Warn().Str("list", list.member).Str("name", shorten(name)).Err(why).Msg("a definition of another server is left out")
	}
}

// read checks a definition, and gives what identifies it and how it is listed for a caller: as it is, but for what would have
// the client drop the whole list, or take an app of another server for one of ours.
func (l besideList) read(definition json.RawMessage, caller Caller) (name string, listed json.RawMessage, err error) {
	if listed, err = inOneLine(definition); err != nil {
		return "", nil, err
	}
	d, err := readMembers(listed)
	if err == nil {
		err = d.checkNames([]string{l.key, "inputSchema", "outputSchema", "_meta"})
	}
	if err != nil {
		return "", nil, err
	}
	name, _ = d.text(l.key)
	switch {
	case name == "":
		return "", nil, fmt.Errorf("%q must be a string, and not be empty", l.key)
	case l.member != "tools":
		return name, listed, nil
	}
	if err := checkObjectSchema(d.get("inputSchema")); err != nil {
		return name, nil, fmt.Errorf("input schema: %w", err)
	}
	if mentions(d.get("inputSchema"), "x-mcp-header") {
		return name, nil, errors.New("it asks for arguments in headers (x-mcp-header), which the bridge does not check")
	}
	return name, d.forCaller(listed, caller), nil
}

// forCaller is a tool as it is listed for a caller. An output schema of 2026-07-28 can be of any kind; clients of earlier
// revisions that get another one than of objects drop all tools. Clients that show apps show ours alone: one of another server
// could call what every server has through its client.
func (m members) forCaller(as json.RawMessage, caller Caller) json.RawMessage {
	changed := false
	if output := m.get("outputSchema"); output != nil && !caller.Modern && checkObjectSchema(output) != nil {
		m, changed = m.without("outputSchema"), true
	}
	if caller.ShowsApps {
		meta, _ := readMembers(m.get("_meta")) // none where it is no object
		m, changed = m.with("_meta", meta.with("ui", json.RawMessage(`{"visibility":["model"]}`)).object()), true
	}
	if !changed {
		return as
	}
	return m.object()
}

// mentions tells whether a name or text in JSON is exactly that, however it is spelled.
func mentions(raw json.RawMessage, text string) bool {
	if bytes.Contains(raw, []byte(`"`+text+`"`)) {
		return true
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return false
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return false
		}
		if token.Kind() == '"' && token.String() == text {
			return true
		}
	}
}
