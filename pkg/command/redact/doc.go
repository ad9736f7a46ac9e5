// Package redact leaves out of a command line what looks like a secret, before the line goes where it cannot be taken
// back: a record of the ledger, a note, a log.
//
// # Promise
//
// What [Rules] names is replaced by [Mark], whole, and nothing else is changed. A value that only names where a secret
// is, such as $TOKEN or $(cat token), stays. Doing it again changes nothing more. A match costs at most a window
// of the text, so a hostile text costs bounded time.
//
// # Non-promise
//
// It works by pattern: a secret in a form that no rule knows stays in the text, and what merely looks like one is lost.
// What is run, shown to the operator for an approval, or hashed into the digest of one is never redacted.
package redact
