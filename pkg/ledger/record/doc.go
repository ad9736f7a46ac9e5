// Package record says what a record of the ledger is, and how it is written as a line.
//
// # Promise
//
// [Encode] writes every record that [Record.Check] accepts as one line that is valid against Agent Trace 0.1.0, and
// Encode([Parse](line)) is the line. Lines of other tools parse as far as they can be understood; they are never taken for
// ours. Nothing is replaced or shortened silently.
//
// # Non-promise
//
// It reads no files, and a line that parses is not proven to stand in a ledger.
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
// client, model_source, principal, decision, command, violations, policy, judged, part and detail; what is empty is left out. The fields are those of the Go
// types [Record], [Change], [Decision], [Command], [Judged] under their JSON names. A hunk is four numbers: old start, old
// lines, new start, new lines, as in a unified diff without context. before_mode and after_mode are the file's permissions
// in octal, as "0755"; after_mode is left out where it is the same. marks has a [LineMark] for each line that the hunks
// added, eight characters each, so that one line that somebody edits does not hide the others of its range; the mark says
// too whether the line stood in the file more than once. anchors has line and mark of the nearest lines above and below those
// hunks of which no line stood in the file once: of two equal blocks they tell which one it was.
//
// principal is who made the call: over HTTP the name of the token or SUBJECT@ISSUER, visible ASCII, at most 512 bytes; else
// "local:" and the user of the machine on which the record was made. Records of earlier versions have none.
//
// policy is the digest of what the call was judged by: intents, rules, settings, kept beside the ledger by package policies.
// judged is what it was judged on and no other field says, so that it can be judged again (package backtest): of a write that
// passed nothing, of a command its redirections, of a refused or asked call all of it. Records of earlier versions have neither.
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
// Of a command a person reads there:
//
//	git                             what became of HEAD, refs, index and a rebase under way
//	packages                        package directories with numbers of files
//	staged, ran                     the layer, and its command's record
//	no_before_image                 paths that undo cannot bring back
//	not_looked_into                 directories that were closed, too deep, or beyond a million files
//	shared, left_to_others          changes while another command ran too
//	not_reverted, removed_kept_in   what could not be taken back, and why; where removed files are
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
// The identity of a line is the SHA-256 of its bytes without the newline (nor a CR before it). A head is a line whose identity no
// other line has in its prev. The lines form a directed acyclic graph: git's union merge of two branches leaves two heads, the
// next append joins them. Order and duplicates mean nothing. A JSON object without prev, from another tool, is a root that later
// lines follow like any other; anything else (conflict markers, garbage) is never followed, so that it can be cleaned away.
package record
