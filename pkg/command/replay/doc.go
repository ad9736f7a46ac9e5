// Package replay tells what of a change of a work tree git itself makes of commits that people made.
//
// A branch of people changes docs/x.md, which is out of the scope of an agent; the agent merges it. That the file then
// says what the merge makes of it is no change of the agent's. If it says anything else, it is.
//
// # What is explained
//
// A commit that a [Trust] knows is explained. Of any other commit each path is looked at by itself: it is explained where it is
// what its parent has and that is explained, where the law of the agent lets it change the path, and where it is what a clean
// replay makes of explained commits: of a merge, its parents; of a revert, the commit that its message names; of any other, a
// commit by the same author at the same time, which is what a cherry-pick and a rebase keep. A path of the work tree is explained
// where it is what an explained HEAD has, or what the replay of what is under way makes (a merge, cherry-pick, revert or rebase
// that stopped, a stash); conflict markers are compared without the names behind them.
//
// # How it is replayed
//
// In a scratch repository that has the objects of the real one and nothing else of it: no configuration, attributes,
// hooks, drivers, grafts or replacements. It needs git merge-tree --write-tree (git 2.38).
//
// # Non-promise
//
// What is not explained is not thereby the agent's: a person's resolution of a conflict is not explained either, nor is a squash,
// a merge by a strategy, or a path with a filter. The names of the commits on the way say nothing of who pushed them.
package replay
