package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The steps of 4 each look at every path of the call before the next begins,
// so a hard failure of the last path outranks an askable one of the first.

// rehearsed is a check of what a rehearsal did, alone.
func rehearsed(check Check) Check {
	return func(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
		part := *c
		part.Effects.Files = slices.DeleteFunc(slices.Clone(c.Effects.Files), func(f *hooks.FileEffect) bool { return !f.Rehearsed })
		if len(part.Effects.Files) == 0 {
			return hooks.Allow()
		}
		return check(ctx, g, &part)
	}
}

// path: inside the workspace, and a regular file where one is needed.
func path(_ context.Context, _ *Gate, c *hooks.Call) hooks.Decision {
	for _, f := range c.Effects.Files {
		if f.Problem != nil {
			return hooks.Refuse(f.Problem)
		}
	}
	return hooks.Allow()
}

// protected: what this program keeps of the user is out of reach for every
// tool; governance files and git are nobody's to write.
func protected(_ context.Context, _ *Gate, c *hooks.Call) hooks.Decision {
	for _, f := range c.Effects.Files {
		if f.Protection == workspace.ProtectOwn {
			return hooks.Refuse(ownPath(f))
		}
	}
	if skips(c) {
		return hooks.Allow()
	}
	for _, f := range c.Effects.Files {
		// The working directory of a command stands among the files as a read.
		if (f.Mutates() || c.Effects.Command != nil) && f.Protection == workspace.ProtectNever {
			return hooks.Refuse(protectedPath(f))
		}
	}
	return hooks.Allow()
}

// strictest is the path of an effect that its protection comes from.
func strictest(f *hooks.FileEffect) string {
	if f.From != "" && workspace.Protect(f.From) == f.Protection {
		return f.From
	}
	return f.Path
}

func ownPath(f *hooks.FileEffect) *refusal.Refusal {
	return refusal.AtPath(refusal.ProtectedPath, f.Source(), "%s belongs to what orchestra-mcp keeps of the user (settings, keys, caches), which no tool reads or changes.", f.Source()).
		Suggest("Leave it as it is. The user's settings are the user's to change, in a terminal.")
}

func protectedPath(f *hooks.FileEffect) *refusal.Refusal {
	path := strictest(f)
	return refusal.AtPath(refusal.ProtectedPath, path, "%s belongs to the governance files or to git and cannot be written by tools.", path)
}

// SecretPath is the refusal for a path that no tool may read or change.
func SecretPath(path string, rule intent.IgnoreRule) *refusal.Refusal {
	return refusal.AtPath(refusal.IntentignorePathBlocked, path, "%s is out of reach for every tool (%s:%d).", path, rule.File, rule.Line)
}

// ignored: secret paths for every tool, other path rules for mutations.
func ignored(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	ignore := c.Ignore
	for _, f := range c.Effects.Files {
		for _, path := range f.Paths() {
			named := path
			if f.Directory {
				named += "/"
			}
			if rule, ok := ignore.Secret(named); ok {
				return hooks.Refuse(SecretPath(path, rule))
			}
		}
	}
	if skips(c) {
		return hooks.Allow()
	}
	blocked := failing(c, func(path string) bool {
		_, is := ignore.PathBlocked(path)
		return is
	})
	if len(blocked) == 0 {
		return hooks.Allow()
	}
	rule, _ := ignore.PathBlocked(blocked[0])
	return hooks.Ask(g.IgnoredPath, refusal.AtPath(refusal.IntentignorePathBlocked, blocked[0], "%s is closed to changes (%s:%d: %s).", blocked[0], rule.File, rule.Line, rule.Text)).About(blocked...)
}

// scope: every mutated path belongs to the intent, or to none by an `unscoped:` rule of a file that the operator has trusted.
func scope(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if skips(c) || c.Intent == nil {
		return hooks.Allow()
	}
	var notes []string
	outside := failing(c, func(path string) bool {
		if c.Intent.Scope().Match(path) {
			return false
		}
		rule, ok := c.Ignore.Unscoped(path)
		if ok {
			notes = append(notes, fmt.Sprintf("%s is out of the scope of %s; %s:%d lets it pass", path, c.Intent.ID, rule.File, rule.Line))
		}
		return !ok
	})
	if len(outside) == 0 {
		return hooks.Allow(notes...)
	}
	return hooks.Ask(g.ScopeViolation, outOfScope(c, outside)).About(outside...)
}

// scopeOfRehearsed is scope without what git makes of people's commits.
func scopeOfRehearsed(ctx context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	c.Effects.Files = slices.DeleteFunc(c.Effects.Files, func(f *hooks.FileEffect) bool { return f.Reproduced })
	return scope(ctx, g, c)
}

