package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Errors of a connection. After one of them, but for ErrTooLarge over HTTP, the client is of no use any more, and [Client.Err]
// has it.
var (
	// ErrEnded: the server closed its output, or it could not be read or written any more. Mostly its process has ended.
	ErrEnded = errors.New("the server has ended the connection")
	// ErrClosed: [Client.Close] was called.
	ErrClosed = errors.New("the connection was closed by us")
	// ErrStalled: the server has not read what was sent to it for half a minute.
	ErrStalled = errors.New("the server does not read what is sent to it")
	// ErrTooLarge: a line, body or event is longer than Options.MaxMessage. Over HTTP only the request ends that it came for.
	ErrTooLarge = errors.New("the server sent a message that is too large")
	// ErrForeign: what the server sends is not the protocol, or no revision of it that is spoken here.
	ErrForeign = errors.New("the server does not speak the protocol")
	// ErrProbed: the server ended at the question for its era, as some of the initialize era do. Start it again, with
	// Options.Initialize.
	ErrProbed = errors.New("the server ended when it was asked for revision 2026-07-28")
)

// Errors of one request.
var (
	// ErrQuestion: the server asked for what nobody gives it: sampling, roots, a URL to be opened, a form where there is nobody
	// to fill it in, or questions without end.
	ErrQuestion = errors.New("the server asks for what it does not get")
	// ErrParams: the request that was to be sent is no JSON object, or has a _meta of its own.
	ErrParams = errors.New("the request cannot be sent")
	// ErrAnswer: the answer came and is not usable, such as a result that is no object, or of a type that is not known.
	ErrAnswer = errors.New("the answer of the server is not valid")
	// ErrLost: over HTTP, the stream of the answer broke off and could not be taken up again.
	ErrLost = errors.New("the answer of the server was lost on the way")
	// ErrList: a list has too many pages or entries, or comes round to its own beginning.
	ErrList = errors.New("the server's list does not end")
)

// Error is the JSON-RPC error with which a server answered.
type Error struct {
	Code int64
	// Message is the server's text, at most 4 KiB of it. It is untrusted, and may have any character.
	Message string
	// Data is as sent, nil for none.
	Data json.RawMessage
}

// Codes of JSON-RPC.
const (
	codeMethodNotFound = -32601
	CodeInvalidParams  = -32602
)

func (e *Error) Error() string {
	return fmt.Sprintf("the server answered with error %d: %s", e.Code, shown(e.Message))
}

// StatusError is an HTTP status without an answer of the protocol.
type StatusError struct {
	Status int
	// Text is the beginning of the body, printable. Location is where a redirection led that was not followed.
	Text, Location string
}

func (e *StatusError) Error() string {
	if e.Location != "" {
		return fmt.Sprintf("the server answered with HTTP status %d and sends us to %s, which is not followed: if that is right, declare this address", e.Status, e.Location)
	}
	return fmt.Sprintf("the server answered with HTTP status %d: %s", e.Status, e.Text)
}

// AuthError is HTTP status 401, or 403 with a challenge: the server wants a login, or one with more scopes.
type AuthError struct{ Status int }

func (e *AuthError) Error() string {
	if e.Status == 403 {
		return "the server wants a login that allows more"
	}
	return "the server wants a login, or does not accept the one that it was shown"
}
