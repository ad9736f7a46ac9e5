package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

type diffArgs struct {
	fileArgs
	Diff string `json:"diff" doc:"One or more SEARCH/REPLACE blocks, or a unified diff of this one file."`
}

func applyDiff(files *Files) hooks.Tool {
	spec := hooks.Spec{
		Name: "apply_diff", Title: "Apply a diff to a file",
		Description: "Change parts of an existing file with SEARCH/REPLACE blocks or a unified diff. All blocks apply or none. " +
			"Each block:\n<<<<<<< SEARCH\n:start_line:N\n-------\nexact lines now in the file\n=======\nlines to put there\n>>>>>>> REPLACE\n" +
			":start_line: may be left out where the text stands only once. Needs a selected intent whose scope covers the path. " +
			"The error of a block that does not match shows the nearest lines with their numbers.",
	}
	return fileTool(files, spec, hooks.KnowsBySearch, func(effect *hooks.FileEffect, before string, a diffArgs) (string, []string, error) {
		result, err := edit.ApplyDiff(before, a.Diff, files.Match)
		if err != nil {
			return "", nil, diffAdvice.refuse(effect.Path, effect.Before.Hash, err)
		}
		return result.Text, result.Notes, nil
	})
}
