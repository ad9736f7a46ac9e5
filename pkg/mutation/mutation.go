// Package mutation decides whether a change kept what the code does (AST_REFACTOR) or is anything else
// (INTENT_EVOLUTION), and how surely that is known.
//
// It promises that AST_REFACTOR is never the outcome of a guess: without a parser for the language the evidence is
// "unsupported" and the class is what the agent declared.
package mutation

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// Class is a mutation class, as agents declare it and the ledger records it.
type Class string

// The two classes.
const (
	Refactor  Class = "AST_REFACTOR"
	Evolution Class = "INTENT_EVOLUTION"
)

// The types that the judges of the languages share.
type (
	Evidence = verdict.Evidence
	File     = verdict.File
	Limits   = verdict.Limits
	Rename   = verdict.Rename
	Move     = verdict.Move
	Verdict  = verdict.Verdict
)

// The four kinds of evidence.
const (
	Proven      = verdict.Proven
	ProvenLocal = verdict.ProvenLocal
	Unproven    = verdict.Unproven
	Unsupported = verdict.Unsupported
)

// Resolved is a call's class for the ledger.
type Resolved struct {
	// Class is what the record says at its top level.
	Class Class
	// Declared is empty when the agent declared nothing.
	Declared Class
	Evidence Evidence
	// Reason is the verdict's.
	Reason string
	// Warning is set when a declared refactor was recorded as an evolution, or
	// as one that other files may have to follow.
	Warning string
}

// Resolve applies SPEC 11: AST_REFACTOR only when proven or proven-local, or
// when declared and the language is unsupported.
func Resolve(declared Class, v Verdict) Resolved {
	r := Resolved{Class: Evolution, Declared: declared, Evidence: v.Evidence, Reason: v.Reason}
	switch v.Evidence {
	case Proven:
		r.Class = Refactor
	case ProvenLocal:
		r.Class = Refactor
		if declared == Refactor {
			r.Warning = fmt.Sprintf("recorded as %s, but that other files go along is not proven: %s", Refactor, v.Reason)
		}
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
