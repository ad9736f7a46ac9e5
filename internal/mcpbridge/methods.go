package mcpbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// listTTL is how long clients of 2026-07-28 may keep the lists, in milliseconds. They do not change while the process
// lives.
const listTTL = 60_000

// offer is what the lists show.
type offer struct {
	identity  mcp.Implementation
	tools     func() ([]mcp.Tool, error) // made when somebody asks
	prompts   []mcp.Prompt
	resources []mcp.Resource
	templates []mcp.ResourceTemplate
}

// result runs a request of any method but tools/call.
func (s *Server) result(ctx context.Context, r *request) (mcp.ResultMetadata, *rpcError) {
	if len(s.config.Prompts) == 0 && strings.HasPrefix(r.method, "prompts/") ||
		len(s.config.Resources)+len(s.config.ResourceTemplates) == 0 && strings.HasPrefix(r.method, "resources/") ||
		s.config.Complete == nil && r.method == "completion/complete" {
		return nil, errorf(codeMethodNotFound, "%s is not supported", r.method)
	}
	switch r.method {
	case "initialize":
		params, failure := paramsOf[mcp.InitializeParams](r)
		return &mcp.InitializeResult{
			ProtocolVersion: mcp.NegotiateLegacyVersion(params.ProtocolVersion), ServerInfo: s.offer.identity, Capabilities: s.capabilities(), Instructions: s.instructions(),
		}, failure
	case "ping":
		if r.caller.Modern {
			return nil, errorf(codeMethodNotFound, "%q was removed in protocol version %s", r.method, mcp.ProtocolVersion20260728)
		}
		return &mcp.Result{}, nil
	case "server/discover":
		if !r.caller.Modern {
			return nil, errorf(codeMethodNotFound, "%q requires protocol version %s or later", r.method, mcp.ProtocolVersion20260728)
		}
		return &mcp.DiscoverResult{SupportedVersions: mcp.ValidProtocolVersions, Capabilities: s.capabilities(), Instructions: s.instructions()}, nil
	case "tools/list":
		tools, err := s.offer.tools()
		if err != nil {
			return nil, errorf(codeInternal, "internal error: %v", err)
		}
		return &mcp.ListToolsResult{Tools: tools}, nil
	case "prompts/list":
		return &mcp.ListPromptsResult{Prompts: s.offer.prompts}, nil
	case "resources/list":
		return &mcp.ListResourcesResult{Resources: s.offer.resources}, nil
	case "resources/templates/list":
		return &mcp.ListResourceTemplatesResult{ResourceTemplates: s.offer.templates}, nil
	case "prompts/get":
		return s.getPrompt(ctx, r)
	case "resources/read":
		return s.readResource(ctx, r)
	case "completion/complete":
		return s.complete(ctx, r)
	}
	return nil, errorf(codeMethodNotFound, "Method %s not found", r.method)
}

func paramsOf[T any](r *request) (params T, failure *rpcError) {
	var whole struct {
		Params T `json:"params"` // errors name what is wrong by its place in the message
	}
	if err := json.Unmarshal(slices.Concat([]byte(`{"params":`), r.params, []byte("}")), &whole); err != nil {
		failure = errorf(codeInvalidRequest, "unparsable %s request: %v", r.method, err)
	}
	return whole.Params, failure
}

// identify adds to a result what 2026-07-28 wants in each.
func (s *Server) identify(result mcp.ResultMetadata, method string) {
	result.SetResultType(mcp.ResultTypeComplete)
	result.EnsureResultMeta().SetServerInfo(s.offer.identity)
	cacheable, is := result.(mcp.CacheHintSetter)
	switch {
	case !is:
	case strings.HasSuffix(method, "/list"):
		cacheable.SetCacheHints(listTTL, mcp.CacheScopePublic)
	default:
		cacheable.SetCacheHints(0, mcp.CacheScopePrivate)
	}
}

func (s *Server) instructions() string {
	if s.config.Instructions == nil {
		return ""
	}
	return s.config.Instructions()
}

func (s *Server) capabilities() (has mcp.ServerCapabilities) {
	has.Tools = &struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}{}
	if len(s.config.Prompts) > 0 {
		has.Prompts = has.Tools
	}
	if len(s.config.Resources)+len(s.config.ResourceTemplates) > 0 {
		has.Resources = &struct {
			Subscribe   bool `json:"subscribe,omitempty"`
			ListChanged bool `json:"listChanged,omitempty"`
		}{}
	}
	if s.config.Complete != nil {
		has.Completions = &struct{}{}
	}
	return has
}

