package mcpbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// These are a tool of mcp-go and what runs it, as programs have them that were written before they were governed.
type (
	ForeignTool    = mcp.Tool
	ForeignRequest = mcp.CallToolRequest
	ForeignResult  = mcp.CallToolResult
	ForeignHandler = func(ctx context.Context, request ForeignRequest) (*ForeignResult, error)
)

// DefinitionOf reads a tool of mcp-go.
func DefinitionOf(t ForeignTool) (Tool, error) {
	encoded, err := json.Marshal(t)
	if err != nil {
		return Tool{}, fmt.Errorf("the tool %q: %w", t.Name, err)
	}
	var read struct {
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(encoded, &read); err != nil {
		return Tool{}, fmt.Errorf("the tool %q: %w", t.Name, err)
	}
	is := func(hint *bool) bool { return hint != nil && *hint }
	d := Tool{
		Name: t.Name, Title: cmp.Or(t.Title, t.Annotations.Title), Description: t.Description, InputSchema: func() json.RawMessage { return read.InputSchema },
		ReadOnly: is(t.Annotations.ReadOnlyHint), Idempotent: is(t.Annotations.IdempotentHint), OpenWorld: is(t.Annotations.OpenWorldHint),
	}
	if len(read.OutputSchema) > 0 {
		d.OutputSchema = func() json.RawMessage { return read.OutputSchema }
	}
	return d, nil
}

// CallForeign runs a handler. Images of its answer are kept; blocks of other kinds are left out, and said.
func CallForeign(ctx context.Context, handle ForeignHandler, name string, arguments json.RawMessage) (Result, error) {
	var request mcp.CallToolRequest
	request.Method = "tools/call"
	request.Params.Name, request.Params.RawArguments = name, arguments
	var decoded map[string]any
	if err := json.Unmarshal(arguments, &decoded); err != nil {
		return Result{}, err
	}
	request.Params.Arguments = decoded
	answer, err := handle(ctx, request)
	if err != nil {
		return Result{}, err
	}
	if answer == nil {
		return Result{}, fmt.Errorf("the handler of %s gave no answer", name)
	}
	result := Result{IsError: answer.IsError}
	var texts []string
	for _, block := range answer.Content {
		switch block := block.(type) {
		case mcp.TextContent:
			texts = append(texts, block.Text)
		case mcp.ImageContent:
			result.Images = append(result.Images, Image{block.MIMEType, block.Data})
		default:
			texts = append(texts, fmt.Sprintf("[a block of kind %T is not passed on]", block))
		}
	}
	result.Text = strings.Join(texts, "\n")
	if answer.StructuredContent != nil {
		result.Structured, err = json.Marshal(answer.StructuredContent)
	}
	return result, err
}
