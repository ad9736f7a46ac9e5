package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// listTTL is how long clients of 2026-07-28 may keep the lists, in milliseconds. Ours do not change while the process lives.
const listTTL = 60_000

// result runs a request of any method but initialize and tools/call.
func (s *Server) result(ctx context.Context, r *request) (result mcp.ResultMetadata, failure *rpcError) {
	defer s.survive(r.method, &failure)
	switch r.method {
	case "logging/setLevel": // which arrive has done
		result = &mcp.Result{}
	case "ping":
		if r.caller.Modern {
			return nil, errorf(codeMethodNotFound, "%q was removed in protocol version %s", r.method, mcp.ProtocolVersion20260728)
		}
		result = &mcp.Result{}
	case "server/discover":
		if !r.caller.Modern {
			return nil, errorf(codeMethodNotFound, "%q requires protocol version %s or later", r.method, mcp.ProtocolVersion20260728)
		}
		result = &mcp.DiscoverResult{SupportedVersions: mcp.ValidProtocolVersions, Capabilities: s.capabilities(r.caller), Instructions: s.config.Instructions()}
	case "tools/list":
		tools, err := s.toolsFor(r.caller)
		if err != nil {
			return nil, errorf(codeInternal, "internal error: %v", err)
		}
		result = &mcp.ListToolsResult{Tools: tools}
	case "prompts/list":
		result = &mcp.ListPromptsResult{Prompts: s.prompts()}
	case "resources/list":
		result = &mcp.ListResourcesResult{Resources: s.resources(r.caller)}
	case "resources/templates/list":
		result = &mcp.ListResourceTemplatesResult{ResourceTemplates: s.templates}
	case "prompts/get":
		result, failure = s.getPrompt(ctx, r)
	case "resources/read":
		result, failure = s.readResource(ctx, r)
	case "completion/complete":
		result, failure = s.complete(r)
	}
	if failure == nil && r.caller.Modern {
		s.identify(result, r.method, r.caller)
	}
	return result, failure
}

// handshake is the result of initialize.
func (s *Server) handshake(r *request) (result *mcp.InitializeResult, failure *rpcError) {
	defer s.survive(r.method, &failure)
	params, failure := paramsOf[mcp.InitializeParams](r)
	return &mcp.InitializeResult{
		ProtocolVersion: mcp.NegotiateLegacyVersion(params.ProtocolVersion), ServerInfo: s.identity, Capabilities: s.capabilities(r.caller), Instructions: s.config.Instructions(),
	}, failure
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
func (s *Server) identify(result mcp.ResultMetadata, method string, caller Caller) {
	result.SetResultType(mcp.ResultTypeComplete)
	result.EnsureResultMeta().SetServerInfo(s.identity)
	cacheable, is := result.(mcp.CacheHintSetter)
	switch {
	case !is:
	case strings.HasSuffix(method, "/list") && s.config.Beside != nil: // other servers may see an account in what they list
		cacheable.SetCacheHints(besideTTL, mcp.CacheScopePrivate)
	case strings.HasSuffix(method, "/list") && caller.ShowsApps: // what it has of apps is not for every client
		cacheable.SetCacheHints(listTTL, mcp.CacheScopePrivate)
	case strings.HasSuffix(method, "/list"):
		cacheable.SetCacheHints(listTTL, mcp.CacheScopePublic)
	default:
		cacheable.SetCacheHints(0, mcp.CacheScopePrivate)
	}
}

func (s *Server) capabilities(caller Caller) (has mcp.ServerCapabilities) {
	has.Tools = &struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}{}
	has.Prompts = has.Tools
	has.Resources = &struct {
		Subscribe   bool `json:"subscribe,omitempty"`
		ListChanged bool `json:"listChanged,omitempty"`
	}{}
	has.Completions = &struct{}{}
	if s.config.Beside != nil {
		has.Tools.ListChanged, has.Resources.ListChanged, has.Logging = true, true, &struct{}{} // the prompts' is the tools'
	}
	if caller.ShowsApps {
		has.Extensions = map[string]any{appsExtension: struct{}{}}
	}
	return has
}

func (s *Server) getPrompt(ctx context.Context, r *request) (mcp.ResultMetadata, *rpcError) {
	params, failure := paramsOf[mcp.GetPromptParams](r)
	if failure != nil {
		return nil, failure
	}
	prompt := s.prompt(params.Name)
	if prompt == nil {
		return nil, errorf(codeInvalidParams, "prompt '%s' not found: prompt not found", params.Name)
	}
	for _, argument := range prompt.Arguments {
		if _, given := params.Arguments[argument.Name]; argument.Required && !given {
			return nil, errorf(codeInvalidParams, "prompt %q needs the argument %q", prompt.Name, argument.Name)
		}
	}
	if prompt.foreign != nil {
		answer, err := prompt.foreign(ctx, params.Arguments)
		if err == nil {
			err = checkSize(answer)
		}
		if err != nil {
			return nil, errorf(codeInternal, "prompt %q: %v", prompt.Name, err)
		}
		return mcp.NewGetPromptResult(answer.Description, append([]mcp.PromptMessage{}, answer.Messages...)), nil
	}
	text := mcp.NewTextContent(prompt.Get(params.Arguments))
	return mcp.NewGetPromptResult(prompt.Description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, text)}), nil
}

