// Package review judges the commits of a pull request by the ledger that comes with them.
//
// # Promise
//
// [Run] compares two commits and reads nothing but git's objects: what lies in the work tree, and what the repository's
// attributes or configuration say, do not count. What a pull request can write cannot make its own review milder: intents
// and ignore rules are those of the base, and what only the head declares is reported. Nothing that the range has is
// taken from another range: a line counts as traced if a record that the base does not have wrote it, or removed it. The
// same commits give the same report, byte for byte, and no name or message in it can act in a terminal, in Markdown, in
// XML or in JSON.
//
// # Non-promise
//
// A record is believed unless something contradicts it: who can write the ledger without the server can write records
// for changes of his own. Seals (Options.Seals) and the history of commits bound that; docs/gate.md says how far. A line
// that nothing explains is untraced, and that is all: it is not called human.
//
// # Method
//
// The range is what HEAD has and BASE has not, compared from their merge base, as a forge shows it. Changed lines are
// the added and the removed ones. An added line is followed by [blame.File] through the records of the range; a removed
// one by the same, with the records' changes turned round and time running backward. If the records lead from the old
// content to the new one without a gap, all lines between are theirs, however the difference is cut. What has no lines (a
// binary file, a link, a submodule, a file mode, a rename alone) counts as one.
//
// Records of a ledger in the tree are the range's if the base has not got their lines. One ledger beside the tree has the
// records of all branches of a machine, one after the other; there the contents of the commits say which records are
// whose (landing.go). Lines that stood, were taken out and stand again are followed through the commits (lineage.go).
package review