// failing lists every path of the call that a check stands against: the
// operator is asked about all of them, and answers for no other.
func failing(c *hooks.Call, fails func(path string) bool) []string {
	part := *c
	part.Effects.Files = slices.DeleteFunc(slices.Clone(c.Effects.Files), func(f *hooks.FileEffect) bool { return f.Cleared })
	return slices.DeleteFunc(mutated(&part), func(path string) bool { return !fails(path) })
}

func outOfScope(c *hooks.Call, outside []string) *refusal.Refusal {
	path := outside[0]
	covering := []string{}
	for _, in := range c.Intents.Covering(path) {
		covering = append(covering, in.ID)
	}
	r := refusal.Newf(refusal.ScopeViolation,
		"Scope Violation: %s is not authorized to edit [%s]. Request scope expansion.", c.Intent.ID, path)
	purpose := purposeOf(c, outside)
	if purpose != "" {
		r = refusal.Newf(refusal.ScopeViolation,
			"%s: the command can change %s, out of the scope of %s.", purpose, strings.Join(outside, ", "), c.Intent.ID).With("purpose", purpose)
	}
	r = r.With("path", path).With("intent_id", c.Intent.ID).
		With("owned_scope", c.Intent.OwnedScope).With("covering_intents", covering)
	if command := c.Effects.Command; command != nil && command.ByHand != "" {
		r = r.With("person_types", command.ByHand)
	}
	if len(outside) > 1 {
		r = r.With("paths", outside[:min(len(outside), maxListed)])
	}
	wanted := WantedScope(outside)
	if rule, waits := c.Ignore.UnscopedUntrusted(path); waits {
		return r.With("untrusted", fmt.Sprintf("%s:%d", rule.File, rule.Line)).
			Suggest("A rule (%s:%d) exempts it from scopes, but has no effect until the operator has looked at it: ask the user to run orchestra-mcp trust. Or call request_scope_expansion with paths: %s and the reason.",
				rule.File, rule.Line, wanted)
	}
	if len(covering) > 0 && purpose == "" {
		in, _ := c.Intents.Get(covering[0])
		return r.Suggest("Call request_scope_expansion with paths: %s and the reason, or select %s, which owns %v.", wanted, in.ID, in.OwnedScope)
	}
	if len(covering) > 0 {
		return r.Suggest("Call request_scope_expansion with paths: %s and the reason; then run the command again.", wanted)
	}
	return r.Suggest("Call request_scope_expansion with paths: %s and the reason; no other intent owns it.", wanted)
}

// maxListed bounds the paths that a refusal names.
const maxListed = 20

// WantedScope is the argument `paths` of request_scope_expansion for these files.
func WantedScope(outside []string) string {
	var globs []string
	for _, path := range outside[:min(len(outside), maxListed)] {
		globs = append(globs, fmt.Sprintf("%q", pathglob.Escape(path)))
	}
	return "[" + strings.Join(globs, ", ") + "]"
}

// purposeOf is what the call changes the paths for, if it says the same of all.
func purposeOf(c *hooks.Call, paths []string) string {
	purpose := ""
	for _, f := range c.Effects.Files {
		if f.Mutates() && slices.Contains(paths, f.Path) {
			if f.Purpose == "" {
				return ""
			}
			purpose = f.Purpose
		}
	}
	return purpose
}

// programConfig: files that make other programs run code need an approval, and
// so do those of a directory that git would take for a repository.
func programConfig(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if skips(c) {
		return hooks.Allow()
	}
	repositories := repositoriesOf(c)
	var paths []string
	why := "can make other programs run code or grant rights"
	for _, f := range c.Effects.Files {
		switch {
		case !f.Mutates(), f.Cleared:
		case f.Protection == workspace.ProtectProgramConfig:
			paths = append(paths, strictest(f))
		case slices.ContainsFunc(f.GitParts, func(part workspace.GitPart) bool { return slices.Contains(repositories, part.Dir) }):
			if paths = append(paths, f.Paths()...); len(paths) == 1 {
				why = fmt.Sprintf("is part of what git takes for a repository (%s), whose configuration and hooks it obeys", cmp.Or(repositories[0], "the workspace itself"))
			}
		}
	}
	if len(paths) == 0 {
		return hooks.Allow()
	}
	return hooks.Ask(g.ProgramConfig, refusal.AtPath(refusal.ApprovalRequired, paths[0], "%s %s, so changing it needs the operator's approval.", paths[0], why)).About(paths...)
}

// repositoriesOf are the directories that git takes for repositories when the call has taken effect.
func repositoriesOf(c *hooks.Call) []string {
	var parts []workspace.GitPart
	for _, f := range c.Effects.Files {
		if f.Mutates() {
			parts = append(parts, f.GitParts...)
		}
	}
	return workspace.Repositories(parts)
}

func mutated(c *hooks.Call) []string {
	var paths []string
	for _, f := range c.Effects.Files {
		if f.Mutates() {
			paths = append(paths, f.Paths()...)
		}
	}
	return paths
}
