package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

type editArgs struct {
	fileArgs
	OldString            string `json:"old_string"`
	NewString            string `json:"new_string"`
	ExpectedReplacements int    `json:"expected_replacements"`
	ReplaceAll           bool   `json:"replace_all"`
}

func editFile(d *Deps, name string) hooks.Tool {
	spec := hooks.Spec{
		Name: name, Title: "Replace text in a file", Class: hooks.Destructive,
		Description: "Replace old_string by new_string in an existing file. old_string must be the exact text, with enough lines around it " +
			"to stand only once, unless expected_replacements or replace_all says otherwise. Needs a selected intent whose scope covers the path.",
		InputSchema: pathInput([]string{"old_string", "new_string"}, schema{
			"old_string":            text("The exact text now in the file."),
			"new_string":            text("The text to put there."),
			"expected_replacements": schema{"type": "integer", "minimum": 1, "default": 1, "description": "How often old_string stands in the file."},
			"replace_all":           flag("Replace every occurrence."),
			"expected_content_hash": word(expectedHelp),
		}),
		OutputSchema: output(writtenSchema()),
	}
	return &fileTool[editArgs]{
		deps: d, spec: spec, args: &arguments{name: name, source: spec.InputSchema}, knowledge: hooks.KnowsBySearch,
		plan: func(effect *hooks.FileEffect, before string, a editArgs) (string, []string, error) {
			expected := a.ExpectedReplacements
			if expected == 0 {
				expected = 1
			}
			result, err := edit.Replace(before, a.OldString, a.NewString, expected, a.ReplaceAll)
			if err != nil {
				return "", nil, replaceAdvice.refuse(effect.Path, effect.BeforeHash, err)
			}
			return result.Text, result.Notes, nil
		},
	}
}
