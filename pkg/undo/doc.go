// Package undo takes recorded changes back: it plans from the ledger what the files have to become, and carries the plan
// out as one governed, recorded call.
//
// # Promise
//
// A file that still has the content that the record left gets back the content before it, byte for byte; one that was
// created is deleted, one that was deleted is created, one that was moved goes back. A file that has changed since is
// merged by lines: what the record changed goes, what came after stays. White space that was changed since does not hide a
// line. Permissions that the record changed come back, and with a file that it deleted; those that were set since stay.
//
// What cannot be taken back is a [Conflict], which says why. With one nothing at all is changed, unless it is asked for a
// part ([Plan.Partial]): then each file with a conflict stays with all that the chosen records did to it, and no other.
// Several records are undone newest first, into one plan, which takes effect as a whole or not at all. Undoing an undo does
// its records again.
//
// The plan is what was shown: [Source.Plan] changes nothing, and [Tool] refuses with STALE_FILE if a file is no longer
// what the plan began from. Contents are believed only if their SHA-256 is the record's.
//
// # Where things are found
//
// A content is the present file's, that which the server kept (pkg/kept), or a blob of git. Where several records of one file
// follow each other without a gap, only the newest content and the oldest are needed.
//
// A record names a file by the path that it had. Later records that moved it are followed, and git where it moved a file
// that is missing. If it was moved on, its content is undone where it is now; a move itself is undone only while the file is
// where that move had put it.
//
// # Governance
//
// An undo is a call of the tool "undo", which no client is offered, through the same engine as every other: journal,
// compare-and-swap, ledger, settlement after a crash. Its gate (gate.Steps) is that of an operator at the
// command line, who has seen the difference and said yes, and not that of an agent:
//
//   - The record is kind mutation under the intent of what is undone, contributor human, and its detail "undoes" has the
//     ids. Records of different intents are undone one intent at a time.
//   - The intent may be done, blocked, or gone from its file: these bar agents from going on with it, and taking back is
//     not that. For the same reason a path that has left the intent's scope, or that lies in a file which needs an
//     approval, is told as a note and not refused: the operator is the one who would be asked.
//   - Protected paths, paths that lead elsewhere now, and what .intentignore closes or keeps secret stay refused: the
//     operator lifts such a rule by changing the file that it stands in.
//   - No session is needed and none is made. Sessions that saw a file find STALE_FILE at their next change of it.
//
// # Non-promise
//
// Owners are not in the ledger, and set-user-ID and its like are never set. Symbolic links are named and left. Directories
// that a call made stay. What a command changed can be undone as far as its record has the contents. What git does not tell
// as a move, such as that of a file which was never committed under its old name, is not followed.
package undo
