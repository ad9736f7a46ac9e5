package mcpbridge

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
)

// toolResult encodes what became of a call. mcp-go's own encoder goes over the
// structured content three times more, which is a third of what a read costs.
func (s *Server) toolResult(r Result, caller Caller) (json.RawMessage, error) {
	var base mcp.Result
	if caller.Modern {
		s.identify(&base, "", caller)
	}
	for name, value := range r.Meta {
		base.EnsureResultMeta().SetMetaField(name, value)
	}
	if r.InputRequired != nil {
		return question(r.InputRequired, base, caller)
	}
	b := bytes.NewBuffer(make([]byte, 0, 256+len(r.Text)+len(r.Structured)))
	b.WriteByte('{')
	if base.Meta != nil {
		b.WriteString(`"_meta":`)
		b.Write(encode(base.Meta))
		b.WriteByte(',')
	}
	b.WriteString(`"content":[`)
	b.Write(encode(mcp.NewTextContent(r.Text)))
	for _, image := range r.Images {
		b.WriteByte(',')
		b.Write(encode(mcp.NewImageContent(image.Data, image.MIMEType)))
	}
	b.WriteByte(']')
	if r.IsError {
		b.WriteString(`,"isError":true`)
	}
	if base.ResultType != "" {
		b.WriteString(`,"resultType":`)
		b.Write(encode(base.ResultType))
	}
	if r.Structured != nil {
		if !json.Valid(r.Structured) || bytes.TrimLeft(r.Structured, " \t\r\n")[0] != '{' {
			return nil, errors.New("the tool's structured result is not a JSON object")
		}
		b.WriteString(`,"structuredContent":`)
		writeOneLine(b, r.Structured)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
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

// writeOneLine writes JSON that is valid: a line break would end the message.
func writeOneLine(b *bytes.Buffer, object json.RawMessage) {
	if bytes.ContainsAny(object, "\r\n") {
		_ = json.Compact(b, object)
		return
	}
	b.Write(object)
}
