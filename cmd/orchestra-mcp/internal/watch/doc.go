// Package watch is the live view of what agents ask the operator for: a list, the whole of one request, and keys that
// answer it.
//
// # Promises
//
//   - A key answers what the operator has in front of them. The selection holds on to an id, never to a place in the list:
//     what comes or goes elsewhere does not move it, and a request that is answered elsewhere or expires stays on the
//     screen, marked, until the operator leaves it. An answering key is heard only when that same request, in a terminal
//     large enough to show it, has been on the screen for [Arming]: a person who pressed a key for something else has
//     not reacted to it by then. Approving and revoking ask for a second key, which belongs to that id as well. A key
//     that is held down and what is pasted answer nothing.
//   - No text of a request reaches the terminal with a character that acts on it; a line that is too long goes on in
//     marked rows, so that no part of it hides behind the edge, or looks like a line of its own.
//   - Nothing is blocked: reading and answering run beside the keys.
//
// The package knows no files: a [Source] reads and answers. [Model] is a state with functions, which a test calls as
// bubbletea does.
package watch
