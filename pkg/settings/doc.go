// Package settings reads what the operator has set: files in three tiers, environment variables, flags.
//
// # Promise
//
//   - Every key has a default, a place in [Settings], and a line in [Keys], from which [Example] and docs/settings.md come.
//   - An unknown key, a wrong type or a value out of range stops with file, line, column and the nearest name. An unknown
//     ORCHESTRA_ variable is a warning.
//   - A cloned repository is not the operator: what the workspace's file weakens, against what stands without it, and
//     what would start a program, is withheld until the operator has trusted that very content. It is then in
//     [Loaded.Withheld], and the rest of the file holds. Tightening needs no trust.
//   - What a higher tier locks, no lower one weakens, trusted or not.
//
// # Order
//
// /etc/orchestra-mcp/config.yaml, $XDG_CONFIG_HOME/orchestra-mcp/config.yaml, .orchestration/config.yaml of the
// workspace, environment (approvals.wait is ORCHESTRA_APPROVALS_WAIT), flags; the later wins. Lists add up instead, so
// that nobody's deny is lost. The environment and flags rank as the user: a lock of the user's file binds the workspace
// only, one of the system's file binds all.
//
// # What is not promised
//
// The package does not act on any setting, writes nothing but the operator's own list of trusted contents, and does not
// watch files: settings hold from start to end of a server. It cannot tell the operator from a program that runs as the
// same user outside the sandbox: that one can change the user's file and the list.
package settings