func (s *Server) getPrompt(ctx context.Context, r *request) (mcp.ResultMetadata, *rpcError) {
	params, failure := paramsOf[mcp.GetPromptParams](r)
	if failure != nil {
		return nil, failure
	}
	i := slices.IndexFunc(s.config.Prompts, func(p Prompt) bool { return p.Name == params.Name })
	if i < 0 {
		return nil, errorf(codeInvalidParams, "prompt '%s' not found: prompt not found", params.Name)
	}
	prompt := s.config.Prompts[i]
	text, err := prompt.Get(ctx, r.caller, params.Arguments)
	if err != nil {
		return nil, failed(err, codeInvalidParams)
	}
	return mcp.NewGetPromptResult(prompt.Description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}

func (s *Server) readResource(ctx context.Context, r *request) (mcp.ResultMetadata, *rpcError) {
	params, failure := paramsOf[mcp.ReadResourceParams](r)
	if failure != nil {
		return nil, failure
	}
	contents := func(mimeType, text string, err error) (mcp.ResultMetadata, *rpcError) {
		if err != nil {
			return nil, failed(err, notFoundCode(r.caller))
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextResourceContents{URI: params.URI, MIMEType: mimeType, Text: text}}}, nil
	}
	for _, resource := range s.config.Resources {
		if resource.URI == params.URI {
			text, err := resource.Read(ctx, r.caller)
			return contents(resource.MIMEType, text, err)
		}
	}
	for i, template := range s.config.ResourceTemplates {
		pattern := s.offer.templates[i].URITemplate
		if !pattern.Regexp().MatchString(params.URI) {
			continue
		}
		variables := map[string]string{}
		for name, value := range pattern.Match(params.URI) {
			variables[name] = strings.Join(value.V, ",")
		}
		text, err := template.Read(ctx, r.caller, params.URI, variables)
		return contents(template.MIMEType, text, err)
	}
	return nil, errorf(notFoundCode(r.caller), "handler not found for resource URI '%s': resource not found", params.URI)
}

// notFoundCode is the code of a resource that does not exist, in the caller's revision.
func notFoundCode(caller Caller) int {
	if caller.Modern {
		return codeInvalidParams
	}
	return codeResourceNotFound
}

// failed is the error of a handler; notFound is the code where it says that what was asked for is not there.
func failed(err error, notFound int) *rpcError {
	if errors.Is(err, ErrNotFound) {
		return errorf(notFound, "%v", err)
	}
	return errorf(codeInternal, "%v", err)
}

// maxCompletions is the protocol's limit.
const maxCompletions = 100

func (s *Server) complete(ctx context.Context, r *request) (mcp.ResultMetadata, *rpcError) {
	params, failure := paramsOf[mcp.CompleteParams](r)
	if failure != nil {
		return nil, failure
	}
	asked := CompletionRequest{Argument: params.Argument.Name, Value: params.Argument.Value, Known: params.Context.Arguments}
	switch ref := params.Ref.(type) {
	case mcp.PromptReference:
		asked.Prompt = ref.Name
	case mcp.ResourceReference:
		asked.URITemplate = ref.URI
	}
	values, err := s.config.Complete(ctx, r.caller, asked)
	if err != nil {
		return nil, errorf(codeInternal, "%v", err)
	}
	shown := append([]string{}, values[:min(len(values), maxCompletions)]...)
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: shown, Total: len(values), HasMore: len(values) > len(shown)}}, nil
}

// offering makes the lists. Those but the tools are in order of name.
func offering(config Config) (offer, error) {
	o := offer{identity: mcp.Implementation{Name: config.Name, Version: config.Version, Title: config.Title}, tools: listed(config.Tools)}
	slices.SortStableFunc(config.Prompts, func(a, b Prompt) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(config.Resources, func(a, b Resource) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(config.ResourceTemplates, func(a, b ResourceTemplate) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range config.Prompts {
		if p.Name == "" || p.Get == nil {
			return o, fmt.Errorf("mcpbridge: prompt %q needs a name and a Get", p.Name)
		}
		definition := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			definition.Arguments = append(definition.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		o.prompts = append(o.prompts, definition)
	}
	o.resources, o.templates = []mcp.Resource{}, []mcp.ResourceTemplate{}
	for _, r := range config.Resources {
		if r.URI == "" || r.Name == "" || r.Read == nil {
			return o, fmt.Errorf("mcpbridge: resource %q needs a URI, a name and a Read", r.URI)
		}
		o.resources = append(o.resources, mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
	}
	for _, t := range config.ResourceTemplates {
		if t.URITemplate == "" || t.Name == "" || t.Read == nil {
			return o, fmt.Errorf("mcpbridge: resource template %q needs a URI template, a name and a Read", t.URITemplate)
		}
		definition := mcp.NewResourceTemplate(t.URITemplate, t.Name, mcp.WithTemplateDescription(t.Description), mcp.WithTemplateMIMEType(t.MIMEType))
		definition.Title = t.Title
		o.templates = append(o.templates, definition)
	}
	return o, nil
}
