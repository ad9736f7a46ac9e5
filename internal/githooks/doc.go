// Package githooks puts hooks into a git repository beside those that are there, and takes them away again.
//
// # Promise
//
// A hook that was there runs first, with the same arguments, standard input and name, and its exit code decides. Nothing
// of it is changed: its file is moved aside under a name of its own, and back by [Remove]. Installing twice is
// installing once. Where this cannot be done well, [Install] says why and changes nothing: a hooks directory that git
// tracks, that serves other repositories too, or that cannot be written. What we add never stops a commit.
//
// # Non-promise
//
// Another program may write its own hook over ours (husky does so in .husky/_ whenever it is installed); then ours no
// longer runs until it is installed again. git commit --no-verify runs no hook at all.
//
// # Files
//
// In the directory that `git rev-parse --git-path hooks` names, for each hook:
//
//	<hook>                     our script, known by its second line
//	<hook>.before-orchestra    what stood under that name
//	<hook>.legacy              our script, where the pre-commit framework moved it, and calls it
//
// A script names the workspaces that it serves, relative to the top of the work tree, a line "# workspace: <path>" each.
package githooks
