// Package auth says who sends a request over HTTP, and what they may do.
//
// It promises that a token which is not known, has expired, or cannot be judged lets nobody in, that tokens are compared
// in a time that does not depend on them, and that no error of its own quotes one. Package oauth below it judges access
// tokens of an authorization server. What a role may call is for the gate to enforce.
package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"sync"
)

// Role is what a principal may do.
type Role string

// The roles. The zero value is that of who is at the machine itself, and is as good as Operator.
const (
	// Operator is trusted with the workspace: its client can be asked for the operator's answer.
	Operator Role = "operator"
	// Agent calls every tool. What needs an answer is asked elsewhere than in its own client.
	Agent Role = "agent"
	// Auditor calls what only reads.
	Auditor Role = "auditor"
)

// Roles are all that have a name, the strongest first.
func Roles() []Role { return []Role{Operator, Agent, Auditor} }

// Answers reports whether who is at the client may answer for the operator.
func (r Role) Answers() bool { return r == "" || r == Operator }

// Changes reports whether calls that change something may be made at all. A role that nobody knows may not.
func (r Role) Changes() bool { return r.Answers() || r == Agent }

// Principal is who sends a request. What one began, no other can use, read or cancel.
type Principal struct {
	// Name is never empty, and has printable ASCII alone: that of a token, or SUBJECT@ISSUER without https:// of an access
	// token. Neither can be taken for the other, since names of tokens have no @.
	Name string
	Role Role
}

// Authenticate tells whose a bearer token is, "" where a request has none. Its errors are of the kinds below; any other is
// as good as ErrUnknown.
type Authenticate func(ctx context.Context, token string) (Principal, error)

// Why a token lets nobody in.
var (
	// ErrMissing: there is none.
	ErrMissing = errors.New("no token was sent")
	// ErrUnknown: it is none that is taken here, or not any more.
	ErrUnknown = errors.New("the token is not known here")
	// ErrScope: it is a good one that has none of the scopes.
	ErrScope = errors.New("the token has no scope of this server")
	// ErrUnavailable: it cannot be judged now.
	ErrUnavailable = errors.New("the token cannot be judged now")
)

// Rejected is an error of one of these kinds, with a text for who sent the token: printable ASCII without quotes.
type Rejected struct {
	Kind error
	Text string
}

func (r *Rejected) Error() string { return r.Text }
func (r *Rejected) Unwrap() error { return r.Kind }

// Local names who is at this machine, for records of calls that no transport has authenticated: "local:" and the user's
// name, or its number where it has none. No name of a token and no subject of an access token begins so.
var Local = sync.OnceValue(func() string {
	if me, err := user.Current(); err == nil && named(me.Username) {
		return LocalPrefix + me.Username
	}
	return LocalPrefix + strconv.Itoa(os.Getuid())
})

// LocalPrefix begins the names that Local gives.
const LocalPrefix = "local:"

func named(name string) bool { return name != "" && len(name) <= MaxSubject && Printable(name) }

// MaxSubject bounds a subject and a user's name, in bytes: what OpenID Connect allows.
const MaxSubject = 255

// maxRecorded bounds the name of a principal in a record, in bytes.
const maxRecorded = 512

// Recorded is a principal's name as records have it: an embedder's can be any text, and is escaped as in a URL where it is
// not printable, and a hash where it is too long.
func Recorded(name string) string {
	if !Printable(name) {
		name = url.PathEscape(name)
	}
	if len(name) > maxRecorded {
		name = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(name)))
	}
	return name
}

// Printable reports whether a text has visible ASCII characters alone.
func Printable(text string) bool {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}
