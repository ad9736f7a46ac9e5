// Package console is the operator's page: what agents do in all workspaces of a user, what they ask and its answers, and
// the way from a line of a file to the reason for it.
//
// # Promise
//
// The page is served on a loopback address, at a port by chance, from what the program holds; it needs no network. It
// shows and changes nothing without two secrets at once: a cookie, and a key that only the page's memory has and that goes
// with each request as a header (cookies do not tell ports apart, and browsers keep them on disk). Both come from a link
// that is good once.
//
// Requests whose Host or Origin is another's are refused. So are those of processes that a governed command has started,
// but for the empty document, as far as the system tells: on Linux, by who has the connection open. Who has closed it is
// refused, and who hides what it has open, where a command's process hides that.
//
// What others wrote is text: it is escaped, characters that cannot be seen are made visible, and the page runs no script but
// its own files. Answers and changes go through package operator, and so through a server's engine, gate and ledger.
//
// # Non-promise
//
// Who can read this process's memory, the browser's or the operator's terminal is the operator. A program outside of every
// sandbox that runs as the same user can do that. Other systems than Linux do not tell whose a connection is. The operator sees
// all files of a workspace, those too that no agent may read.
//
// # How it works
//
// The document at every address is the same, without data. Its script asks for the view of that address at /view/, puts
// it in place, and asks again when /events says that something it shows has changed. Forms go to /do/. Server-sent events
// are read with fetch, because EventSource sends no headers. After a reload the script has its key back from its service
// worker, which keeps it in memory for as long as the browser lets it live.
package console
