// Package hooks is the way of a tool call: the types that describe one, the
// hooks that judge and observe it, and the engine that runs them in order.
//
//	TARGETS → pre-hooks of AtTargets → PLAN → pre-hooks of AtPlan → EXECUTE → ledger → post-hooks
//
// It promises that a tool executes only after every registered pre-hook has allowed the very effects that it will
// execute; that a pre-hook which fails, panics, times out or decides nothing refuses; that no content is read before
// the hooks of AtTargets have allowed; and that an executed change is recorded, or taken back, before its result is
// sent. It does not promise that a post-hook ran: those observe, and their failures become warnings.
//
// Hooks see effects, session and intent, never the raw arguments. They are called again when a call comes back after an
// approval, so they must be idempotent. Registration is explicit and ordered; nothing registers itself.
package hooks
