package mutation

import (
	"context"
	"path"
	"slices"
)

// joinHeaders judges headers called .h, which say nothing about their language,
// as C++ together with the files of C++ in the call, where they could not be
// proven as they are, or both sides have names that others can use. It gives the
// groups that are left.
func joinHeaders(ctx context.Context, order []string, groups map[string][]File, verdicts map[string]Verdict, around Surroundings, limits Limits) []string {
	headers, code := groups["c"], groups["cpp"]
	other := func(f File) bool { return path.Ext(f.Path) != ".h" || f.Moved() }
	c, cpp := verdicts["c"], verdicts["cpp"]
	apart := isRefactor(c) && isRefactor(cpp) && (len(c.Outward) == 0 || len(cpp.Outward) == 0)
	if len(headers) == 0 || len(code) == 0 || slices.ContainsFunc(headers, other) || apart {
		return order
	}
	groups["cpp"] = append(slices.Clone(headers), code...)
	verdicts["cpp"] = judgeAs(ctx, "cpp", func(File) string { return "cpp" }, groups["cpp"], around, limits)
	return slices.DeleteFunc(slices.Clone(order), func(name string) bool { return name == "c" })
}

func isRefactor(v Verdict) bool { return v.Evidence == Proven || v.Evidence == ProvenLocal }
