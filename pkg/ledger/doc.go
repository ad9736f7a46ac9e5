// Package ledger keeps the append-only record of what was done in a workspace, and under which intent. It knows
// nothing of MCP.
//
// # Promise
//
// When [Ledger.Append] returns without an error, the record's line is whole in the file, linked to all heads that the
// file had, and with [DurabilityFull] it survives a power cut. Any number of goroutines and processes may append to
// one ledger; git may switch, merge and replace its files in between. [Verify] finds every edit and every removal of
// a record that some surviving record follows. Nothing is dropped silently: not a record, not a byte of a torn line.
//
// # Non-promise
//
// The chain has no key: who can write the file can write another one from the start, or change its heads. A record is
// appended after its mutation; what a crash in between leaves unrecorded is not this package's to know. Between git's
// look at the file and git's replacing it, an append can be lost as any edit would be; the writer looks again after
// its flush and repeats the append, which makes that window small and does not close it. The order of lines is not
// the order of events after a merge.
//
// # Files
//
// Everything is below .orchestration. The layout "single" has one file, agent_trace.jsonl. The layout "sessions" has
// trace/<id>.jsonl, a file for each session by its public id, and one for each process for what belongs to no
// session. Writers use one layout; readers always read both.
//
// archive/<time>-<hash>.jsonl.zst has lines that were moved out of either: zstd frames of at most 1 MiB of lines each, so
// that zstd -dc gives the lines (internal/framed has the details). The time is that of the first line, in UTC,
// 20060102T150405.000Z; the hash is the first 16 hex digits of the SHA-256 of the file's own bytes, as sha256sum shows
// it. An archive is never rewritten, so two branches of git never have different ones under one name.
//
// A writer holds an exclusive flock on the directory .orchestration itself while it writes, never while it flushes.
// state/torn-<time>.jsonl holds the end of a file that a crash tore.
//
// # Index
//
// cache/index holds, for runs of lines of each segment, where each line begins, its time, and under which ids, hashes,
// intents, paths and directories it is to be found ([the format]). It is made from the segments by the first query that
// gains by it, without the lock on .orchestration, and brought up to date by each later one: a growing file's new lines
// are indexed in memory, and written when they are a megabyte. Runs are joined so that there are few. Files are never
// changed, so several processes may write the same at once, and everything may be deleted at any time. An archive's
// runs are known by the archive's name, and it counts as whole only if that name has the hash of its bytes: later queries
// of the process do not even look at it, and remember what they found in its runs and some of its lines. Other runs are
// known by the first line of the segment and by the identity and place of the last line that they cover, which must still
// stand there. Where the directory cannot be written, runs stay in memory.
//
// The index only proposes. Each proposed line is read, parsed and held to the filter; one that does not match must be
// the very line that was indexed, else the segment's runs are deleted and all of it is read. So a stale, damaged or
// foreign index is found out as soon as it proposes a wrong line, and costs time. But who can write cache/ can forge
// one that leaves records out of answers, as can who changes lines behind git's back without moving the last one.
// Therefore Append, [Verify], [Ledger.Scan], [Ledger.ScanLines], [Ledger.Has] and [Ledger.Follow] do not use it; what
// must be complete must ask those.
//
// # Line
//
// One JSON object a line, UTF-8, LF. Each is valid against Agent Trace 0.1.0. The keys of a line and their order:
//
//	prev            identities of all heads at the time of the append, sorted: 64 lower-case hex digits each
//	version         of Agent Trace, 0.1.0
//	id              UUID of the record
//	timestamp       RFC 3339, UTC, milliseconds
//	intent_id       left out if none
//	mutation_class  AST_REFACTOR or INTENT_EVOLUTION; left out if none
//	vcs             type git; revision and revision_id, the same commit; left out without one
//	tool            name orchestra-mcp, version
//	files           an element for each file changed, in the order of changes
//	metadata        one key, orchestra-mcp
//
// An element of files has path and relative_path, the same, relative to the workspace, and one conversation:
//
//	url             urn:uuid:<public session id>; left out without a session
//	contributor     type (ai, human, mixed, unknown), model_id (left out if unknown or over 250 characters),
//	                entity_type (the type in capitals), model_identifier ("unknown" if it is; left out for humans)
//	ranges          start_line, end_line, content_hash; empty for a deletion
//	related         the intent: type specification, value, url urn:orchestra:intent:<id>
//
// The value of metadata.orchestra-mcp has kind, call, changes, class, session, contributor (where files is empty),
// client, model_source, decision, command, violations, part and detail; what is empty is left out. The fields are those of the Go
// types [Record], [Change], [Decision], [Command] under their JSON names. A hunk is four numbers: old start, old
// lines, new start, new lines, as in a unified diff without context. before_mode and after_mode are the file's permissions
// in octal, as "0755"; after_mode is left out where it is the same. marks has a [LineMark] for each line that the hunks
// added, eight characters each, so that one line that somebody edits does not hide the others of its range; the mark says
// too whether the line stood in the file more than once. anchors has line and mark of the nearest lines above and below those
// hunks of which no line stood in the file once: of two equal blocks they tell which one it was.
//
// A violation's kind says what was changed where it was no content of a file in the workspace: metadata, git, workspace,
// ledger, outside; the path of the last is absolute or begins with ~/.
//
// These keys of detail are read again; others are for people:
//
//	of, began   of a recovered record: the kind that the mutation would have had, and when it was begun
//	certainty   "probable" where the files do not prove what happened
//	partial     true where a part of the call's changes stands, those in changes
//	retracts    the id of a record whose append failed after its line was written; its changes were taken back
//	undoes      the ids of the records that this one takes back
//	gap         {calls, since, until}: so many changes have no record (ledger.on_failure: degraded), the first and the
//	            last at these times; it stands in a recovered record of its own, before the first that could be written
//	edit        {path, before, after}: a lifecycle record's change of active_intents.yaml, with the hashes of the whole
//	            file; by them it is told after a crash whether the edit happened
//	judged_by   {scope, named, places, git, enforced} of a recovered command: what it might change when it began
//	notes       what the gate and the hooks remarked about a call that they let through
//
// Within a line there is no space between tokens, nothing is escaped that JSON does not require, and a detail's keys
// are sorted, so that Encode(Parse(line)) is the line.
//
// A record that would be longer than 8 MiB because of its changes and violations is spread over several lines of one
// write: each has its share, and a part {of, index, count} with the id of the first. Where a single file's hunks are
// too many even so, one hunk and one range without a hash cover them, without marks, and coarse says so.
//
// # Chain
//
// The identity of a line is the SHA-256 of its bytes without the newline (nor a CR before it). A head is a line whose
// identity no other line has in its prev. The lines form a directed acyclic graph: git's union merge of two branches
// leaves two heads, the next append joins them. Order and duplicates mean nothing. A JSON object without prev, from
// another tool, is a root that later lines follow like any other; anything else (conflict markers, garbage) is never
// followed, so that it can be cleaned away.
//
// # Rotation
//
// When a file is longer than Options.SegmentSize, all but its last eighth is moved into archives, in the background. What
// stays in any case are its heads, so that a writer finds the heads of the ledger in the file that it appends to, and
// garbage, so that it can be cleaned away. Archives and the file with what is left are written below state/rotate/
// without the lock. Under it, if the file is still the one that was read and its beginning is unchanged, what was
// appended meanwhile is added, the archives are put in place, then the file; each is flushed before. One process rotates
// at a time: it holds a flock on state/rotate/, and removes what a killed one left there.
//
// A writer whose file was replaced after its write looks for its lines in the new file and in young archives, and writes
// again only those that are in neither. A reader whose file was replaced after it had listed the segments begins again.
//
// # Crash
//
// A process that dies in a write leaves a last line without newline. The next append, under the lock, ends it with a
// newline if it is whole, and else moves it to state/ and logs where. A failed write is cut off again. After a failed
// write or flush the Ledger is poisoned: it refuses with [ErrUnavailable] until [Ledger.Reopen]: the file is opened
// anew, what was flushed before must still be there, what came after must be records, and is written once more before
// it is flushed, because a failed flush can leave pages marked clean that never reached the disk.
package ledger
