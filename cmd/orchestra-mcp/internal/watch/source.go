package watch

import "time"

// Decision is what a key says about a request.
type Decision int

// The decisions.
const (
	Once Decision = iota
	ForIntent
	Deny
	Revoke // of a grant
)

// Style is what a line of an item's body is.
type Style int

// The styles of lines.
const (
	Plain Style = iota
	Heading
	Warning
	Place // where in a file a part of a difference is
	Added
	Removed
)

// Line is a line of an item's body. Its text can be anything, also hostile.
type Line struct {
	Text  string
	Style Style
}

// Item is a request that waits, or a grant that stands. Its texts can be anything, also hostile.
type Item struct {
	ID    string
	Grant bool
	// Created is when it was asked or granted; Expires is zero for what does not expire.
	Created, Expires time.Time
	// Tool, IntentID and Subject, the path or command, are for the list.
	Tool, IntentID, Subject string
	// OnlyOnce says why a request cannot be approved for its intent; "" if it can.
	OnlyOnce string
	// Body is all that there is to know.
	Body []Line
}

// Source is where items come from and answers go. Its methods are called from goroutines, one call of each at a time.
type Source interface {
	// Items gives what waits and what stands, in the order in which it is shown: what comes later belongs behind what
	// is there.
	Items() ([]Item, error)
	// Answer carries a decision out, and says in one line what it did. reason is for a denial.
	Answer(id string, decision Decision, reason string) (string, error)
}
