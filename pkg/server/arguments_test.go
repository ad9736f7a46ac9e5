package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// Arguments that a tool cannot read are refused before anything is looked at;
// what its schema cannot say is refused too. pkg/tools has the whole table.
func TestArgumentsAreStrict(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	w := b.wired()
	w.send(callLine(1, "select_active_intent", `{"intent_id":"INT-001"}`))
	handle := w.answers(1)[1].Object["session"].(string)
	for name, c := range map[string]struct{ tool, arguments, code string }{
		"unknown":          {"write_to_file", `{"path":"src/x","content":"x","mode":"0777"}`, "INVALID_ARGUMENTS"},
		"session twice":    {"write_to_file", `{"path":"src/x","content":"x","session":"` + handle + `","session":"` + handle + `"}`, "INVALID_ARGUMENTS"},
		"no path":          {"write_to_file", `{"content":"x"}`, "INVALID_ARGUMENTS"},
		"two paths":        {"write_to_file", `{"path":"src/x","file_path":"docs/x","content":"x"}`, "INVALID_ARGUMENTS"},
		"NUL in a path":    {"write_to_file", `{"path":"src/\u0000x","content":"x"}`, "PATH_OUTSIDE_WORKSPACE"},
		"a line break":     {"write_to_file", `{"path":"src/a\nb","content":"x"}`, "PATH_OUTSIDE_WORKSPACE"},
		"huge timeout":     {"execute_command", `{"command":"true","timeout":9223372036854775807}`, "INVALID_ARGUMENTS"},
		"long in bytes":    {"execute_command", `{"command":"# ` + strings.Repeat("é", 66_000) + `"}`, "INVALID_ARGUMENTS"},
		"NUL in a command": {"execute_command", `{"command":"echo \u0000"}`, "INVALID_ARGUMENTS"},
		"deep":             {"write_to_file", `{"path":"src/x","content":"x","deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "INVALID_ARGUMENTS"},
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
