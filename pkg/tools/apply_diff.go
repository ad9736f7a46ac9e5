package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

type diffArgs struct {
	fileArgs
	Diff string `json:"diff"`
}

func applyDiff(files *Files) hooks.Tool {
	spec := hooks.Spec{
		Name: "apply_diff", Title: "Apply a diff",
		Description: "Change parts of a file with SEARCH/REPLACE blocks, all or none, or with a unified diff. A block:\n" +
			"<<<<<<< SEARCH\n:start_line:N\n-------\nexact present lines\n=======\nnew lines\n>>>>>>> REPLACE\n" +
			":start_line: may be left out where the text stands once. The path must be in the selected intent's scope.",
	}
	return fileTool(files, spec, hooks.KnowsBySearch, func(effect *hooks.FileEffect, before string, a diffArgs) (string, []string, error) {
		result, err := edit.ApplyDiff(before, a.Diff, files.Match)
		if err != nil {
			return "", nil, diffAdvice.refuse(effect.Path, effect.Before.Hash, err)
		}
		return result.Text, result.Notes, nil
	})
}
