package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// offered are the tools that agents are offered (tools.enabled), and those that there are beside them. What tells an agent to
// call a tool must tell something else where there is none (SPEC 1.5).
type offered struct {
	tools   []hooks.Spec
	missing []string
}

// newOffered is an error where the setting names a tool that there is not.
func newOffered(all []hooks.Spec, o settings.Tools) (offered, error) {
	var names []string
	var is offered
	for _, spec := range all {
		names = append(names, spec.Name)
		if o.Offers(spec.Name) {
			is.tools = append(is.tools, spec)
		} else {
			is.missing = append(is.missing, spec.Name)
		}
	}
	names = append(names, settings.CoreTools, settings.FullTools)
	for _, name := range o.Enabled {
		if slices.Contains(names, name) {
			continue
		}
		if meant := nearest.Of(name, names); meant != "" {
			return is, fmt.Errorf("tools.enabled: there is no tool %.80q; did you mean %s?", name, meant)
		}
		return is, fmt.Errorf("tools.enabled: there is no tool %.80q", name)
	}
	return is, nil
}

// has tells whether a tool can be called.
func (o offered) has(name string) bool {
	return slices.ContainsFunc(o.tools, func(spec hooks.Spec) bool { return spec.Name == name })
}

// instead says what there is in the place of a tool: what an operator runs, where a command does the same.
func instead(tool string) string {
	command := map[string]string{
		"list_intents": "intents list", "propose_intent": "intents add", "request_scope_expansion": "intents scope", "update_intent": "intents done",
		"commit_staged": "staged commit", "discard_staged": "staged discard", "query_trace": "log", "resume_approval": "approvals",
	}[tool]
	if command == "" {
		return "a tool that is not offered here"
	}
	return "the user's `orchestra-mcp " + command + "`"
}

// toolName matches a word that can be a tool's name, or a file's: nothing that is quoted.
var toolName = lazy.Regexp(`(^|[\s(])([a-z]+(?:_[a-z]+)+[\w./-]*)`)

// text is a sentence of ours without the names of tools that there are not.
func (o offered) text(s string) string {
	if len(o.missing) == 0 {
		return s
	}
	return toolName().ReplaceAllStringFunc(s, func(word string) string {
		parts := toolName().FindStringSubmatch(word)
		name := strings.TrimRight(parts[2], ".")
		if !slices.Contains(o.missing, name) {
			return word
		}
		return parts[1] + instead(name) + parts[2][len(name):]
	})
}

// refused has a refusal name what can be called. What it quotes stays as it is.
func (o offered) refused(r hooks.Result) hooks.Result {
	if r.Refusal == nil || len(o.missing) == 0 {
		return r
	}
	hint, said := r.Refusal.Hint(), map[string]string{"suggestion": o.text(r.Refusal.Suggestion())}
	switch {
	case slices.Contains(o.missing, hint):
		said["action_hint"] = refusal.HintAskUser
		said["suggestion"] = "Ask the user, as tools.enabled leaves out the tool: " + said["suggestion"]
		if hint == refusal.HintSelectIntent { // which quotes no file
			said["error"] = o.text(r.Refusal.Reason())
		}
	case said["suggestion"] == r.Refusal.Suggestion():
		return r
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.Structured, &members); err != nil {
		return r
	}
	for name, text := range said {
		encoded, err := hooks.EncodeJSON(text)
		if err != nil {
			return r
		}
		members[name] = encoded
	}
	changed, err := hooks.NewResult("", members)
	if err != nil {
		return r
	}
	r.Text, r.Structured = string(changed.Structured), changed.Structured
	return r
}
