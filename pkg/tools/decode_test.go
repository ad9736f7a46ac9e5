package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
)

// shipped are the tools by name, of no workspace: their arguments can be read.
func shipped() map[string]hooks.Tool {
	f := tools.Families{Files: &tools.Files{}, Brain: &tools.Brain{}, Intents: &tools.Intents{}, Commands: &tools.Commands{}, Aliases: true}
	byName := map[string]hooks.Tool{}
	for _, tool := range tools.All(f, nil) {
		byName[tool.Spec().Name] = tool
	}
	return byName
}

// decode reads arguments as a call of the tool does; it gives the refusal, or nil.
func decode(t *testing.T, tool hooks.Tool, arguments string) *refusal.Refusal {
	t.Helper()
	check.Must(t, tool != nil, "there is no such tool")
	_, err := tool.Decode(hooks.ReadArguments([]byte(arguments)))
	if err == nil {
		return nil
	}
	r, ok := refusal.As(err)
	check.That(t, ok && r.Code() == refusal.InvalidArguments && len(r.Reason()) <= 12_000, "%.60s: %.300v", arguments, err)
	return r
}

// Two readers of one call must never disagree on it: names are exact and stand once, text is UTF-8, and what is not
// understood changes nothing. What is wrong is said of the member that it is wrong in.
func TestArgumentsAreStrict(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	all := shipped()
	for name, c := range map[string]struct{ tool, arguments, says string }{
		"unknown":             {"write_to_file", `{"path":"x","content":"x","mode":"0777"}`, "mode: there is no such argument"},
		"unknown and long":    {"write_to_file", `{"path":"x","content":"","` + long + `":1}`, "xxx…"},
		"missing":             {"write_to_file", `{"path":"x"}`, "content: it is missing"},
		"another case":        {"write_to_file", `{"Path":"x","content":"x"}`, "there is path"},
		"another case beside": {"write_to_file", `{"path":"x","PATH":".git/config","content":"x"}`, "PATH"},
		"another case common": {"write_to_file", `{"path":"x","content":"x","Session":"s"}`, "Session"},
		"twice":               {"write_to_file", `{"path":"x","path":"y","content":"x"}`, "duplicate"},
		"twice, escaped":      {"write_to_file", `{"path":"x","p\u0061th":"y","content":"x"}`, "duplicate"},
		"twice, deep":         {"list_files", `{"deep":{"a":1,"a":2}}`, "duplicate"},
		"session twice":       {"write_to_file", `{"path":"x","content":"x","session":"s","session":"s"}`, "duplicate"},
		"lone surrogate":      {"write_to_file", `{"path":"x","content":"\ud800"}`, "surrogate"},
		"not UTF-8":           {"write_to_file", "{\"path\":\"\xff\",\"content\":\"x\"}", "UTF-8"},
		"no object":           {"list_files", `[]`, "JSON object"},
		"nothing":             {"list_files", ``, "EOF"},
		"two objects":         {"list_files", `{}{}`, "follows"},
		"number for a text":   {"write_to_file", `{"path":1,"content":"x"}`, "path: got number, want string"},
		"null content":        {"write_to_file", `{"path":"x","content":null}`, "content: it is missing"},
		"wrong class":         {"write_to_file", `{"path":"x","content":"x","mutation_class":"BOTH"}`, "want one of AST_REFACTOR, INTENT_EVOLUTION"},
		"a long class":        {"write_to_file", `{"path":"x","content":"x","mutation_class":"` + long + `"}`, "mutation_class"},
		"a list":              {"list_files", `{"path":["src"]}`, "path: got array"},
		"too large a number":  {"read_file", `{"path":"x","limit":1e400}`, "limit"},
		"over 64 bits":        {"read_file", `{"path":"x","offset":99999999999999999999}`, "offset"},
		"a million digits":    {"read_file", `{"path":"x","limit":` + strings.Repeat("9", 1<<20) + `}`, "limit"},
		"a fraction":          {"read_file", `{"path":"x","limit":1.5}`, "whole number"},
		"zero timeout":        {"execute_command", `{"command":"true","timeout":0}`, "timeout: got 0"},
		"no command":          {"execute_command", `{"command":""}`, "command"},
		"a long command":      {"execute_command", `{"command":"echo ` + strings.Repeat("a;", 1<<19) + `"}`, "want at most 100000"},
		"zero replacements":   {"edit_file", `{"path":"x","old_string":"x","new_string":"y","expected_replacements":0}`, "expected_replacements"},
		"a bad category":      {"record_lesson", `{"lesson":"x","category":"` + long + `"}`, "category"},
		"many items":          {"request_scope_expansion", `{"paths":[` + strings.Repeat(`"x",`, 1<<16) + `"x"],"reason":"x"}`, "paths: got 65537 items"},
		"many wrong items":    {"request_scope_expansion", `{"paths":[` + strings.Repeat(`1,`, 99) + `1],"reason":"x"}`, "and 80 more"},
		"many strangers":      {"list_files", `{"a":1` + strangers(10_000) + `}`, "10001 arguments"},
		"deep":                {"list_files", `{"deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "deep"},
	} {
		r := decode(t, all[c.tool], c.arguments)
		check.That(t, r != nil && strings.Contains(r.Reason(), c.says), "%s: %.300v", name, r)
	}
	for name, c := range map[string]struct{ tool, arguments string }{
		"nulls":              {"read_file", `{"path":"x","limit":null,"offset":null,"mode":null}`},
		"both names":         {"write_to_file", `{"path":"x","file_path":"x","content":""}`},
		"the largest number": {"read_file", `{"path":"x","limit":9223372036854775807}`},
		"zero bytes":         {"read_command_output", `{"artifact_id":"x","byte_offset":0}`},
		"an alias":           {"search_replace", `{"path":"x","old_string":"x","new_string":"y"}`},
	} {
		if r := decode(t, all[c.tool], c.arguments); r != nil {
			t.Errorf("%s: %v", name, r)
		}
	}
}

func strangers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"s` + strings.Repeat("i", i%50) + string(rune('0'+i%10)) + strings.Repeat("j", i/50) + `":1`)
	}
	return b.String()
}

