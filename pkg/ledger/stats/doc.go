// Package stats counts what is in a ledger: by intent, class, contributor, model, path, kind and day, with refactor set
// against evolution, and refusals by their code.
//
// It promises one pass over the records in any order, memory that does not grow with their number, and the same report
// for the same records. A record that was spread over several lines counts with its first, its changes where they stand. What
// there is to count is bounded: of each table the first 100,000 different names are counted by themselves, later ones
// together as [Other], and the report says so.
//
// It does not promise the lines of the files as they are now: it counts what was done, also what was undone later. The
// lines of a change are those of its hunks, so a line that was edited counts as one added and one removed; a coarse
// record counts all lines from its first change to its last. Where a record of a mutation was retracted, both stand in
// the ledger and both are counted.
//
// # Report as JSON
//
// The fields of [Report] under their JSON names are stable: programs may rely on them, and more may be added. Times are
// RFC 3339 in UTC, days are UTC days. Lists are sorted by what weighs most, then by name; days by date. A list that was
// cut to Options.Top says in omitted, under its own name, how many rows it lacks.
package stats
