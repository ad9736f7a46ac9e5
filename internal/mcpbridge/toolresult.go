package mcpbridge

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// toolResult encodes a tool's result with the members, and in the order, that
// mcp-go gives it. mcp-go's own encoder goes over the result three times
// more, which is a third of what a read costs. It is not ok for a result that
// we do not make; that is left to mcp-go.
func toolResult(r *mcp.CallToolResult) (encoded json.RawMessage, ok bool) {
	if r.NeedsInput() {
		return questionResult(r)
	}
	if r.StructuredContent != nil {
		return nil, false
	}
	b := bytes.NewBuffer(make([]byte, 0, 256+len(r.RawStructuredContent)))
	b.WriteByte('{')
	if r.Meta != nil && !writeEncoded(b, `"_meta":`, r.Meta, ",") {
		return nil, false
	}
	b.WriteString(`"content":[`)
	for i, content := range r.Content {
		if i > 0 {
			b.WriteByte(',')
		}
		if !writeEncoded(b, "", content, "") {
			return nil, false
		}
	}
	b.WriteByte(']')
	if r.IsError {
		b.WriteString(`,"isError":true`)
	}
	if r.ResultType != "" && !writeEncoded(b, `,"resultType":`, r.ResultType, "") {
		return nil, false
	}
	if len(r.RawStructuredContent) > 0 {
		b.WriteString(`,"structuredContent":`)
		// A line break would end the message. engineResult has checked the rest.
		if err := writeOneLine(b, r.RawStructuredContent); err != nil {
			return nil, false
		}
	}
	b.WriteByte('}')
	return b.Bytes(), true
}

// questionResult encodes an InputRequiredResult, which has no content; mcp-go
// would write an empty one.
func questionResult(r *mcp.CallToolResult) (encoded json.RawMessage, ok bool) {
	encoded, err := json.Marshal(mcp.InputRequiredResult{Result: r.Result, MultiRoundTripResult: r.MultiRoundTripResult})
	return encoded, err == nil
}

func writeEncoded(b *bytes.Buffer, before string, value any, after string) bool {
	encoded, err := json.Marshal(value)
	b.WriteString(before)
	b.Write(encoded)
	b.WriteString(after)
	return err == nil
}

func writeOneLine(b *bytes.Buffer, object json.RawMessage) error {
	if bytes.ContainsAny(object, "\r\n") {
		return json.Compact(b, object)
	}
	b.Write(object)
	return nil
}
