package mcpbridge

import (
	"encoding/json"
	"errors"
	"fmt"
)

// questionKey names our one question in inputRequests.
const questionKey = "operator"

// InputRequired has a call of revision 2026-07-28 end with a question. The client is expected, but not sure, to send
// the same call again with the answer: see [Resumption].
type InputRequired struct {
	Form Form
	// State comes back with the answer. It passes through the client, which can read, keep, alter and replay it: what
	// it carries has to be authenticated by who makes it. At most MaxState bytes, required.
	State string
}

// MaxState bounds [InputRequired.State] and [Resumption.State], in bytes.
const MaxState = 16 << 10

// Resumption is what a call of revision 2026-07-28 says to have been asked and answered before. The bridge has judged
// neither: both can be forged.
type Resumption struct {
	// State is the requestState as sent; empty if there was none.
	State string
	// Answer is the reply to the form, for [Form.Read]; nil if there was none. Replies to anything else have been
	// dropped.
	Answer json.RawMessage
}

// check finds what must not be sent to that caller.
func (i *InputRequired) check(caller Caller) error {
	switch {
	case !caller.Modern || !caller.CanElicit:
		return errors.New("the client cannot be asked with a result")
	case i.State == "" || len(i.State) > MaxState:
		return fmt.Errorf("the state of a question must have 1 to %d bytes", MaxState)
	}
	return i.Form.check()
}

// readResumption takes what a call of 2026-07-28 says about an earlier question; nil if it says nothing. Earlier
// revisions have no such thing.
func readResumption(params members, caller Caller) (*Resumption, *rpcError) {
	state, responses := params.get("requestState"), params.get("inputResponses")
	if !caller.Modern || (state == nil && responses == nil) {
		return nil, nil
	}
	r := &Resumption{}
	if state != nil {
		var ok bool
		if r.State, ok = unquote(state); !ok || len(r.State) > MaxState {
			return nil, errorf(codeInvalidParams, `"requestState" must be a string of at most %d bytes`, MaxState)
		}
	}
	if responses == nil {
		return r, nil
	}
	answers, err := readMembers(responses)
	if err == nil {
		err = answers.checkNames([]string{questionKey})
	}
	if err != nil {
		return nil, errorf(codeInvalidParams, `bad "inputResponses": %v`, err)
	}
	r.Answer = answers.get(questionKey)
	return r, nil
}
