package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The keys of what a command's record says of its changes beside the list.
const (
	DetailUnseen    = "changes_unknown" // why nothing is known of the changes
	DetailGaps      = "not_looked_into" // parts of the workspace
	DetailShared    = "shared"          // paths that changed while another command ran too
	DetailCertainty = "certainty"       // "shared" where there are such
	DetailGiven     = "left_to_others"  // paths whose change is in the record of another command
	DetailLinks     = "links"           // paths that are or were symbolic links: their content is their text
	DetailSpecial   = "special"         // paths that are or were FIFOs, sockets, devices
	DetailNoImage   = "no_before_image" // paths whose content before is not kept: the change cannot be undone
	DetailGit       = "git"             // what became of HEAD, branches, tags, stash and index: a list of GitChange
	DetailMore      = "more"            // how many changes the record leaves out
	DetailPackages  = "packages"        // package directories, each a Packaged: what changed in it, which is not listed
	DetailReplayed  = "replayed"        // paths out of scope that git was to make of people's commits when the server died
)

const (
	// hunkBudget bounds the contents of one command that are compared line by
	// line, in bytes.
	hunkBudget = 32 << 20
	// MaxRecorded bounds the changes that the record of one command names.
	MaxRecorded = 20_000
	// maxNamed bounds the paths in a detail.
	maxNamed = 200
)

// Account makes records' changes of what a snapshot found. Detail is what the
// list of changes cannot say.
type Account struct {
	Detail map[string]any
	left   int64 // of the hunkBudget
}

// NewAccount begins the account of one command.
func NewAccount() *Account { return &Account{Detail: map[string]any{}, left: hunkBudget} }

// File is the outcome of one change. Of what has no name that a record can
// have, there is only that.
func (a *Account) File(c *snapshot.Change) hooks.FileOutcome {
	f := hooks.FileOutcome{
		Change:    change.Change{Op: c.Op, Path: Shown(c.Path), From: Shown(c.From)},
		Knowledge: hooks.KnowsBySearch,
	}
	if f.Path != c.Path || f.From != c.From {
		f.Unread = true
		return f
	}
	f.Before.Mode, f.After.Mode = modesOf(c)
	if c.Before != nil && c.Before.Kind == snapshot.File {
		f.Links = c.Before.Links
	}
	// Of what is secret not even a hash is written down: a short one can be guessed from it.
	if c.Before != nil {
		f.Unread = f.Unread || !c.Before.Known
		if !c.Before.Secret {
			f.Before.Hash, f.Before.OID, f.Before.Bytes = c.Before.Hash, c.Before.OID, c.Before.Bytes
		}
	}
	if c.After != nil {
		f.Unread = f.Unread || !c.After.Known
		if !c.After.Secret {
			f.After.Hash, f.After.OID, f.After.Bytes = c.After.Hash, c.After.OID, c.After.Bytes
		}
	}
	if !f.Unread && c.Op != change.Moved {
		f.Hunks = a.hunks(c)
	}
	return f
}

// hunks compares two texts. Those of binary contents, and of links, are not
// known.
func (a *Account) hunks(c *snapshot.Change) [][4]int {
	var texts [2]string
	for i, content := range []*snapshot.Content{c.Before, c.After} {
		if content == nil {
			continue
		}
		if a.left -= content.Size; a.left < 0 || content.Kind != snapshot.File {
			return nil
		}
		text, err := workspace.Decode(content.Bytes)
		if err != nil {
			return nil
		}
		texts[i] = text.String
	}
	return edit.Hunks(texts[0], texts[1])
}

// Describe notes what the list of changes cannot say.
func (a *Account) Describe(c *snapshot.Change, f *hooks.FileOutcome) {
	if c.Shared {
		a.Note(DetailShared, f.Path)
	}
	for _, content := range []*snapshot.Content{c.Before, c.After} {
		switch {
		case content == nil:
		case content.Kind == snapshot.Link:
			a.Note(DetailLinks, f.Path)
		case content.Kind == snapshot.Special:
			a.Note(DetailSpecial, f.Path)
		}
	}
	if c.Before != nil && c.Before.Kind == snapshot.File && !c.Before.Known && (c.After == nil || c.After.Hash != c.Before.Hash || c.Before.Hash == "") {
		a.Note(DetailNoImage, f.Path)
	}
}

// Packaged counts the files that changed in a package directory. The fields are
// in the order that a record's detail has.
type Packaged struct {
	Created  int `json:"created,omitempty" min:"0" doc:"How many files were created."`
	Deleted  int `json:"deleted,omitempty" min:"0" doc:"How many files were deleted."`
	Modified int `json:"modified,omitempty" min:"0" doc:"How many files were modified."`
	// ProgramConfig counts those under names that make other programs run code,
	// as in .vscode: an approval of each would make installing impossible.
	ProgramConfig int `json:"program_config,omitempty" min:"0" doc:"How many of them make other programs run code where the directory is opened by itself."`
}

// Packaged counts a change of a package directory, and reports whether it is
// one. Such a change is in no list.
func (a *Account) Packaged(l *Law, c *snapshot.Change) bool {
	place := l.Packaged(c)
	if place == "" {
		return false
	}
	counts, _ := a.Detail[DetailPackages].(map[string]*Packaged)
	if counts == nil {
		counts = map[string]*Packaged{}
		a.Detail[DetailPackages] = counts
	}
	one := counts[place]
	if one == nil {
		one = &Packaged{}
		counts[place] = one
	}
	switch c.Op {
	case change.Created:
		one.Created++
	case change.Deleted:
		one.Deleted++
	default:
		one.Modified++
	}
	if c.Op != change.Deleted && workspace.Protect(c.Path) == workspace.ProtectProgramConfig {
		one.ProgramConfig++
	}
	return true
}

// GitChange is what became of a part of git's history: a name with what it said
// before and says now, "" where it is not there. What is long is named by its
// hash. The fields are in the order that a record's detail has.
type GitChange struct {
	After  string `json:"after,omitempty" doc:"What it says now, likewise."`
	Before string `json:"before,omitempty" doc:"What it said, or its hash; missing where there was nothing."`
	Path   string `json:"path" doc:"Of .git, workspace-relative."`
}

// maxRef bounds what is quoted of a file of git's, in bytes.
const maxRef = 512

// GitChange notes a change of git's history.
func (a *Account) GitChange(c *snapshot.Change) {
	a.GitChanged(GitChange{Path: Shown(c.Path), Before: said(c.Before), After: said(c.After)})
}

// GitChanged is GitChange for what no snapshot has.
func (a *Account) GitChanged(c GitChange) {
	changes, _ := a.Detail[DetailGit].([]GitChange)
	if len(changes) < maxNamed {
		a.Detail[DetailGit] = append(changes, c)
	}
}

func said(c *snapshot.Content) string {
	switch {
	case c == nil:
		return ""
	case c.Secret:
		return "not read"
	case !c.Known || len(c.Bytes) > maxRef || !utf8.Valid(c.Bytes):
		return cmp.Or(c.Hash, "not read")
	}
	return cmp.Or(strings.TrimSpace(string(c.Bytes)), "empty")
}

// Note adds a path to one of the details.
func (a *Account) Note(key, path string) {
	paths, _ := a.Detail[key].([]string)
	if len(paths) < maxNamed && !slices.Contains(paths, path) {
		a.Detail[key] = append(paths, path)
	}
}

// Shown is a path as records and results can hold it: what is not UTF-8 is
// written as \xNN.
func Shown(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "\\x%02x", path[i])
		} else {
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	return b.String()
}
