package tools

import "github.com/intentgov/orchestra-mcp/pkg/hooks"

type writeArgs struct {
	fileArgs
	Content string `json:"content" doc:"Written as it is: no code fence, no line numbers."`
}

func writeToFile(files *Files) hooks.Tool {
	spec := hooks.Spec{
		Name: "write_to_file", Title: "Write a file", Idempotent: true,
		Description: "Create a file, or replace all of it. The path must be in the selected intent's scope. Read all of an existing " +
			"file first, or give expected_content_hash; for small changes use edit_file.",
	}
	return fileTool(files, spec, hooks.KnowsNothing, func(_ *hooks.FileEffect, _ string, a writeArgs) (string, []string, error) {
		return a.Content, nil, nil
	})
}
