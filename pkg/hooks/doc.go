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
//
// # Order and locks
//
// Calls of one session start in the order of arrival; read-only tools run side by side. A call takes, in this order:
//
//  1. its turn (pkg/session/order), in this process;
//  2. the locks of its paths (pkg/workspace), sorted, in this process;
//  3. a lock for the inode of each existing file, between processes, and on Linux a read lease;
//  4. state/lock, between processes. The ledger's one writer takes it for the write, not for the flush.
//
// 2 and 3 are held until the record is in the ledger, so changes of one file stand there in the order in which they happened.
// After a wait of 5 s the call is BUSY, and what was changed is taken back.
//
// With durability: full a change is answered once its journal entry, content, directory and record are flushed; calls of a group
// share the ledger's flush. A read flushes nothing; a refusal's record follows within 20 ms.
package hooks
