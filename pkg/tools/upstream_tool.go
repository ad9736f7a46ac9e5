package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/foreignschema"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// upstreamTool is a tool of another server.
type upstreamTool struct {
	*Upstreams
	server *upstreamServer
	tool   catalogue.Tool
	spec   hooks.Spec
	names  hooks.Names
	fits   func() *foreignschema.Schema // read with the first call; nil for a schema that cannot be read
	listed func() json.RawMessage
}

// upstreamNames are those of the common arguments, and of those where the tool has arguments of its own by these names.
func upstreamNames(own map[string]json.RawMessage) hooks.Names {
	names := hooks.Names{Session: "session", IntentID: "intent_id"}
	if own[names.Session] != nil || own[names.IntentID] != nil {
		names = hooks.Names{Session: "orchestra_session", IntentID: "orchestra_intent_id"}
	}
	return names
}

func newUpstreamTool(u *Upstreams, server *upstreamServer, t catalogue.Tool) *upstreamTool {
	made := &upstreamTool{Upstreams: u, server: server, tool: t}
	var input struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.Input, &input) // what is no object has no properties
	made.names = upstreamNames(input.Properties)
	made.fits = sync.OnceValue(func() *foreignschema.Schema {
		read, err := foreignschema.Read(t.Input)
		if err != nil {
			return nil
		}
		return read
	})
	made.spec = hooks.Spec{
		Name: t.Name, Title: t.Title, Description: t.Description, Class: hooks.Destructive, OpenWorld: true, Names: &made.names,
		InputSchema: sync.OnceValue(func() json.RawMessage { return listedInput(t.Input, made.names, t.Safe) }),
	}
	if t.Safe {
		made.spec.Class, made.spec.ReadOnly = hooks.Safe, true
	}
	if t.Output != nil {
		made.spec.OutputSchema = sync.OnceValue(func() json.RawMessage { return listedOutput(t.Output) })
	}
	made.listed = sync.OnceValue(made.definition)
	return made
}

func (t *upstreamTool) Spec() hooks.Spec { return t.spec }

// sessionHelp says what the common arguments are where they cannot have the names that the server's instructions tell of.
const sessionHelp = "Of orchestra, not of this tool: what its other tools call "

// listedInput is the schema of a server's own arguments with the common ones, which cost every agent tokens and say no more than
// that they are there. What it demands of its own stands as it is: it is the server's to say, and the client's to show.
func listedInput(own json.RawMessage, names hooks.Names, safe bool) json.RawMessage {
	members, _ := rawjson.Read(own) // none of what is no object
	properties, _ := rawjson.Read(members.Get("properties"))
	common := [][2]string{{"session", names.Session}, {"intent_id", names.IntentID}}
	if safe {
		common = common[:1] // it needs no intent
	}
	for _, is := range common {
		property := schema.Schema{Type: "string"}
		if is[0] != is[1] {
			property.Description = sessionHelp + is[0] + "."
		}
		properties = properties.Set(is[1], schema.JSON(property))
	}
	return members.Set("type", json.RawMessage(`"object"`)).Set("properties", properties.Raw()).Raw()
}

// listedOutput is what clients are told of structuredContent: what the server says, a refusal, or, of a result that is too large,
// where the whole of it is. References from the root would lead elsewhere below anyOf: where there are others than to
// definitions, which are moved, nothing is said of the server's own.
func listedOutput(own json.RawMessage) json.RawMessage {
	members, err := rawjson.Read(own)
	var kept, moved rawjson.Object
	for _, m := range members {
		switch m.Name {
		case "$defs", "definitions":
			moved = append(moved, m)
		case "$schema":
		default:
			kept = append(kept, m)
		}
	}
	success := kept.Raw()
	if err != nil || !movable(own) {
		success, moved = json.RawMessage(`{}`), nil
	}
	refused := &schema.Schema{Required: []string{"error_type", "suggestion"}}
	cut := &schema.Schema{Required: []string{"artifact_id", "truncated"}}
	all := rawjson.Object{{Name: "type", Value: json.RawMessage(`"object"`)}}
	if kind := members.Get("type"); kind != nil && string(kind) != `"object"` { // the bridge lists it where a client can read it
		refused.Type, cut.Type, all = "object", "object", nil
	}
	anyOf := fmt.Appendf(nil, "[%s,%s,%s]", success, schema.JSON(refused), schema.JSON(cut))
	return append(append(all, rawjson.Member{Name: "anyOf", Value: anyOf}), moved...).Raw()
}

// movable reports whether all that a schema refers to are definitions at its root.
func movable(own json.RawMessage) bool {
	var root any
	if json.Unmarshal(own, &root) != nil {
		return false
	}
	var look func(part any) bool
	look = func(part any) bool {
		switch part := part.(type) {
		case []any:
			return !slices.ContainsFunc(part, func(one any) bool { return !look(one) })
		case map[string]any:
			for name, value := range part {
				ref, text := value.(string)
				switch {
				case name == "$ref" && text && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/"):
					return false
				case strings.HasPrefix(name, "$dynamic"), name == "$recursiveRef", (name == "$id" || name == "$anchor") && text:
					return false
				case !look(value):
					return false
				}
			}
		}
		return true
	}
	return look(root)
}

// definition is the tool as tools/list has it: as the server defined it, under our name, with our class in place of what the
// server says of itself, and without what is not passed on.
func (t *upstreamTool) definition() json.RawMessage {
	members, _ := rawjson.Read(t.tool.Definition) // none of what is no object
	members = members.Without("execution", "outputSchema")
	annotations := map[string]bool{"readOnlyHint": t.spec.ReadOnly, "destructiveHint": !t.spec.ReadOnly} // openWorldHint is true if left out
	members = members.Set("name", schema.JSON(t.tool.Name)).Set("inputSchema", t.spec.InputSchema()).Set("annotations", schema.JSON(annotations))
	if output := t.spec.OutputSchema; output != nil {
		members = members.Set("outputSchema", output())
	}
	return members.Raw()
}

// own are the arguments of a call that go to the server: as they were sent, without the common ones.
func (t *upstreamTool) own(args hooks.Arguments) (json.RawMessage, error) {
	given, err := args.Members()
	if err != nil {
		return nil, err
	}
	if given[t.names.Session] == nil && given[t.names.IntentID] == nil {
		return args.Raw(), nil
	}
	for _, name := range []string{t.names.Session, t.names.IntentID} {
		if kind := given[name].Kind(); given[name] != nil && kind != jsontext.KindString && kind != jsontext.KindNull {
			return nil, fmt.Errorf("%s: it has to be a text", name)
		}
	}
	members, err := rawjson.Read(args.Raw())
	return members.Without(t.names.Session, t.names.IntentID).Raw(), err
}

// of are the arguments of a call of the tool: its own, with the common ones of another call.
func (t *upstreamTool) of(own json.RawMessage, session, intentID string) (hooks.Arguments, error) {
	if len(own) == 0 {
		own = json.RawMessage("{}")
	}
	members, err := rawjson.Read(own)
	if err != nil {
		return hooks.Arguments{}, err
	}
	common := map[string]string{t.names.Session: session, t.names.IntentID: intentID}
	for _, name := range slices.Sorted(maps.Keys(common)) {
		if common[name] != "" {
			members = members.Set(name, schema.JSON(common[name]))
		}
	}
	return hooks.ReadArguments(members.Raw()), nil
}

// canonical is a value in the form in which it is compared; as it was sent where it has none.
func canonical(value json.RawMessage) json.RawMessage {
	if form, err := rawjson.Canonical(value); err == nil {
		return form
	}
	return value
}
