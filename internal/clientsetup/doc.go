// Package clientsetup puts this server into the configuration of an MCP client, and hooks by which the client asks before it
// uses a tool of its own. Where a hook that fails lets the call pass, it takes the client's own tools away, as far as the
// client lets itself be configured: an agent that can edit a file without us is not governed.
//
// Promised:
//   - Other entries, comments, order and layout of an existing file stay as they are; a file that cannot be merged
//     without loss is left alone, and the error says what to add by hand.
//   - A plan is computed first and shows every file, what is closed and what stays open. Applying it writes each
//     file whole or not at all, and refuses a file that changed since it was planned.
//   - Idempotent: planning again after applying finds nothing to do.
//   - A permission that the operator took away is never given back, only one that an earlier setup did. A mode or agent file
//     that somebody changed by hand is not overwritten: it is reported when it lets more through than ours.
//   - A server that is adopted, or given back, is in the client's file or among ours whenever the process is killed. An entry that
//     cannot be moved without loss stays, and the plan says why. No value of its variables and headers comes into settings or plans.
//   - A workspace file that is a link to a place outside the workspace is not written: a cloned repository could
//     point it anywhere.
//
// Not promised: that the client obeys. What each client offers, and what it leaves open, is in docs/clients.md with
// the pages of the vendors that say so; Plan.Open says it to the operator at every run.
package clientsetup
