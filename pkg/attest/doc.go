// Package attest writes and checks signed statements about a range of commits: what changed, which records of the ledger
// explain it, and under which rules, for readers who trust neither the machine nor the repository that it comes from.
//
// # Format
//
// An in-toto Statement v1 in a DSSE v1 envelope, signed with Ed25519 over the envelope's pre-authentication encoding, with
// one signature. The key id is the fingerprint of the public key as OpenSSH prints it (SHA256:…). The first two subjects are the commit
// (digest gitCommit) and its tree (gitTree); the others are the files that differ from the merge base, by their paths in
// the repository, with sha256 and gitBlob; a submodule has a gitCommit. [Predicate] is the rest, its type [PredicateType].
//
// The digest of the ledger is the SHA-256 over the identities of the lines that the range adds, in hex, sorted, each with
// a line feed behind it. A line that was kept back stands in it by its own identity.
//
// The same commits, ledger, program and key give the same bytes.
//
// # Promise
//
// [Verify] finds each changed byte of an envelope, of the range's commits, of HEAD's tree and files, and of the range's
// lines of the ledger. It does not ask git what a commit or a tree is: it reads and hashes the objects itself, judges the
// range again, and holds all that the statement says to the outcome. It replays the records' changes from the merge base's
// files to HEAD's.
//
// # Non-promise
//
// A signature shows who vouches, not that the records are true: the holder of the key could have written them. Times are
// their writers' word. Where the repository names its objects by SHA-1, so do commit and tree; the changed files have
// SHA-256 beside it. Contents between the two ends that the range's commits do not have are known by their hashes alone.
package attest
