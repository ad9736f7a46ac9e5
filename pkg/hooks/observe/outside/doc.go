// Package outside tells what changed outside of a workspace while a command ran: of the places that decide what runs
// under the user's name, and of what the command's line names.
//
// # The watched places
//
// It promises that what [Places] lists is found when it was made, removed, replaced, written, or changed in its mode,
// owner, times or extended attributes: each is described by what lstat says of it, before and after. Of a link, what it
// leads to is described too, and of a directory each entry in it, but of that no more than 256. A look costs about a
// microsecond for each, reads no content and changes nothing.
//
// # What a line names
//
// [Name] takes paths out of a line and of the scripts that it names, and describes these as the places
// are, directories with all that is in them up to a bound; what goes beyond is said. A path to which a link leads only
// later is judged by its time of change, which no program can set.
//
// # What is not promised
//
// It does not say who changed something: another program of the user may have. It looks nowhere else: not at a path
// that the line hides or puts together, nor at one that a program knows by itself. Off Linux there is no time of
// change, so there only what alters mode, size or time of modification is seen.
package outside
