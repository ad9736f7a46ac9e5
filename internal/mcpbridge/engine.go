package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// listTTL is how long clients of 2026-07-28 may keep the lists, in
// milliseconds. They do not change while the process lives.
const listTTL = 60_000

// newEngine sets mcp-go up. Not used, each for a reason: its transports (see
// the package's tests for what they let through), input schema validation
// (its refusals would not pass through the pipeline), task tools (they bypass
// it), and list-changed capabilities (the lists do not change).
func (s *Server) newEngine() *server.MCPServer {
	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(_ context.Context, _ any, _ *mcp.InitializeRequest, result *mcp.InitializeResult) {
		result.Instructions = s.instructions()
	})
	hooks.AddAfterDiscover(func(_ context.Context, _ any, _ *mcp.DiscoverRequest, result *mcp.DiscoverResult) {
		result.Instructions = s.instructions()
	})
	options := []server.ServerOption{
		server.WithHooks(hooks),
		server.WithToolFilter(s.inGivenOrder),
		server.WithMethodCacheHints(mcp.MethodToolsList, listTTL, mcp.CacheScopePublic),
		server.WithMethodCacheHints(mcp.MethodPromptsList, listTTL, mcp.CacheScopePublic),
		server.WithMethodCacheHints(mcp.MethodResourcesList, listTTL, mcp.CacheScopePublic),
		server.WithMethodCacheHints(mcp.MethodResourcesTemplatesList, listTTL, mcp.CacheScopePublic),
		server.WithToolCapabilities(false),
	}
	if s.config.Title != "" {
		options = append(options, server.WithTitle(s.config.Title))
	}
	if len(s.config.Prompts) > 0 {
		options = append(options, server.WithPromptCapabilities(false))
	}
	if len(s.config.Resources)+len(s.config.ResourceTemplates) > 0 {
		options = append(options, server.WithResourceCapabilities(false, false))
	}
	if s.config.Complete != nil {
		options = append(options, server.WithCompletions(),
			server.WithPromptCompletionProvider(completer{s}), server.WithResourceCompletionProvider(completer{s}))
	}
	return server.NewMCPServer(s.config.Name, s.config.Version, options...)
}

func (s *Server) instructions() string {
	if s.config.Instructions == nil {
		return ""
	}
	return s.config.Instructions()
}

// inGivenOrder sorts the tools as they were given; mcp-go sorts them by name.
func (s *Server) inGivenOrder(_ context.Context, tools []mcp.Tool) []mcp.Tool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	slices.SortFunc(tools, func(a, b mcp.Tool) int {
		return s.toolOrder[a.Name] - s.toolOrder[b.Name]
	})
	return tools
}

func engineTool(tool Tool) mcp.Tool {
	return mcp.Tool{
		Name:            tool.Name,
		Title:           tool.Title,
		Description:     tool.Description,
		RawInputSchema:  tool.InputSchema,
		RawOutputSchema: tool.OutputSchema,
		Annotations: mcp.ToolAnnotation{
			Title:           tool.Title,
			ReadOnlyHint:    &tool.ReadOnly,
			DestructiveHint: &tool.Destructive,
			IdempotentHint:  &tool.Idempotent,
			OpenWorldHint:   &tool.OpenWorld,
		},
	}
}

// running is the request that a context belongs to.
type running struct {
	request *request
	// failure replaces mcp-go's answer, where it has no way to say it.
	failure *rpcError
}

type runningKey struct{}

func runningFrom(ctx context.Context) *running {
	r, _ := ctx.Value(runningKey{}).(*running)
	return r
}

// callTool is the handler of every tool. It takes the call that arrived from
// the context: what mcp-go decoded of it is not used.
func (s *Server) callTool(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r := runningFrom(ctx)
	if r == nil || r.request.call == nil {
		return nil, errors.New("internal error: a tool was reached without a call")
	}
	result, err := s.finish(ctx, r.request.call)
	if err != nil {
		return nil, err
	}
	if result.InputRequired != nil {
		return engineQuestion(result.InputRequired, r.request.caller)
	}
	return engineResult(result)
}

// engineQuestion is a result that asks.
func engineQuestion(asked *InputRequired, caller Caller) (*mcp.CallToolResult, error) {
	if err := asked.check(caller); err != nil {
		return nil, fmt.Errorf("internal error: %w", err)
	}
	params := mcp.ElicitationParams{Message: asked.Form.Message, RequestedSchema: asked.Form.schema(caller.ProtocolVersion)}
	return &mcp.CallToolResult{
		Result: mcp.Result{ResultType: mcp.ResultTypeInputRequired},
		MultiRoundTripResult: mcp.MultiRoundTripResult{
			InputRequests: mcp.InputRequests{questionKey: mcp.NewElicitationInputRequest(params)},
			RequestState:  asked.State,
		},
	}, nil
}

func engineResult(result Result) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{
		Content: []mcp.Content{mcp.NewTextContent(result.Text)},
		IsError: result.IsError,
	}
	for _, content := range result.Content {
		out.Content = append(out.Content, content.engineContent())
	}
	if result.Structured != nil {
		if !json.Valid(result.Structured) || bytes.TrimLeft(result.Structured, " \t\r\n")[0] != '{' {
			return nil, errors.New("internal error: the tool's structured result is not a JSON object")
		}
		out.RawStructuredContent = result.Structured
	}
	return out, nil
}

