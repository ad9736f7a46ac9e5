package tools

import (
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

type diffArgs struct {
	fileArgs
	Diff string `json:"diff"`
}

func applyDiff(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "apply_diff", Title: "Apply a diff to a file", Class: hooks.Destructive,
		Description: "Change parts of an existing file with SEARCH/REPLACE blocks or a unified diff. All blocks apply or none. " +
			"Each block:\n<<<<<<< SEARCH\n:start_line:N\n-------\nexact lines now in the file\n=======\nlines to put there\n>>>>>>> REPLACE\n" +
			":start_line: may be left out where the text stands only once. Needs a selected intent whose scope covers the path. " +
			"The error of a block that does not match shows the nearest lines with their numbers.",
		InputSchema: pathInput([]string{"diff"}, schema{
			"diff":                  text("One or more SEARCH/REPLACE blocks, or a unified diff of this one file."),
			"expected_content_hash": word(expectedHelp),
		}),
		OutputSchema: output(writtenSchema()),
	}
	return &fileTool[diffArgs]{
		deps: d, spec: spec, args: &arguments{name: spec.Name, source: spec.InputSchema}, knowledge: hooks.KnowsBySearch,
		plan: func(effect *hooks.FileEffect, before string, a diffArgs) (string, []string, error) {
			result, err := edit.ApplyDiff(before, a.Diff, d.Match)
			if err != nil {
				return "", nil, diffAdvice.refuse(effect.Path, effect.BeforeHash, err)
			}
			return result.Text, result.Notes, nil
		},
	}
}
