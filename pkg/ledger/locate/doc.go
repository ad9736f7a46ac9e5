// Package locate says where the ledger of a workspace stands: in its tree, or beside it in the git directory that all work
// trees of the repository share.
//
// # Promise
//
// Every program finds the same place for one workspace. What stands in the tree all the same, as on a branch from before the
// move, is taken in before anything is read or written; no line is lost by a move, also if it is cut short.
//
// # Non-promise
//
// It does not choose: a ledger that is in the tree stays there until [MoveBeside], and a new one goes beside the tree only if
// who writes first wants it there.
package locate
