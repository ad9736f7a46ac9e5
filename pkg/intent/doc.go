// Package intent reads and writes the operator's declarations: .orchestration/active_intents.yaml and the
// .intentignore files, with the scope globs in them.
//
// # Promise
//
// [Store.Load] returns what the files say now, or says exactly where they cannot be read; there is no reading by halves
// of an unclear file, because a dropped line could widen what an agent may do. A [Set] is an immutable snapshot. The
// mutating methods change only the text they mean to change: comments, layout, key style and status vocabulary stay as
// the operator wrote them, and every result is parsed and compared with what was meant before it replaces the file.
// Writers in several processes are serialised; an editor that saves in between is not overwritten.
//
// What these files say can come with a cloned repository. What in them weakens a default (`unscoped:` rules,
// `commands.allow`, `network: allow`) has no effect before the operator has trusted it: a Store asks by hash
// ([Store.TrustedBy], and trusts nothing without it), [Store.Weakenings] lists what there is, and [Ignore.Unscoped] and
// [Set.Commands] leave out what is not trusted. Everything else in them tightens, or declares, and needs no trust.
//
// # Non-promise
//
// The package does not decide: it knows nothing of sessions, calls or approvals. It compares paths as text; resolving
// symbolic links, and letter case on file systems that ignore it, are the caller's part.
//
// # Format of active_intents.yaml
//
// One YAML document of at most 1 MiB: a mapping with the list `active_intents` (or `intents`, or `activeIntents`; one
// of them). Each intent has `id` (`^[A-Za-z][A-Za-z0-9._-]{0,63}$`, unique) and `status`, and may have `name`,
// `description`, `owned_scope`, `constraints`, `acceptance_criteria`, `agent`, `started_at`, `commands` (`allow`, `ask`,
// `deny`, `network`), `rules` (`name`, `when`, `action`, `message`) and `verify`. Keys may be written in camelCase
// instead. Statuses are TODO or PENDING, IN_PROGRESS, BLOCKED, DONE or COMPLETED, in any letter case, with `-` for `_`.
// Other keys are kept and warned about; a known key in a wrong spelling (`owned-scope`), a duplicate key, a merge key
// (`<<`), a value of another type, or a second document make the file unreadable. Aliases are followed within a bound.
//
// # Scope globs
//
// See [CompileScope].
//
// # Format of .intentignore
//
// See [Ignore].
package intent
