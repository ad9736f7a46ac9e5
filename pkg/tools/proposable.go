package tools

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// proposable refuses globs that no operator's yes could make work: those that do not compile or leave the workspace, and
// those that name what no tool may change. A glob that is merely wide enough to match such a path, as ** is, gives nothing:
// the gate refuses the path itself.
func proposable(set *intent.Set, globs []string) error {
	if _, err := intent.CompileScope(globs); err != nil {
		return refusal.Newf(refusal.InvalidArguments, "The scope is not valid: %v.", err)
	}
	for _, g := range globs {
		if name, ok := namesProtected(g); ok {
			return refusal.AtPath(refusal.ProtectedPath, clip(g, 200), "%s names %s, which belongs to the governance files or to git; no intent can own it.", clip(g, 200), name)
		}
		path := literalPart(g)
		for _, asked := range []string{path, path + "/"} {
			if path == "" {
				break
			}
			if rule, ok := set.Ignore().Secret(asked); ok {
				return gate.SecretPath(clip(path, 200), rule)
			}
		}
	}
	return nil
}

// protectedNames are what a glob is held against. Their spellings on lenient
// file systems are workspace.Protect's to know, for parts that are no pattern.
func protectedNames() []string { return []string{".git", ".orchestration", ".intentignore"} }

// namesProtected reports the part of a glob that means a protected name: as it
// is, or as a pattern without *, which is made to fit it.
func namesProtected(glob string) (string, bool) {
	for _, part := range strings.FieldsFunc(glob, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if workspace.Protect(unescaped(part)) == workspace.ProtectNever {
			return part, true
		}
		fits, err := intent.CompileScope([]string{part})
		if err != nil || strings.Contains(part, "*") {
			continue
		}
		for _, name := range protectedNames() {
			if fits.Match(name) {
				return name, true
			}
		}
	}
	return "", false
}

func unescaped(part string) string { return strings.ReplaceAll(part, `\`, "") }

// literalPart is the path that a glob begins with, as far as it is no pattern.
func literalPart(glob string) string {
	var whole []string
	for part := range strings.SplitSeq(strings.TrimPrefix(glob, "./"), "/") {
		if part == "" || strings.ContainsAny(part, "*?[{}") {
			break
		}
		whole = append(whole, unescaped(part))
	}
	return strings.Join(whole, "/")
}
