package mcpbridge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// toolResult makes the response to a call. It is written once, from beginning to end: a text can be large, and mcp-go's
// encoder, and each copy, is a good part of what a read costs.
func (s *Server) toolResult(id json.RawMessage, r Result, caller Caller) (_ []byte, err error) {
	var base mcp.Result
	if caller.Modern {
		s.identify(&base, "", caller)
	}
	for name, value := range r.Meta {
		base.EnsureResultMeta().SetMetaField(name, value)
	}
	if r.InputRequired != nil {
		asking, err := question(r.InputRequired, base, caller)
		return encodeResult(id, asking), err
	}
	if r.Raw != nil {
		return s.rawResult(id, r.Raw, added{meta: r.Meta, text: r.Text}, caller)
	}
	b := beginResult(id, 256+len(r.Text)+len(r.Text)/8+len(r.Structured)) // an eighth for what has to be escaped
	b = append(b, '{')
	if base.Meta != nil {
		b = append(append(append(b, `"_meta":`...), encode(base.Meta)...), ',')
	}
	b = append(b, `"content":[`...)
	if r.Text != "" || len(r.Content) == 0 {
		b = append(b, `{"type":"text","text":`...)
		b, _ = jsontext.AppendQuote(b, r.Text) // the error is that of bytes which are not UTF-8, for which U+FFFD stands there
		b = append(b, '}')
	}
	for i, content := range r.Content {
		if i > 0 || r.Text != "" {
			b = append(b, ',')
		}
		b = append(b, encode(content.block())...)
	}
	b = append(b, ']')
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	if base.ResultType != "" {
		b = append(append(b, `,"resultType":`...), encode(base.ResultType)...)
	}
	if r.Structured != nil {
		b = append(b, `,"structuredContent":`...)
		if r.Checked {
			b = append(b, r.Structured...)
		} else if b, err = appendObject(b, r.Structured); err != nil {
			return nil, err
		}
	}
	return endResult(append(b, '}')), nil
}

// block is the content as the protocol has it.
func (c Content) block() mcp.Content {
	switch {
	case c.URI != "" && c.Text != "":
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text})
	case c.URI != "" && c.Data != "":
		return mcp.NewEmbeddedResource(mcp.BlobResourceContents{URI: c.URI, MIMEType: c.MIMEType, Blob: c.Data})
	case c.URI != "":
		return mcp.NewResourceLink(c.URI, cmp.Or(c.Name, c.URI), "", c.MIMEType)
	case strings.HasPrefix(c.MIMEType, "audio/"):
		return mcp.NewAudioContent(c.Data, c.MIMEType)
	}
	return mcp.NewImageContent(c.Data, c.MIMEType)
}

// question is a result that asks.
func question(asked *InputRequired, base mcp.Result, caller Caller) (json.RawMessage, error) {
	if err := asked.check(caller); err != nil {
		return nil, err
	}
	base.ResultType = mcp.ResultTypeInputRequired
	params := mcp.ElicitationParams{Message: asked.Form.Message, RequestedSchema: asked.Form.schema(caller.ProtocolVersion)}
	return json.Marshal(mcp.InputRequiredResult{Result: base, MultiRoundTripResult: mcp.MultiRoundTripResult{
		InputRequests: mcp.InputRequests{questionKey: mcp.NewElicitationInputRequest(params)}, RequestState: asked.State,
	}})
}

// appendObject adds what must be a JSON object, in one line: a line break would end the message.
func appendObject(b []byte, object json.RawMessage) ([]byte, error) {
	value := jsontext.Value(object)
	if value.Kind() != jsontext.KindBeginObject || !value.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, errors.New("the tool's structured result is not a JSON object")
	}
	compact := bytes.NewBuffer(b)
	err := json.Compact(compact, object)
	return compact.Bytes(), err
}
