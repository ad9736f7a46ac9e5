// Package change says what happened to one file, or is about to happen: one type for all that plans a change, makes it,
// journals it, records it, looks for it and takes it back.
//
// It promises no more than the words mean. It reads no files and checks nothing: who makes a Change answers for it.
package change

import (
	"cmp"
	"slices"
)

// Op is what happens to a file. Its text is the ledger's word for it.
type Op string

// The operations.
const (
	Created   Op = "created"   // nothing was there
	Modified  Op = "modified"  // other content, or other permissions
	Deleted   Op = "deleted"   // the file is gone; directories stay
	Moved     Op = "moved"     // another path, where nothing was; with other content too
	Unchanged Op = "unchanged" // it turned out to be so already
	Read      Op = "read"      // no change: a call only looks at the file
)

var verbs = map[Op]string{Created: "create", Modified: "modify", Deleted: "delete", Moved: "move"}

// Verb is the operation as an intention: "create" for Created. Plans, questions and the journal speak so.
func (o Op) Verb() string { return cmp.Or(verbs[o], string(o)) }

// Changes reports whether the file is another one afterwards, or in another place.
func (o Op) Changes() bool { return verbs[o] != "" }

// OpOf is the operation that a verb names; of another word it is this word.
func OpOf(verb string) Op {
	for op, v := range verbs {
		if v == verb {
			return op
		}
	}
	return Op(verb)
}

// Between is what happened to something, by whether it was there before and whether it is there now. Of what was not there
// it is Created, whatever is there now.
func Between(was, is bool) Op {
	switch {
	case !was:
		return Created
	case !is:
		return Deleted
	}
	return Modified
}

// Change is what happened to one file. Paths are relative to the workspace, with slashes.
type Change struct {
	Op   Op
	Path string // where the file is, or was if it is deleted
	From string // of a move: where it was
	// Before and After are its two ends. Of a file that is created Before is the zero Version, of one that is deleted After.
	Before, After Version
	// Hunks are {old start, old lines, new start, new lines} as in a unified diff without context lines.
	Hunks [][4]int
}

// Source is where the file was before.
func (c *Change) Source() string {
	if c.From != "" {
		return c.From
	}
	return c.Path
}

// Inverse is what takes the change back. Hunks change their sides.
func (c Change) Inverse() Change {
	c.Before, c.After = c.After, c.Before
	switch c.Op {
	case Created:
		c.Op = Deleted
	case Deleted:
		c.Op = Created
	case Moved:
		c.Path, c.From = c.From, c.Path
	}
	c.Hunks = slices.Clone(c.Hunks)
	for i, h := range c.Hunks {
		c.Hunks[i] = [4]int{h[2], h[3], h[0], h[1]}
	}
	return c
}

// Bare is the change without contents.
func (c Change) Bare() Change {
	c.Before.Bytes, c.After.Bytes = nil, nil
	return c
}

// Version is one end of a change: a content with its permissions. The zero Version is no file.
type Version struct {
	Hash string // "sha256:" and 64 hexadecimal digits, of all bytes of the file
	OID  string // git's id of a blob with the same bytes, without git's filters; "" where it is not known
	Mode Mode
	// Bytes are the content, to be read only; nil where they are not there.
	Bytes []byte
}

// Planned is a change that is about to happen, with the names that tell after a crash how far it came.
type Planned struct {
	Change
	// Links is how many names the file has; 0 where that is not known.
	Links uint64
	// Temp is where the new content is before the change and the displaced file after it, relative to the workspace; empty
	// for a plain move. For a move with new content it is the new content's place, and Gone the old file's.
	Temp, Gone string
	// Link: it is a symbolic link that changes. Its hashes are of its text, and Temp has the displaced link after the change.
	Link bool
}
