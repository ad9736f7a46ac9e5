package blame

import "time"

// Commit is where git has a line from.
type Commit struct {
	ID      string // the whole object id
	Path    string // relative to the workspace; starts with ../ outside of it
	Line    int    // 1-based, in that commit
	Author  string
	Time    time.Time // of the commit
	Summary string

	root     bool     // it has no parents here: nothing in it was anywhere before
	strength strength // of the way from the line as it is now to HEAD
}
