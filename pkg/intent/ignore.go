package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// Ignore holds the rules of .orchestration/.intentignore and of .intentignore at the workspace root.
//
// One rule a line; blank lines and lines that begin with `#` are skipped:
//
//	intent:ID      no call under that intent
//	approve:ID     every destructive call under that intent needs an approval
//	ID             means the same, if an intent of this id is declared or the line has the form LETTERS-DIGITS
//	secret:GLOB    neither readable nor changeable by any file tool
//	unscoped:GLOB  matching paths skip the scope check, once the operator has trusted the file's content
//	GLOB           no mutation of matching paths under any intent
//
// A GLOB has the syntax of .gitignore, so it also covers what lies below a matching directory, and one without a slash
// matches at any depth. `!` negates earlier rules of the same kind in the same file (`secret:!GLOB` likewise); it never
// undoes a rule of the other file, so merging the two can only add rules. A line that could be taken for a mistyped
// directive (`secert:.env`), that begins with a space or contains control characters, that ends in ` # …` (only after an
// ID is that a comment) or whose glob does not compile is unclear, and makes the file unreadable; a backslash makes
// such a character part of a name.
//
// A bare line that is a declared intent's id and also names an entry of the workspace's root is unclear: `approve:NAME`
// says the one, `/NAME` the other. So that no agent makes it so, such an entry cannot be created.
//
// Matching is case-sensitive. Where the file system is not, the caller has to pass the name as it stands on disk.
// The nil *Ignore has no rules.
type Ignore struct {
	files []ignoreFile
}

// ignoreFile is one parsed file.
type ignoreFile struct {
	name     string
	blocked  []idRule
	approved []idRule
	bare     []idRule // declared ids on a line of their own, which are among approved
	paths    gitignore.List
	secrets  gitignore.List
	unscoped gitignore.List

	weakening Weakening
}

// idRule is a rule about an intent.
type idRule struct {
	id   string
	line int
}

// IgnoreRule names the line that made a decision.
type IgnoreRule struct {
	File string // relative to the workspace
	Line int
	Text string
}

// IntentBlocked reports whether no call may be made under the intent.
func (g *Ignore) IntentBlocked(id string) bool {
	return g.names(id, func(f *ignoreFile) []idRule { return f.blocked })
}

// NeedsApproval reports whether every destructive call under the intent needs an approval.
func (g *Ignore) NeedsApproval(id string) bool {
	return g.names(id, func(f *ignoreFile) []idRule { return f.approved })
}

func (g *Ignore) names(id string, rules func(*ignoreFile) []idRule) bool {
	if g == nil {
		return false
	}
	for i := range g.files {
		for _, r := range rules(&g.files[i]) {
			if r.id == id {
				return true
			}
		}
	}
	return false
}

// PathBlocked returns the rule, if any, that forbids to change the path: a plain glob or a secret one. A path that is
// a directory is given with a slash at its end. What is not a path of the workspace is blocked by a rule of no file.
func (g *Ignore) PathBlocked(path string) (IgnoreRule, bool) {
	if r, ok := g.Secret(path); ok {
		return r, true
	}
	return g.match(path, true, func(f *ignoreFile) gitignore.List { return f.paths })
}

// Secret returns the rule, if any, that keeps the path from being read and changed; paths as in PathBlocked.
func (g *Ignore) Secret(path string) (IgnoreRule, bool) {
	return g.match(path, true, func(f *ignoreFile) gitignore.List { return f.secrets })
}

// Unscoped returns the rule, if any, that exempts the path from the scope check; paths as in PathBlocked. Only rules of
// files that the operator has trusted do.
func (g *Ignore) Unscoped(path string) (IgnoreRule, bool) {
	return g.match(path, false, func(f *ignoreFile) gitignore.List { return f.unscopedIf(true) })
}

// UnscopedUntrusted returns the rule, if any, that would exempt the path if its file were trusted.
func (g *Ignore) UnscopedUntrusted(path string) (IgnoreRule, bool) {
	return g.match(path, false, func(f *ignoreFile) gitignore.List { return f.unscopedIf(false) })
}

func (f *ignoreFile) unscopedIf(trusted bool) gitignore.List {
	if f.weakening.Trusted != trusted {
		return nil
	}
	return f.unscoped
}

func (g *Ignore) match(path string, invalid bool, rules func(*ignoreFile) gitignore.List) (IgnoreRule, bool) {
	if g == nil {
		return IgnoreRule{}, false
	}
	clean, isDir := strings.CutSuffix(path, "/")
	if !fs.ValidPath(clean) {
		return IgnoreRule{Text: "(not a path of the workspace)"}, invalid
	}
	for i := range g.files {
		f := &g.files[i]
		if r, ok := rules(f).Match(clean, isDir); ok {
			return IgnoreRule{File: f.name, Line: r.Line, Text: r.Text}, true
		}
	}
	return IgnoreRule{}, false
}

// unknownIDs warns about rules whose intent does not exist: a mistyped id protects nothing.
func (g *Ignore) unknownIDs(known map[string]*Intent) []Warning {
	var out []Warning
	for _, f := range g.files {
		for _, r := range append(f.blocked[:len(f.blocked):len(f.blocked)], f.approved...) {
			if known[r.id] == nil {
				out = append(out, Warning{File: f.name, Line: r.line, Column: 1,
					Message: "no intent has the id " + r.id + "; write /" + r.id + " if the path is meant"})
			}
		}
	}
	return out
}

// IgnoreKinds says which rules about paths there are.
type IgnoreKinds struct {
	Paths    bool // PathBlocked can find one
	Secrets  bool // Secret can
	Unscoped bool // Unscoped can
}

// Kinds reports which rules about paths there are, for who would have to ask for each path of a workspace.
func (g *Ignore) Kinds() IgnoreKinds {
	var kinds IgnoreKinds
	if g == nil {
		return kinds
	}
	for i := range g.files {
		f := &g.files[i]
		kinds.Secrets = kinds.Secrets || len(f.secrets) > 0
		kinds.Paths = kinds.Paths || kinds.Secrets || len(f.paths) > 0
		kinds.Unscoped = kinds.Unscoped || len(f.unscopedIf(true)) > 0
	}
	return kinds
}

// Secrets gives the secret: rules as they are now, for who keeps contents: is reports whether one keeps a path, of which a
// directory's ends in a slash, from being read, and is nil where there are no such rules. digest names the rules, so that
// other ones have another. The rules that are clear hold, whatever is wrong with the rest; where nothing of an ignore file
// can be read every path is secret, and digest is "": which rules there are is not known.
func (s *Store) Secrets() (is func(path string) bool, digest string) {
	rules, err := s.Ignore()
	if err != nil && wholly(err) {
		return func(string) bool { return true }, ""
	}
	sum := sha256.New()
	for _, f := range rules.files {
		for _, r := range f.secrets {
			fmt.Fprintf(sum, "%s\x00%s\x00", f.name, r.Text)
		}
	}
	digest = hex.EncodeToString(sum.Sum(nil))
	if !rules.Kinds().Secrets {
		return nil, digest
	}
	return func(path string) bool {
		// A name that is no text cannot be named by a rule, but stand in a directory that is.
		_, secret := rules.Secret(strings.ToValidUTF8(path, "\ufffd"))
		return secret
	}, digest
}