// No text of an argument that is not file content is without a bound, nor is a list. The tools' schemas do not say so: each
// character of them is paid for by every agent.
func TestTextsAreBounded(t *testing.T) {
	content := []string{"content", "diff", "patch", "old_string", "new_string"}
	seen := 0
	for name, tool := range shipped() {
		var schema struct{ Properties map[string]property }
		check.OK(t, json.Unmarshal(tool.Spec().InputSchema(), &schema))
		for argument, p := range schema.Properties {
			isList := p.Items != nil
			if isList {
				refusesLong(t, tool, argument, "["+strings.Repeat(`"x",`, 1000)+`"x"]`)
				p = *p.Items
			}
			if p.Type != "string" || p.Enum != nil || slices.Contains(content, argument) {
				continue
			}
			check.That(t, p.MaxLength == 0, "%s: the bound of %s is listed", name, argument)
			seen++
			value := `"` + strings.Repeat("é", 110_000) + `"`
			if isList {
				value = "[" + value + "]"
			}
			refusesLong(t, tool, argument, value)
		}
	}
	check.That(t, seen >= 50, "%d texts were looked at", seen)
}

func refusesLong(t *testing.T, tool hooks.Tool, argument, value string) {
	t.Helper()
	if r := decode(t, tool, `{"`+argument+`":`+value+`}`); r == nil || !strings.Contains(r.Reason(), argument+":") && !strings.Contains(r.Reason(), argument+"/") || len(r.Reason()) > 5000 {
		t.Errorf("%s: a long %s: %.300v", tool.Spec().Name, argument, r)
	}
}

type property struct {
	Type      string
	Enum      []string
	MaxLength int
	Items     *property
}
