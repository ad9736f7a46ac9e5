package mcpbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// These are the tools, prompts and resources of mcp-go and what runs them, as programs have them that were written before
// they were governed.
type (
	ForeignTool    = mcp.Tool
	ForeignRequest = mcp.CallToolRequest
	ForeignResult  = mcp.CallToolResult
	ForeignHandler = func(ctx context.Context, request ForeignRequest) (*ForeignResult, error)

	ForeignPrompt        = mcp.Prompt
	ForeignPromptRequest = mcp.GetPromptRequest
	ForeignPromptResult  = mcp.GetPromptResult
	ForeignPromptHandler = func(ctx context.Context, request ForeignPromptRequest) (*ForeignPromptResult, error)

	ForeignResource         = mcp.Resource
	ForeignResourceTemplate = mcp.ResourceTemplate
	ForeignReadRequest      = mcp.ReadResourceRequest
	ForeignContents         = mcp.ResourceContents
	ForeignText             = mcp.TextResourceContents
	ForeignReader           = func(ctx context.Context, request ForeignReadRequest) ([]ForeignContents, error)
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

// maxForeign bounds what a handler of others may answer, in bytes: it has to fit in one message to the client.
const maxForeign = defaultMaxMessage

// CallForeign runs a handler. Its texts become one; blocks of kinds that results do not have are left out, and said.
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
		default:
			if content, ok := contentOf(block); ok {
				result.Content = append(result.Content, content)
				continue
			}
			texts = append(texts, fmt.Sprintf("[a block of kind %T is not passed on]", block))
		}
	}
	result.Text = strings.Join(texts, "\n")
	if answer.StructuredContent != nil {
		result.Structured, err = json.Marshal(answer.StructuredContent)
	}
	if err == nil && result.size() > maxForeign {
		return Result{}, fmt.Errorf("the answer of %s is longer than %d bytes", name, maxForeign)
	}
	return result, err
}

// size is how much a result holds, about.
func (r Result) size() int {
	n := len(r.Text) + len(r.Structured)
	for _, c := range r.Content {
		n += len(c.Data) + len(c.Text) + len(c.URI)
	}
	return n
}

func contentOf(block mcp.Content) (c Content, ok bool) {
	switch block := block.(type) {
	case mcp.ImageContent:
		return Content{MIMEType: block.MIMEType, Data: block.Data}, true
	case mcp.AudioContent:
		return Content{MIMEType: block.MIMEType, Data: block.Data}, strings.HasPrefix(block.MIMEType, "audio/")
	case mcp.ResourceLink:
		return Content{URI: block.URI, Name: block.Name, MIMEType: block.MIMEType}, block.URI != ""
	case mcp.EmbeddedResource:
		switch resource := block.Resource.(type) {
		case mcp.TextResourceContents:
			return Content{URI: resource.URI, MIMEType: resource.MIMEType, Text: resource.Text}, resource.URI != ""
		case mcp.BlobResourceContents:
			return Content{URI: resource.URI, MIMEType: resource.MIMEType, Data: resource.Blob}, resource.URI != ""
		}
	}
	return Content{}, false
}

// PromptOf is a prompt of mcp-go with what answers it.
func PromptOf(p ForeignPrompt, get ForeignPromptHandler) Prompt {
	return Prompt{
		Name: p.Name, Title: p.Title, Description: p.Description, Arguments: p.Arguments,
		foreign: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			var request mcp.GetPromptRequest
			request.Method = "prompts/get"
			request.Params.Name, request.Params.Arguments = p.Name, arguments
			answer, err := get(ctx, request)
			if err == nil && answer == nil {
				err = fmt.Errorf("the handler of prompt %s gave no answer", p.Name)
			}
			return answer, err
		},
	}
}

// ResourceOf is a resource of mcp-go with what reads it.
func ResourceOf(r ForeignResource, read ForeignReader) Resource {
	return Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, foreign: readerOf(read)}
}

// ResourceTemplateOf is a template of mcp-go, likewise.
func ResourceTemplateOf(t ForeignResourceTemplate, read ForeignReader) (Resource, error) {
	if t.URITemplate == nil {
		return Resource{}, fmt.Errorf("the resource template %q has no URI template", t.Name)
	}
	return Resource{URI: t.URITemplate.Raw(), Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType, foreign: readerOf(read)}, nil
}

func readerOf(read ForeignReader) func(context.Context, string, map[string][]string) ([]mcp.ResourceContents, error) {
	return func(ctx context.Context, uri string, variables map[string][]string) ([]mcp.ResourceContents, error) {
		var request mcp.ReadResourceRequest
		request.Method = "resources/read"
		request.Params.URI, request.Params.Arguments = uri, map[string]any{}
		for name, value := range variables {
			request.Params.Arguments[name] = value
		}
		return read(ctx, request)
	}
}
