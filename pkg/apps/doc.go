// Package apps has what clients show of this program inside of themselves (MCP Apps, the extension io.modelcontextprotocol/ui
// of 2026-01-26): one page, and the views that it shows beside the results of tools: a pending approval with its diff, the
// board of intents, and who wrote the lines of a file.
//
// # Promises
//
//   - The page only shows. It calls no tool, reads no resource, puts nothing into the conversation, and has nothing that
//     answers: to a server the call of an app looks like one of the model. What it says to its client is that it is there, how
//     large it is, and, where a person presses the button, the fixed address of the console, without any secret.
//   - It loads nothing, and holds itself to that by a policy of its own, whatever the client's is. No text becomes anything
//     but text in it.
//   - In a [View], every text of others is safe to print (package printable), what is long is cut, and what is cut is said.
//
// # Not promised
//
// A view is of the moment of the call: it does not follow what happens afterwards. Whether a client keeps a view from its
// model, and the page in its frame, is the client's to keep.
package apps
