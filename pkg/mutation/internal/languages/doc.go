// Package languages compares programs over the trees of tree-sitter.
//
// What all languages share is here: a tree without comments, layout and optional
// punctuation is built for each side (builder.go), names are resolved by
// scopes (scope.go), the trees are compared by package tree, and each renaming
// is held to what could make it more than that (rename.go). What a language is
// like is in a table (language.go) that names its kinds of nodes and has
// functions for what no list can say: script.go, python.go and so on.
//
// The package promises that a table which knows too little makes a comparison
// miss a refactor, not find one: what no table mentions is compared as it is
// written, and a name that cannot be resolved is fixed. On top of the scopes a
// renaming is not proven if either name stands anywhere in the function (for a
// name of the file, in the file) without being resolved, be it in a text that
// could be code.
//
// Declarations that have no effect may change places (order.go, arrange.go).
// Members may be renamed where every use is known to be one of their class
// (members.go).
//
// Files of one call that import from each other are compared together
// (joint.go), where it is certain which file an import means. Where the table of
// a language has no names that others use, these are renamed by their spelling
// (tops.go): throughout the call, if each use is certain. What a name means
// in other files is not known, and no types are: other members are never renamed. It takes no account of what a program finds out
// about its own text: line numbers, the source of a function, the names and the
// order of its functions.
package languages
