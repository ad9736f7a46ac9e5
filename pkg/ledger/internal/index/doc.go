// Package index knows where in the segments the lines are that a filter may want.
//
// # Promise
//
// A whole and current index leaves out no line that a filter takes. It may propose too many. Everything below cache/index may
// be deleted at any time, and costs time only.
//
// # Non-promise
//
// The index only proposes. Each proposed line is read, parsed and held to the filter; one that does not match must be
// the very line that was indexed, else the segment's runs are deleted and all of it is read. So a stale, damaged or
// foreign index is found out as soon as it proposes a wrong line, and costs time. But who can write cache/ can forge
// one that leaves records out of answers, as can who changes lines behind git's back without moving the last one.
// Therefore appending, verifying, scanning and following do not use it; what must be complete must ask those.
//
// # Files
//
// cache/index holds, for runs of lines of each segment, where each line begins, its time, and under which ids, hashes,
// intents, paths and directories it is to be found (package postings has the format). It is made from the segments by the first query that
// gains by it, without the lock on .orchestration, and brought up to date by each later one: a growing file's new lines
// are indexed in memory, and written when they are a megabyte. Runs are joined so that there are few. Files are never
// changed, so several processes may write the same at once, and everything may be deleted at any time. An archive's
// runs are known by the archive's name, and it counts as whole only if that name has the hash of its bytes: later queries
// of the process do not even look at it, and remember what they found in its runs and some of its lines. Other runs are
// known by the first line of the segment and by the identity and place of the last line that they cover, which must still
// stand there. Where the directory cannot be written, runs stay in memory.
package index