func (s *Server) readResource(ctx context.Context, r *request) (mcp.ResultMetadata, *rpcError) {
	params, failure := paramsOf[mcp.ReadResourceParams](r)
	if failure != nil {
		return nil, failure
	}
	resource, variables := s.resource(params.URI)
	if resource == nil {
		return nil, errorf(notFoundCode(r.caller), "handler not found for resource URI '%s': resource not found", params.URI)
	}
	contents, err := resource.read(ctx, params.URI, variables)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, errorf(notFoundCode(r.caller), "%v", err)
	case err != nil:
		return nil, errorf(codeInternal, "%v", err)
	}
	return &mcp.ReadResourceResult{Contents: contents}, nil
}

func (r *Resource) read(ctx context.Context, uri string, variables map[string][]string) ([]mcp.ResourceContents, error) {
	if r.foreign != nil {
		contents, err := r.foreign(ctx, uri, variables)
		switch {
		case err != nil:
		case len(contents) == 0: // which no revision has a result for
			err = ErrNotFound
		default:
			err = checkSize(contents)
		}
		return contents, err
	}
	joined := map[string]string{}
	for name, values := range variables {
		joined[name] = strings.Join(values, ",")
	}
	text, err := r.Read(ctx, joined)
	content := mcp.TextResourceContents{URI: uri, MIMEType: r.MIMEType, Text: text}
	if r.isApp() {
		content.Meta = appResourceMeta()
	}
	return []mcp.ResourceContents{content}, err
}

// prompt finds a prompt of the server's own.
func (s *Server) prompt(name string) *Prompt {
	if i := slices.IndexFunc(s.config.Prompts, func(p Prompt) bool { return p.Name == name }); i >= 0 {
		return &s.config.Prompts[i]
	}
	return nil
}

// checkSize bounds what a handler of others gave.
func checkSize(answer any) error {
	encoded, err := json.Marshal(answer)
	if err == nil && len(encoded) > maxForeign {
		err = fmt.Errorf("it is longer than %d bytes", maxForeign)
	}
	return err
}

// resource finds what is offered under a URI, and the variables of a template.
func (s *Server) resource(uri string) (*Resource, map[string][]string) {
	for i, resource := range s.config.Resources {
		if resource.URI == uri {
			return &s.config.Resources[i], nil
		}
	}
	for i, template := range s.templates {
		if !template.URITemplate.Regexp().MatchString(uri) {
			continue
		}
		variables := map[string][]string{}
		for name, value := range template.URITemplate.Match(uri) {
			variables[name] = value.V
		}
		return &s.config.ResourceTemplates[i], variables
	}
	return nil, nil
}

// notFoundCode is the code of a resource that does not exist, in the caller's revision.
func notFoundCode(caller Caller) int {
	if caller.Modern {
		return codeInvalidParams
	}
	return codeResourceNotFound
}

// maxCompletions is the protocol's limit.
const maxCompletions = 100

func (s *Server) complete(r *request) (mcp.ResultMetadata, *rpcError) {
	params, failure := paramsOf[mcp.CompleteParams](r)
	if failure != nil {
		return nil, failure
	}
	values := s.config.Complete(params.Argument.Name, params.Argument.Value)
	shown := append([]string{}, values[:min(len(values), maxCompletions)]...)
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: shown, Total: len(values), HasMore: len(values) > len(shown)}}, nil
}

func (s *Server) prompts() (list []mcp.Prompt) {
	for _, p := range s.config.Prompts {
		list = append(list, mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description, Arguments: p.Arguments})
	}
	return list
}

func (s *Server) resources(caller Caller) []mcp.Resource {
	list := []mcp.Resource{}
	for _, r := range s.config.Resources {
		listed := mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}
		if r.isApp() {
			if !caller.ShowsApps {
				continue
			}
			listed.Meta = mcp.NewMetaFromMap(appResourceMeta())
		}
		list = append(list, listed)
	}
	return list
}

func templatesOf(resources []Resource) []mcp.ResourceTemplate {
	list := []mcp.ResourceTemplate{}
	for _, r := range resources {
		template := mcp.NewResourceTemplate(r.URI, r.Name, mcp.WithTemplateDescription(r.Description), mcp.WithTemplateMIMEType(r.MIMEType))
		template.Title = r.Title
		list = append(list, template)
	}
	return list
}
