package conformance_test

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// asking are the tools that ask the client's user.
func asking() []server.Handler {
	needs := asks("test_missing_capability", "confirm", "Please confirm", `"ok":{"type":"boolean"}`)
	needs.Asks = true
	return []server.Handler{
		asks("test_elicitation", "user", "Please tell", `"username":{"type":"string"},"email":{"type":"string"}`),
		asks("test_elicitation_sep1034_defaults", "form", "Please review", defaults),
		asks("test_elicitation_sep1330_enums", "choices", "Please choose", choices),
		asks("test_streaming_elicitation", "user_name", "What is your name?", `"name":{"type":"string"}`),
		asks("test_input_required_result_elicitation", "user_name", "What is your name?", `"name":{"type":"string"}`),
		asks("test_input_required_result_request_state", "confirm", "Please confirm", `"ok":{"type":"boolean"}`),
		asks("test_input_required_result_tampered_state", "confirm", "Please confirm", `"ok":{"type":"boolean"}`),
		does("test_input_required_result_multi_round", "{}", func(ctx context.Context) (*mcp.CallToolResult, error) {
			name, err := ask(ctx, "step1", "Step 1: What is your name?", `"name":{"type":"string"}`)
			if err != nil {
				return nil, err
			}
			colour, err := ask(ctx, "step2", "Step 2: What is your favorite color?", `"color":{"type":"string"}`)
			return text("%s %s", name, colour), err
		}),
		needs,
	}
}

// asks is a tool with one question.
func asks(name, key, message, properties string) server.Handler {
	return does(name, `{"message":{"type":"string"}}`, func(ctx context.Context) (*mcp.CallToolResult, error) {
		answer, err := ask(ctx, key, message, properties)
		return text("User response: %s", answer), err
	})
}

// ask asks for some fields, all of which have to be filled in unless they have a default.
func ask(ctx context.Context, key, message, properties string) (string, error) {
	schema := map[string]any{"type": "object", "properties": json.RawMessage("{" + properties + "}")}
	encoded, err := json.Marshal(schema)
	if err != nil {
		return "", err
	}
	r, err := server.ClientOf(ctx).Ask(ctx, key, server.Question{Message: message, Schema: encoded})
	return string(r.Action) + " " + string(r.Content), err
}

const (
	defaults = `"name":{"type":"string","description":"User name","default":"John Doe"},
		"age":{"type":"integer","description":"User age","default":30},
		"score":{"type":"number","description":"User score","default":95.5},
		"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","description":"Verification status","default":true}`
	choices = `"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}`
)
