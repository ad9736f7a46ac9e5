// Package history compares the ledger across the commits of a git repository.
//
// # Promise
//
// [Verify] finds each ledger line, and each seal, that a commit lacks although one of its parents has it, a merge being
// compared with every parent, and the work tree with the commit that is checked out; and that is not back in the work
// tree. Both layouts and the archives count as one: a line that moves between files is not missing. Where an archive of
// a commit is damaged, the report says so and its lines count as far as they can be read. Its memory grows with the segments
// that two commits have otherwise, the branches that are open at once, what was dropped, and a few bytes for each commit. It
// reads with git itself, in a way that neither the repository's configuration nor replacement objects, grafts or a commit
// graph can steer, and never from a network.
//
// # Non-promise
//
// What no commit of the history has, such as lines that a rebase or a forced push took out of all commits, cannot be
// missed; seals and the chain can. A shallow clone is checked as far as it goes, and the report says so. A line that
// was dropped and brought back is no problem.
package history
