package hooks

import "context"

// Ways are how the operator can be reached while a call is made. A transport offers what its client declared; the zero
// value is a client that cannot be asked.
type Ways struct {
	// Elicit shows a form in the client and waits for what its user does with
	// it; nil where the client cannot be asked so.
	Elicit func(ctx context.Context, f Form) (Reply, error)
	// Return: the client takes a question as the result of its call, and makes
	// the same call again with the answer (revision 2026-07-28).
	Return bool
	// Resumed is the answer that the call brings along; nil if it has none.
	Resumed *Resumed
	// Aside runs wait, which waits for a person, while the call's place among those that run is free for others. With
	// an error it has not run: too many wait already. Nil where there are no places.
	Aside func(wait func()) error
}

// Form is a question to the operator with a fixed set of answers.
type Form struct {
	// Message has no character that acts on a terminal.
	Message string
	// ForIntent: the answer "for this intent" can be given.
	ForIntent bool
}

// Reply is what the user of a client did with a form.
type Reply struct {
	// Decision is approve_once, approve_for_intent or deny; "" where the form was put away without a choice.
	Decision string
	Reason   string
}

// Resumed is what a client sent of an earlier question. None of it is verified: the client can have made it up.
type Resumed struct {
	// State is what InLine.State was, by the client's word.
	State string
	// Read reads the answer as one to f.
	Read func(f Form) (Reply, error)
}

// InLine is the error of a call that is to be put to the client's user through the call's result.
type InLine struct {
	Form Form
	// State comes back with the answer.
	State string
}

func (*InLine) Error() string { return "the operator has to be asked through the call's result" }
