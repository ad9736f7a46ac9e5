// Package seal signs the heads of a ledger, and checks such signatures.
//
// # Promise
//
// While a seal and a public key that the reader trusts are there, [Verify] finds every edit, removal, truncation and
// rewrite of a record that the seal covers, whoever made it and however well the chain was computed again. Nothing in
// the workspace can make a seal count that was not signed by a key the reader trusts.
//
// # Non-promise
//
// Records that were appended after the last seal are protected by the chain only. Who removes all seals, or puts back
// an earlier state of ledger and seals together, is seen only by a reader who requires a seal, or compares the commits
// of git. Who has the private key can seal anything. A public key that only the repository vouches for proves that
// one holder of that key made the seals, not who that is. The time in a seal is its maker's word.
//
// # Files
//
//	.orchestration/seals/<time>-<12 digits of its SHA-256>.note       a seal; never rewritten
//	.orchestration/seals/keys/<key name>+<key hash>                  a public key, for those who do not have it yet
//	<user directory>/seal.key                                        the private key, mode 0600
//	<user directory>/seal-keys/*                                     public keys of others that the user trusts
//
// A seal is a signed note (golang.org/x/mod/sumdb/note), its text being lines that each end with LF:
//
//	orchestra-mcp ledger seal v1
//	<time, RFC 3339, UTC, whole seconds>
//	<number of lines that are heads or precede one, decimal>
//	<head: 64 lower-case hex digits>
//	…
//
// The heads are all of the ledger's at that time, at least one, sorted, each once. Keys are the one-line forms of the
// same package, Ed25519.
package seal