func (c Content) engineContent() mcp.Content {
	switch c.kind {
	case contentImage:
		return mcp.NewImageContent(c.data, c.mimeType)
	case contentResource:
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: c.uri, MIMEType: c.mimeType, Text: c.text})
	default:
		return mcp.NewTextContent(c.text)
	}
}

func (s *Server) addPrompts(prompts []Prompt) error {
	for _, prompt := range prompts {
		if prompt.Name == "" || prompt.Get == nil {
			return fmt.Errorf("mcpbridge: prompt %q needs a name and a Get", prompt.Name)
		}
		var arguments []mcp.PromptArgument
		for _, a := range prompt.Arguments {
			arguments = append(arguments, mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		definition := mcp.Prompt{Name: prompt.Name, Title: prompt.Title, Description: prompt.Description, Arguments: arguments}
		s.engine.AddPrompt(definition, func(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := prompt.Get(ctx, callerFrom(ctx), request.Params.Arguments)
			if err != nil {
				return nil, s.explain(ctx, err, codeInvalidParams)
			}
			message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))
			return mcp.NewGetPromptResult(prompt.Description, []mcp.PromptMessage{message}), nil
		})
	}
	return nil
}

func (s *Server) addResources(resources []Resource) error {
	for _, resource := range resources {
		if resource.URI == "" || resource.Name == "" || resource.Read == nil {
			return fmt.Errorf("mcpbridge: resource %q needs a URI, a name and a Read", resource.URI)
		}
		definition := mcp.NewResource(resource.URI, resource.Name,
			mcp.WithResourceDescription(resource.Description), mcp.WithMIMEType(resource.MIMEType))
		definition.Title = resource.Title
		s.engine.AddResource(definition, func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			text, err := resource.Read(ctx, callerFrom(ctx))
			return s.resourceText(ctx, request.Params.URI, resource.MIMEType, text, err)
		})
	}
	return nil
}

func (s *Server) addResourceTemplates(templates []ResourceTemplate) error {
	for _, template := range templates {
		if template.URITemplate == "" || template.Name == "" || template.Read == nil {
			return fmt.Errorf("mcpbridge: resource template %q needs a URI template, a name and a Read", template.URITemplate)
		}
		definition := mcp.NewResourceTemplate(template.URITemplate, template.Name,
			mcp.WithTemplateDescription(template.Description), mcp.WithTemplateMIMEType(template.MIMEType))
		definition.Title = template.Title
		s.engine.AddResourceTemplate(definition, func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			text, err := template.Read(ctx, callerFrom(ctx), request.Params.URI, templateVariables(request.Params.Arguments))
			return s.resourceText(ctx, request.Params.URI, template.MIMEType, text, err)
		})
	}
	return nil
}

// templateVariables joins mcp-go's lists of values, one for each variable.
func templateVariables(matched map[string]any) map[string]string {
	variables := make(map[string]string, len(matched))
	for name, value := range matched {
		if values, ok := value.([]string); ok {
			variables[name] = strings.Join(values, ",")
		}
	}
	return variables
}

func (s *Server) resourceText(ctx context.Context, uri, mimeType, text string, err error) ([]mcp.ResourceContents, error) {
	if err != nil {
		return nil, s.explain(ctx, err, notFoundCode(callerFrom(ctx)))
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text}}, nil
}

// notFoundCode is the code of a resource that does not exist, in the caller's
// revision.
func notFoundCode(caller Caller) int {
	if caller.Modern {
		return codeInvalidParams
	}
	return codeResourceNotFound
}

// explain has the request answered with notFound if err says so; mcp-go makes
// an internal error of whatever a handler returns.
func (s *Server) explain(ctx context.Context, err error, notFound int) error {
	if r := runningFrom(ctx); r != nil && errors.Is(err, ErrNotFound) {
		r.failure = errorf(notFound, "%v", err)
	}
	return err
}

func callerFrom(ctx context.Context) Caller {
	if r := runningFrom(ctx); r != nil {
		return r.request.caller
	}
	return Caller{}
}

// completer adapts Config.Complete to mcp-go's two interfaces.
type completer struct{ s *Server }

var (
	_ server.PromptCompletionProvider   = completer{}
	_ server.ResourceCompletionProvider = completer{}
)

func (c completer) CompletePromptArgument(ctx context.Context, prompt string, argument mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, CompletionRequest{Prompt: prompt, Argument: argument.Name, Value: argument.Value, Known: known.Arguments})
}

func (c completer) CompleteResourceArgument(ctx context.Context, uri string, argument mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, CompletionRequest{URITemplate: uri, Argument: argument.Name, Value: argument.Value, Known: known.Arguments})
}

// maxCompletions is the protocol's limit.
const maxCompletions = 100

func (c completer) complete(ctx context.Context, request CompletionRequest) (*mcp.Completion, error) {
	values, err := c.s.config.Complete(ctx, callerFrom(ctx), request)
	if err != nil {
		return nil, err
	}
	total := len(values)
	if total > maxCompletions {
		values = values[:maxCompletions]
	}
	return &mcp.Completion{Values: values, Total: total, HasMore: total > len(values)}, nil
}
