package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Two readers of one call must never disagree on it: names are exact and
// stand once, text is UTF-8, and what is not understood changes nothing.
func TestArgumentsAreStrict(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	w := b.wired()
	w.send(callLine(1, "select_active_intent", `{"intent_id":"INT-001"}`))
	handle := w.answers(1)[1].Object["session"].(string)
	for name, c := range map[string]struct{ tool, arguments, code string }{
		"unknown":             {"write_to_file", `{"path":"src/x","content":"x","mode":"0777"}`, "INVALID_ARGUMENTS"},
		"missing":             {"write_to_file", `{"path":"src/x"}`, "INVALID_ARGUMENTS"},
		"no path":             {"write_to_file", `{"content":"x"}`, "INVALID_ARGUMENTS"},
		"another case":        {"write_to_file", `{"Path":"src/x","content":"x"}`, "INVALID_ARGUMENTS"},
		"another case beside": {"write_to_file", `{"path":"src/x","PATH":".git/config","content":"x"}`, "INVALID_ARGUMENTS"},
		"another case common": {"write_to_file", `{"path":"src/x","content":"x","Session":"` + handle + `"}`, "INVALID_ARGUMENTS"},
		"twice":               {"write_to_file", `{"path":"src/x","path":"docs/x","content":"x"}`, "INVALID_ARGUMENTS"},
		"twice, escaped":      {"write_to_file", `{"path":"src/x","p\u0061th":"docs/x","content":"x"}`, "INVALID_ARGUMENTS"},
		"session twice":       {"write_to_file", `{"path":"src/x","content":"x","session":"` + handle + `","session":"` + handle + `"}`, "INVALID_ARGUMENTS"},
		"two paths":           {"write_to_file", `{"path":"src/x","file_path":"docs/x","content":"x"}`, "INVALID_ARGUMENTS"},
		"lone surrogate":      {"write_to_file", `{"path":"src/x","content":"\ud800"}`, "INVALID_ARGUMENTS"},
		"NUL in a path":       {"write_to_file", `{"path":"src/\u0000x","content":"x"}`, "PATH_OUTSIDE_WORKSPACE"},
		"a line break":        {"write_to_file", `{"path":"src/a\nb","content":"x"}`, "PATH_OUTSIDE_WORKSPACE"},
		"number for a text":   {"write_to_file", `{"path":1,"content":"x"}`, "INVALID_ARGUMENTS"},
		"null content":        {"write_to_file", `{"path":"src/x","content":null}`, "INVALID_ARGUMENTS"},
		"wrong class":         {"write_to_file", `{"path":"src/x","content":"x","mutation_class":"BOTH"}`, "INVALID_ARGUMENTS"},
		"a list":              {"list_files", `{"path":["src"]}`, "INVALID_ARGUMENTS"},
		"too large a number":  {"read_file", `{"path":"src/a.txt","limit":1e400}`, "INVALID_ARGUMENTS"},
		"over 64 bits":        {"read_file", `{"path":"src/a.txt","offset":99999999999999999999}`, "INVALID_ARGUMENTS"},
		"a fraction":          {"read_file", `{"path":"src/a.txt","limit":1.5}`, "INVALID_ARGUMENTS"},
		"huge timeout":        {"execute_command", `{"command":"true","timeout":9223372036854775807}`, "INVALID_ARGUMENTS"},
		"zero timeout":        {"execute_command", `{"command":"true","timeout":0}`, "INVALID_ARGUMENTS"},
		"no command":          {"execute_command", `{"command":""}`, "INVALID_ARGUMENTS"},
		"NUL in a command":    {"execute_command", `{"command":"echo \u0000"}`, "INVALID_ARGUMENTS"},
		"deep":                {"write_to_file", `{"path":"src/x","content":"x","deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "INVALID_ARGUMENTS"},
	} {
		w.send(callLine(7, c.tool, c.arguments))
		for _, a := range w.answers(1) {
			// Some never become a call.
			if a.Object["error_type"] != c.code && a.Error == 0 {
				t.Errorf("%s: want %s, got %.300s", name, c.code, a.Text)
			}
		}
	}
	b.holds(map[string]string{"src/x": "", "docs/x": ""})

	// Numbers at the edge of what can be held are numbers.
	w.send(callLine(8, "read_file", `{"path":"src/a.txt","limit":9223372036854775807}`) +
		callLine(9, "read_file", `{"path":"src/a.txt","offset":9223372036854775807}`) +
		callLine(10, "read_command_output", `{"artifact_id":"x","offset":9223372036854775807,"limit":9223372036854775807}`) +
		callLine(11, "edit_file", `{"path":"src/a.txt","old_string":"one","new_string":"1","expected_replacements":9223372036854775807}`))
	got := w.answers(4)
	for id, want := range map[int]any{8: nil, 9: "INVALID_ARGUMENTS", 10: "FILE_NOT_FOUND", 11: "DIFF_NOT_APPLIED"} {
		if got[id].Object["error_type"] != want || got[id].Error != 0 {
			t.Errorf("%d: %.300s", id, got[id].Text)
		}
	}
}

// What never becomes a call is a JSON-RPC error, and changes nothing.
func TestNoCallNoRefusal(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	w := b.wired()
	for name, line := range map[string]string{
		"not JSON":      "{\"jsonrpc\":\n",
		"not UTF-8":     callLine(7, "write_to_file", "{\"path\":\"src/\xff\",\"content\":\"x\"}"),
		"unknown tool":  callLine(7, "delete_everything", `{}`),
		"not a request": "[1,2]\n",
	} {
		w.send(line)
		for id, a := range w.answers(1) {
			if a.Error == 0 {
				t.Errorf("%s: %d is no error: %s", name, id, a.Text)
			}
		}
	}
}

// expected_replacements and replace_all say how often a text must stand there.
func TestExpectedReplacements(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "x y x\nx\n"})
	edit := func(more args) args {
		arguments := args{"path": "a", "old_string": "x", "new_string": "z"}
		for k, v := range more {
			arguments[k] = v
		}
		return arguments
	}
	r := b.refused("AMBIGUOUS_MATCH", "edit_file", edit(nil))
	if r.details()["found"] != 3.0 || fmt.Sprint(r.details()["lines"]) != "[1 1 2]" {
		t.Errorf("%v", r.details())
	}
	b.call("edit_file", edit(args{"expected_replacements": 2}))
	b.holds(map[string]string{"a": "x y x\nx\n"})
	b.refused("DIFF_NOT_APPLIED", "edit_file", edit(args{"expected_replacements": 4}))
	b.ok("edit_file", edit(args{"expected_replacements": 3}))
	b.holds(map[string]string{"a": "z y z\nz\n"})
	b.ok("edit_file", args{"path": "a", "old_string": "z", "new_string": "w", "replace_all": true})
	b.holds(map[string]string{"a": "w y w\nw\n"})
	b.refused("INVALID_ARGUMENTS", "edit_file", edit(args{"expected_replacements": 0}))
}

// Roo's names are there where the settings ask for them, and are the same tool.
func TestAliases(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "x\n"})
	for _, spec := range b.server.Specs() {
		if spec.Name == "edit" || spec.Name == "search_replace" {
			t.Errorf("%s is there without having been asked for", spec.Name)
		}
	}
	b.ok("edit_file", args{"file_path": "a", "old_string": "x", "new_string": "y"})
	b.ok("write_to_file", args{"file_path": "a", "path": "a", "content": "y"})
}

// No text of an argument that is not file content is without a bound, where a
// client can see it.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	content := []string{"content", "diff", "patch", "old_string", "new_string"}
	b := start(t, newWorkspace(t))
	w := b.wired()
	id := 0
	for _, tool := range listTools(t, legacy) {
		for name, p := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
			property := p.(map[string]any)
			items, isList := property["items"].(map[string]any)
			if isList {
				if property["maxItems"] == nil {
					t.Errorf("%s: %s has no maxItems", tool.Name, name)
				}
				property = items
			}
			if property["type"] != "string" || property["enum"] != nil || slices.Contains(content, name) {
				continue
			}
			most, bounded := property["maxLength"].(float64)
			if _, hasPattern := property["pattern"]; !bounded && !hasPattern {
				t.Errorf("%s: %s has no maxLength", tool.Name, name)
				continue
			}
			id++
			value := `"` + strings.Repeat("é", int(most)+1) + `"`
			if isList {
				value = "[" + value + "]"
			}
			w.send(callLine(id, tool.Name, `{"`+name+`":`+value+`}`))
			if got := w.answers(1)[id]; got.Object["error_type"] != "INVALID_ARGUMENTS" || !strings.Contains(got.Text, name) || len(got.Text) > 5000 {
				t.Errorf("%s: a long %s: %.300s", tool.Name, name, got.Text)
			}
		}
	}
	if id < 60 {
		t.Errorf("%d texts were looked at", id)
	}
}

// What is long is refused before anything is made of it, and quoted in part.
func TestLongArgumentsAreRefusedShortly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	b := start(t, newWorkspace(t))
	w := b.wired()
	for i, c := range []struct{ tool, arguments string }{
		{"execute_command", `{"command":"echo ` + strings.Repeat("a;", 1<<19) + `"}`},
		{"execute_command", `{"command":"# ` + strings.Repeat("é", 66_000) + `"}`},
		{"write_to_file", `{"path":"` + long + `","content":""}`},
		{"write_to_file", `{"path":"src/a.txt","content":"","` + long + `":1}`},
		{"write_to_file", `{"path":"src/a.txt","content":"","intent_id":"` + long + `"}`},
		{"write_to_file", `{"path":"src/a.txt","content":"","mutation_class":"` + long + `"}`},
		{"read_file", `{"path":"src/a.txt","session":"` + long + `"}`},
		{"record_lesson", `{"lesson":"x","category":"` + long + `"}`},
		{"resume_approval", `{"approval_id":"` + long + `"}`},
		{"request_scope_expansion", `{"paths":[` + strings.Repeat(`"x",`, 1<<16) + `"x"],"reason":"x"}`},
		{"read_file", `{"path":"src/a.txt","limit":` + strings.Repeat("9", 1<<20) + `}`},
	} {
		w.send(callLine(i+1, c.tool, c.arguments))
		if got := w.answers(1)[i+1]; got.Object["error_type"] != "INVALID_ARGUMENTS" || len(got.Text) > 10_000 {
			t.Errorf("%s %.60s: %d bytes: %.300s", c.tool, c.arguments, len(got.Text), got.Text)
		}
	}
}
