// Package approval keeps what agents ask the operator for, and what the operator answers.
//
// A [Request] is written down by the server that was stopped, and answered by the operator: at a terminal, in any
// process of the same user on the machine, or in line through the agent's client. The answer "once" lets one call pass
// that has the request's digest, one time; the answer "for the intent" leaves a [Grant] for each check and path; a denial
// stands for that call.
//
// # Promises
//
//   - Nothing is believed that was not written with the user's key, which lies outside of every workspace: a program
//     that can write the workspace, a command of an agent among them, can neither forge nor alter a request, an answer
//     or a grant, nor move one to another request or workspace.
//   - An answer is used at most once, by one process, and is used before the call that it lets pass takes effect. A
//     crash between the two leaves it used. An answer, or a revoked grant, that is put back from a copy stays used.
//   - An edit that an answer carries is the request's own call with another text ([NewEdit]), and nothing else of it changed.
//   - A request is answered at most once. Requests and answers expire.
//   - What [ViewOf] shows has no character that acts on a terminal or changes the direction of writing.
//   - Memory and the directory are bounded.
//
// # Not promised
//
// A program of the same user that nothing confines can read the key. A file that is deleted is a question that was not
// put, an answer that was not given, or a grant that does not stand: that is possible for who can write state/.
// The package asks nobody and judges no call.
//
// # Files
//
//	.orchestration/state/approvals/apr_ID.json         a request
//	.orchestration/state/approvals/apr_ID.answer.json  its answer
//	.orchestration/state/grants/grt_ID.json            a grant
//	<user directory>/approval.key                      64 hex digits, mode 0600
//	<user directory>/spent/ID                          an answer that is used, a grant that is revoked, a state that was
//	                                                   redeemed: when the mark may go, RFC 3339, or nothing for never
//
// The user directory is that of the settings. Without one, the key and the marks live in the memory of the process, and
// no other process can answer. ID is 128 random bits in base32, without padding, in lower case. Files are mode 0600 and
// appear whole. Each is one JSON object
//
//	{"mac":"<64 hex digits>","body":{…}}
//
// where mac is HMAC-SHA-256 over the workspace's absolute path, a zero byte and the bytes of body, under a key that
// HKDF-SHA-256 derives from the user's for the kind of file: "request", "answer" or "grant". The bodies are [Request],
// [Answer] and [Grant] in JSON.
package approval
