package tools

import "github.com/intentgov/orchestra-mcp/pkg/hooks"

type writeArgs struct {
	fileArgs
	Content string `json:"content" doc:"The whole new content, exactly as it shall stand: no code fence, no line numbers."`
}

func writeToFile(files *Files) hooks.Tool {
	spec := hooks.Spec{
		Name: "write_to_file", Title: "Write a whole file", Idempotent: true,
		Description: "Create a file or replace its whole content. Needs a selected intent whose scope covers the path. " +
			"An existing file can be replaced only after read_file delivered all of its lines (or with expected_content_hash); " +
			"for small changes use apply_diff or edit_file. The content is written exactly as given, in the file's present encoding; " +
			"missing directories are made.",
	}
	return fileTool(files, spec, hooks.KnowsNothing, func(_ *hooks.FileEffect, _ string, a writeArgs) (string, []string, error) {
		return a.Content, nil, nil
	})
}
