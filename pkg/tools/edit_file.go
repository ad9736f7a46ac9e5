package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

type editArgs struct {
	fileArgs
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	Expected   int    `json:"expected_replacements,omitempty" min:"1" default:"1"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

func editFile(files *Files, name string) hooks.Tool {
	spec := hooks.Spec{
		Name: name, Title: "Edit a file",
		Description: "Replace old_string by new_string in a file. old_string is exact, and stands once, unless " +
			"expected_replacements or replace_all says otherwise. The path must be in the selected intent's scope.",
	}
	return fileTool(files, spec, hooks.KnowsBySearch, func(effect *hooks.FileEffect, before string, a editArgs) (string, []string, error) {
		result, err := edit.Replace(before, a.OldString, a.NewString, a.Expected, a.ReplaceAll)
		if err != nil {
			return "", nil, replaceAdvice.refuse(effect.Path, effect.Before.Hash, err)
		}
		return result.Text, result.Notes, nil
	})
}
