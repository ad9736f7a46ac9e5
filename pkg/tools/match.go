package tools

import (
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// editAdvice is how a tool's call is to be mended, in words of its own arguments.
type editAdvice struct {
	// form: the text of the diff is malformed, or its parts do not go together.
	form string
	// lost: the text is not in the file.
	lost string
	// unclear: the text fits several places.
	unclear string
}

var (
	diffAdvice = editAdvice{
		form:    "Mend the diff as the message says, and send all of it again.",
		lost:    "Call read_file on the path, make the blocks that failed from its present lines, and send all blocks again.",
		unclear: "Name the place by its line (`:start_line:N` in a search block, `@@ -N` in a unified diff) or by more of the lines around it, and send all blocks again.",
	}
	replaceAdvice = editAdvice{
		form:    "Mend `old_string` and `new_string` as the message says.",
		lost:    "Call read_file on the path and copy `old_string` from its present lines, without the line numbers.",
		unclear: "Put more of the lines around it into `old_string`, or set `expected_replacements` or `replace_all`.",
	}
	patchAdvice = editAdvice{
		form:    "Mend the patch as the message says, and send all of it again.",
		lost:    "Call read_file on the path, make the hunks that failed from its present lines, and send the whole patch again.",
		unclear: "Add context lines, or an `@@` line with the class or function that is meant, and send the whole patch again.",
	}
)

// refuse turns a text that does not match into its refusal, with the first blocks that failed.
func (a editAdvice) refuse(path, hash string, err error) error {
	if errors.Is(err, edit.ErrSyntax) {
		return refusal.AtPath(refusal.DiffNotApplied, path, "The diff for %s cannot be read, and nothing was changed: %v", path, err).
			WithHint(refusal.HintFixArguments).Suggest("%s", a.form)
	}
	code, suggestion, hint := refusal.DiffNotApplied, a.form, refusal.HintFixArguments
	switch {
	case errors.Is(err, edit.ErrAmbiguous):
		code, suggestion = refusal.AmbiguousMatch, a.unclear
	case errors.Is(err, edit.ErrNoMatch):
		suggestion, hint = a.lost, refusal.HintReadFile
	}
	var match *edit.MatchError
	var replace *edit.ReplaceError
	isMatch := errors.As(err, &match)
	text := path + ": " + err.Error()
	if isMatch && match.Path != "" {
		text = err.Error()
	}
	r := refusal.New(code, text).With("path", path).With("content_hash", hash).WithHint(hint).Suggest("%s", suggestion)
	switch {
	case isMatch:
		r = r.With("failed_blocks", match.Shown()).With("failed", len(match.Blocks))
	case errors.As(err, &replace):
		r = r.With("found", replace.Found).With("lines", replace.Candidates).With("surroundings", replace.Surroundings)
	}
	return r
}
