// Package mutation decides whether a change kept what the code does
// (AST_REFACTOR) or is anything else (INTENT_EVOLUTION), and how surely that is
// known.
//
// It promises that AST_REFACTOR is never the outcome of a guess: without a
// parser for the language the evidence is "unsupported" and the class is what
// the agent declared. It does not yet prove anything: no language has a parser
// in this version, so every verdict is unsupported.
package mutation

import "fmt"

// Class is a mutation class, as agents declare it and the ledger records it.
type Class string

// The two classes.
const (
	Refactor  Class = "AST_REFACTOR"
	Evolution Class = "INTENT_EVOLUTION"
)

// Evidence says how a verdict was reached.
type Evidence string

// The four kinds of evidence.
const (
	Proven      Evidence = "proven"
	ProvenLocal Evidence = "proven-local"
	Unproven    Evidence = "unproven"
	Unsupported Evidence = "unsupported"
)

// File is one changed file of a call.
type File struct {
	Path          string
	Before, After []byte
}

// Verdict is what the comparison of a call's files came to.
type Verdict struct {
	Evidence Evidence
	// Reason is one line that a reviewer understands.
	Reason string
}

// Judge compares the files of one call together.
func Judge(files []File) Verdict {
	if len(files) == 0 {
		return Verdict{Unsupported, "no file changed"}
	}
	return Verdict{Unsupported, "this version has no parser for " + files[0].Path}
}

// Resolved is a call's class for the ledger.
type Resolved struct {
	// Class is what the record says at its top level.
	Class Class
	// Declared is empty when the agent declared nothing.
	Declared Class
	Evidence Evidence
	// Warning is set when a declared refactor was recorded as an evolution.
	Warning string
}

// Resolve applies SPEC 11: AST_REFACTOR only when proven or proven-local, or
// when declared and the language is unsupported.
func Resolve(declared Class, v Verdict) Resolved {
	r := Resolved{Class: Evolution, Declared: declared, Evidence: v.Evidence}
	switch v.Evidence {
	case Proven, ProvenLocal:
		r.Class = Refactor
	case Unsupported:
		if declared == Refactor {
			r.Class = Refactor
		}
	case Unproven:
		if declared == Refactor {
			r.Warning = fmt.Sprintf("declared %s, recorded as %s: %s", Refactor, Evolution, v.Reason)
		}
	}
	return r
}
