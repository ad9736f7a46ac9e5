// Package verify checks the chain of a ledger, and what others claim of it.
//
// # Promise
//
// [Verify] finds every edit and every removal of a line that some surviving record follows, without a key; [VerifyClaims]
// also those of lines that a claim covers, followed or not. It reads all segments and archives, and parses heads only. A
// branch that is incomplete here, and whole elsewhere, is told from one that was changed ([Elsewhere]).
//
// # Non-promise
//
// The chain has no key. The edit of a head, and a ledger that was written anew as a whole, are seen by claims alone, and
// whether to believe a claim is for the caller to know.
package verify
