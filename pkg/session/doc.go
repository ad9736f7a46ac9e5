// Package session keeps what the server knows about an agent between two calls: the intent that it
// selected, and what it has seen of each file.
//
// # Promise
//
// A call finds its state by the handle that it gives, or, for clients of the initialize era, by what was selected on
// its connection; never by anything else, and never by an empty connection id. A handle is unguessable, belongs to the
// principal that it was minted for, and survives a restart of the server. A selection that cannot be saved is not made.
// Nothing ever counts as seen that was not delivered to, or written by, the session that it is asked about. Calls that
// arrive pipelined take effect in the order sent (Arrive; package order has the rules).
//
// # Non-promise
//
// What was seen may be forgotten at any time (a crash, a bound, two servers that save at once): that
// costs the agent a READ_REQUIRED. Whether an intent exists, may be selected, or covers a path is not
// known here. Two servers that use one handle at the same moment have no order between their calls.
//
// # Format
//
// State lies in .orchestration/state/sessions, two files a session, named by the SHA-256 of the handle
// in hexadecimal, because state/ can be read by commands: nothing in it gives a handle away.
//
//	<sha256>.json        {"version":1,"public_id":…,"intent_id":…,"ended":false,"mutation_class":…,
//	                      "started_at":…,"client_name":…,"client_version":…,"model_id":…,"model_source":…,"principal":"<sha256>",
//	                      "server":…}
//	<sha256>.seen.json   {"version":1,"files":[{"path":…,"hash":"sha256:…","whole":false,"total":9,"lines":[[1,5]],"at":…}]}
//	*.link.json          what a client's own tools work under, and codes that join them (lasting.go)
//	*.tmp                a save that did not finish; removed after an hour
//
// Both are replaced by rename and not flushed. The modification time of the first is the session's last use, renewed at
// most once a minute, so that renewing the lifetime cannot undo what another process selects meanwhile. The second is
// written in the background. Several processes merge it: a view is a fact about a content hash ("these lines of this
// content were delivered"), so an old fact stays true, and matters only while the file on disk still has that very
// content. Merging therefore keeps both sides' lines of one hash, and of two hashes the later one.
//
// Where .orchestration does not exist, state stays in memory.
package session
