// Package ask puts to the operator what the gate may not decide alone (SPEC 9): it is the hooks.Asker on an approval.Store.
//
// The order is: a grant that covers every failed check; an approval of this very call that was not used; the client's
// own form, if it declared that it shows forms; the inbox. It promises that
//
//   - a client that did not declare forms is never sent one;
//   - a yes is about what was shown: the call is judged anew after it, and passes only if the digest is the same;
//   - what the operator has made of a call is a call of its own: it passes only where it is stopped by what the operator was
//     asked, on the content that the operator saw, and whatever else stands against it is refused or asked about anew;
//   - a yes that came through a client is held to the state that went out with the question, which the client can
//     neither make nor use twice;
//   - a call that waits keeps neither its place in the order of its session nor one among the calls that run;
//   - every question, and every answer that comes in line, is recorded before it has an effect.
//
// It does not know who sits at the client: what a client says its user answered is believed.
package ask
