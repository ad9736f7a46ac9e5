package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

type editArgs struct {
	fileArgs
	OldString  string `json:"old_string" doc:"The exact text now in the file."`
	NewString  string `json:"new_string" doc:"The text to put there."`
	Expected   int    `json:"expected_replacements,omitempty" min:"1" default:"1" doc:"How often old_string stands in the file."`
	ReplaceAll bool   `json:"replace_all,omitempty" doc:"Replace every occurrence."`
}

func editFile(files *Files, name string) hooks.Tool {
	spec := hooks.Spec{
		Name: name, Title: "Replace text in a file",
		Description: "Replace old_string by new_string in an existing file. old_string must be the exact text, with enough lines around it " +
			"to stand only once, unless expected_replacements or replace_all says otherwise. Needs a selected intent whose scope covers the path.",
	}
	return fileTool(files, spec, hooks.KnowsBySearch, func(effect *hooks.FileEffect, before string, a editArgs) (string, []string, error) {
		result, err := edit.Replace(before, a.OldString, a.NewString, a.Expected, a.ReplaceAll)
		if err != nil {
			return "", nil, replaceAdvice.refuse(effect.Path, effect.Before.Hash, err)
		}
		return result.Text, result.Notes, nil
	})
}
