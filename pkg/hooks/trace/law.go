package trace

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Law says what one command may change in the workspace, and why not the rest.
type Law struct {
	// Intent names the intent, and Scope are its globs; nil is everything.
	Intent string
	Scope  *intent.Scope
	Ignore *intent.Ignore // nil has no rules
	// Named are the targets of redirections that the gate has let pass.
	Named []string
	// Build says whether a path is meant for the output of builds; nil: none is.
	Build func(path string) bool
	// Packages are places that a package manager fills in this command; Build
	// says so of them too. What changes there is counted, not listed.
	Packages []string
	// Places are protected for what they are, as workspace.Inside gives them.
	Places []workspace.Place
	// Repositories are those that the command made or changed beside .git; nil
	// where it has not ended.
	Repositories *Repositories
	// Replayed are paths out of scope that a rehearsal of the line found to be what git
	// makes of people's commits. They are no matter of Objection, which asks for the
	// content too.
	Replayed []string
	// Git: a git command stands in the line and may write .git, so what its
	// history is may change.
	Git bool
}

// Objection says why a command may not change a path; "" if it may.
func (l *Law) Objection(path string) string {
	if reason := l.beyondScope(path); reason != "" || l.owns(path) {
		return reason
	}
	return "it is out of the scope of " + l.Intent
}

// Wanted are those of some paths that a scope would have to own besides, to let a command change them all; nil if no
// scope can.
func (l *Law) Wanted(paths ...string) (wanted []string) {
	for _, path := range paths {
		switch {
		case l.beyondScope(path) != "":
			return nil
		case !l.owns(path):
			wanted = append(wanted, path)
		}
	}
	return wanted
}

// beyondScope says why a path is closed whatever the scope.
func (l *Law) beyondScope(path string) string {
	switch {
	case slices.Contains(l.Named, path):
		return ""
	case GitState(path):
		if l.Git {
			return ""
		}
		return "it is part of git's history, which only a git command in the line may change"
	}
	protection := workspace.ProtectIn(l.Places, path)
	switch protection {
	case workspace.ProtectOwn:
		return "it belongs to what orchestra-mcp keeps of the user"
	case workspace.ProtectNever:
		return "it belongs to the governance files or to git"
	}
	switch {
	case !utf8.ValidString(path):
		return "its name is not UTF-8, and no rule could speak of it"
	case workspace.TooDeep(path):
		return fmt.Sprintf("it is more than %d directories deep, or its path is longer than %d bytes, where no command may make anything", workspace.MaxDepth, workspace.MaxPath)
	}
	if l.Ignore != nil {
		if rule, ok := l.Ignore.Secret(path); ok {
			return fmt.Sprintf("it is out of reach for every tool (%s:%d)", rule.File, rule.Line)
		}
		if rule, ok := l.Ignore.PathBlocked(path); ok {
			return fmt.Sprintf("it is closed to changes (%s:%d)", rule.File, rule.Line)
		}
	}
	if protection == workspace.ProtectProgramConfig && !l.builds(path) {
		return "it can make other programs run code or grant rights, which needs the operator's approval"
	}
	if l.Repositories != nil && !l.builds(path) {
		return l.Repositories.Objection(path)
	}
	return ""
}

// owns reports whether a path that is not closed is in the scope, or needs none.
func (l *Law) owns(path string) bool {
	if l.Scope == nil || l.Scope.Match(path) || slices.Contains(l.Named, path) || l.Git && GitState(path) || l.builds(path) {
		return true
	}
	if l.Ignore == nil {
		return false
	}
	_, unscoped := l.Ignore.Unscoped(path)
	return unscoped
}

func (l *Law) builds(path string) bool { return l.Build != nil && l.Build(path) }

// Packaged is the package directory that a change is in, with both its ends, and
// that nothing else forbids; "" if there is none.
func (l *Law) Packaged(c *snapshot.Change) (place string) {
	for _, place := range l.Packages {
		in := func(name string) bool { return name == place || strings.HasPrefix(name, place+"/") }
		if in(c.Path) && (c.From == "" || in(c.From)) && l.Objection(c.Path) == "" {
			return place
		}
	}
	return ""
}

// DetailJudged is the key of what a command's entry in the journal, and the
// record that settles it after a crash, say of the law that it began under.
const DetailJudged = "judged_by"

// The keys in it.
const (
	judgedScope  = "scope"    // globs; without the key everything is in scope
	judgedNamed  = "named"    // Law.Named
	judgedPlaces = "places"   // for build output
	judgedPacked = "packages" // Law.Packages
	judgedGit    = "git"      // Law.Git
	judgedReplay = "replayed" // Law.Replayed
	judgedFull   = "enforced" // the kernel let nothing that is there out of scope be changed
)

// Judged is the law as a detail of the command's entry in the journal. places
// are those of Build. full: the sandbox lets nothing else be changed.
func (l *Law) Judged(places []string, full bool) map[string]any {
	d := map[string]any{}
	if l.Scope != nil && !l.Scope.Unrestricted() {
		d[judgedScope] = l.Scope.Globs()
	}
	for key, list := range map[string][]string{judgedNamed: l.Named, judgedPlaces: places, judgedPacked: l.Packages, judgedReplay: l.Replayed} {
		if len(list) > 0 {
			d[key] = list
		}
	}
	for key, is := range map[string]bool{judgedGit: l.Git, judgedFull: full} {
		if is {
			d[key] = true
		}
	}
	return d
}

// judged is the law that an entry tells of, with the rules of .intentignore as
// they stand now; nil if it tells of none.
func judged(intentID string, detail map[string]any, ignore *intent.Ignore) (law *Law, full bool) {
	d, ok := detail[DetailJudged].(map[string]any)
	if !ok {
		return nil, false
	}
	law = &Law{Intent: intentID, Ignore: ignore, Named: texts(d[judgedNamed]), Packages: texts(d[judgedPacked]), Replayed: texts(d[judgedReplay])}
	if globs := texts(d[judgedScope]); len(globs) > 0 {
		scope, err := intent.CompileScope(globs)
		if err != nil {
			return nil, false // it did compile when the command began
		}
		law.Scope = scope
	}
	law.Git, _ = d[judgedGit].(bool)
	full, _ = d[judgedFull].(bool)
	places := texts(d[judgedPlaces])
	law.Build = func(name string) bool {
		return slices.ContainsFunc(places, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	}
	return law, full
}

// texts is a list in a detail, as written or as read from JSON.
func texts(list any) []string {
	if as, ok := list.([]string); ok {
		return as
	}
	var found []string
	all, _ := list.([]any)
	for _, each := range all {
		if text, ok := each.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// GitState reports whether a path says what the history of a repository is: its
// HEAD, branches, tags, stash, notes, replacements and index, and what git is in
// the middle of.
func GitState(name string) bool {
	at := strings.LastIndex("/"+name, "/.git/")
	if at < 0 {
		return false
	}
	switch inside := name[at+len(".git/"):]; inside {
	case "HEAD", "packed-refs", "index", "info/grafts", "shallow":
		return true
	default:
		first, rest, below := strings.Cut(inside, "/")
		switch first {
		case "refs":
			return below && !strings.HasPrefix(rest+"/", "remotes/") && (rest == "stash" || strings.Contains(rest, "/"))
		case "rebase-merge", "sequencer":
			return below
		}
		return false
	}
}
