//go:build frozen

package frozen_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// property is what a schema says of an argument, as far as it can be broken.
type property struct {
	Type                 string
	Enum                 []string
	MaxLength, MinLength *int
	Minimum, Maximum     *int
}

// broken are values that do not fit.
func (p property) broken() (values []any) {
	values = append(values, nil, map[string]any{"a": 1})
	switch p.Type {
	case "string":
		values = append(values, 7, true, []string{"x"})
		if p.MaxLength != nil {
			values = append(values, strings.Repeat("x", *p.MaxLength+1))
		}
		if p.MinLength != nil || p.Enum != nil {
			values = append(values, "")
		}
		if p.Enum != nil {
			values = append(values, "sometimes", strings.ToLower(p.Enum[0]))
		}
	case "integer":
		values = append(values, "1", 1.5, -1)
		if p.Minimum != nil {
			values = append(values, *p.Minimum-1)
		}
		if p.Maximum != nil {
			values = append(values, *p.Maximum+1)
		}
	case "boolean":
		values = append(values, "true", 1)
	case "array":
		values = append(values, "x", []string{}, []any{7}, []string{""}, []string{strings.Repeat("x", 4001)})
	}
	return values
}

// fitting are arguments that a tool takes, for those that must be there.
var fitting = map[string]any{
	"content": "x", "path": "src/x.txt", "diff": "x", "old_string": "x", "new_string": "y", "patch": "x", "command": "true", "regex": "x",
	"artifact_id": "x", "command_id": "x", "intent_id": "INT-005", "lesson": "x", "paths": []string{"x"}, "reason": "x", "name": "x",
	"owned_scope": []string{"x"}, "description": "x", "approval_id": "x",
}

// arguments calls each tool that the server lists with what its schema refuses: each argument that is missing or of
// another type, size or value, and one that there is not.
func (w *world) arguments() {
	w.t.Helper()
	var listed struct {
		Tools []struct {
			Name        string
			InputSchema struct {
				Properties map[string]property
				Required   []string
			}
		}
	}
	w.client.request("tools/list", "{}")
	if err := json.Unmarshal(w.client.result, &listed); err != nil {
		w.t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		right := map[string]any{}
		for _, name := range tool.InputSchema.Required {
			right[name] = fitting[name]
		}
		if _, ok := tool.InputSchema.Properties["path"]; ok {
			right["path"] = fitting["path"]
		}
		try := func(name string, value any, what string) {
			wrong := maps.Clone(right)
			if wrong[name] = value; what == "missing" {
				delete(wrong, name)
			}
			text, err := json.Marshal(wrong)
			if err != nil {
				w.t.Fatal(err)
			}
			w.say("\n> %s %s %s\n%s", tool.Name, name, what, w.client.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool.Name, text)))
		}
		try("surprise", 1, "unknown")
		for _, name := range tool.InputSchema.Required {
			try(name, nil, "missing")
		}
		for _, name := range slices.Sorted(maps.Keys(tool.InputSchema.Properties)) {
			for _, value := range tool.InputSchema.Properties[name].broken() {
				try(name, value, fmt.Sprintf("%.40q", fmt.Sprint(value)))
			}
		}
	}
}

// subcommand is a line of a help text that names a command.
var subcommand = regexp.MustCompile(`^  ([a-z-]+) +\S`)

// subcommands are the commands below one, as its help lists them.
func subcommands(help string) (names []string) {
	listing := false
	for line := range strings.Lines(help) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, " ") && line != "" {
			listing = strings.HasSuffix(line, ":") && !slices.Contains([]string{"Usage:", "Examples:", "Flags:", "Global Flags:"}, line)
		}
		if m := subcommand.FindStringSubmatch(line); listing && m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

// helps walks all commands by their help texts, and what each says to a flag and to words that it does not know.
func (w *world) helps(path string) {
	w.t.Helper()
	show := func(line string) string {
		w.say("\n$ %s\n", line)
		w.run(line)
		return w.last
	}
	help := show("orchestra-mcp" + path + " --help")
	show("orchestra-mcp" + path + " --no-such-flag")
	show("orchestra-mcp" + path + " no such words < /dev/null")
	for _, name := range subcommands(help) {
		w.helps(path + " " + name)
	}
}
