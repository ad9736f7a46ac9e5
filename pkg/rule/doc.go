// Package rule compiles and evaluates the conditions that operators write into `rules:`, in the Common Expression
// Language (https://github.com/google/cel-spec).
//
// # Promise
//
//   - [Compile] accepts an expression only if it is well-typed over [Fields], yields true or false, and its literal regular
//     expressions and globs compile. What it accepts cannot read, write or start anything.
//   - [Rule.Holds] ends: a condition that costs too much (see Budget), or whose context ends, is an error. So is one that
//     fails on the way, such as an index out of range. A caller that takes an error for "refuse" fails closed.
//   - Nothing of CEL is set up before the first Compile.
//
// # Non-promise
//
// The package does not know what a rule is for: which calls are judged, what is refused, and what the operator is asked
// are the gate's part. It compares paths as text.
//
// A regular expression over a very long text cannot be interrupted: Holds gives up waiting, and the work goes on behind
// it until it is done, which its cost bounds.
package rule
