package mcpbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Form is a question to the person who uses the client: a decision, and a reason if they like. It is sent as an
// elicitation in form mode. Its texts go to the client as they are; making control characters visible is up to who writes
// them.
type Form struct {
	// Message says what is asked and why: valid UTF-8, required.
	Message string
	// Options are the decisions that can be made.
	Options []Option
}

// Option is a decision. Title is what is shown for it, where the revision in use allows.
type Option struct {
	Value, Title string
}

// Action is what the person did with a form.
type Action string

// What can be done with a form, in the protocol's words. Only Accept is a form that was filled in; Cancel is one that
// was put away without a choice.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// Answer is what became of a form.
type Answer struct {
	Action Action
	// Decision is the value of an option, and Reason what was said of it, at most 1,000 characters; both are empty unless
	// the form was accepted.
	Decision, Reason string
}

// ErrBadAnswer is what [Call.Elicit] and [Form.Read] return for an answer that does not fit the form, or that says
// that the client could not ask.
var ErrBadAnswer = errors.New("the client's answer does not fit the form")

const (
	decision  = "decision"
	reason    = "reason"
	maxReason = 1000 // in characters
	// firstElicitation is the revision that brought elicitation, titledOptions the one that brought the present way
	// to title the values of an enum.
	firstElicitation = "2025-06-18"
	titledOptions    = "2025-11-25"
)

// Read reads an elicitation result that answers the form. It is strict: an accepted form has a decision, no other field
// than the form's, each once, and only values that the form allows. Anything else is ErrBadAnswer.
func (f Form) Read(result json.RawMessage) (Answer, error) {
	answer, err := f.read(result)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %v", ErrBadAnswer, err)
	}
	return answer, nil
}

func (f Form) read(result json.RawMessage) (answer Answer, err error) {
	action, content, err := readAction(result)
	if answer.Action = action; err == nil && action == Accept {
		err = f.readContent(content, &answer)
	}
	return answer, err
}

// readAction reads what every elicitation result has; content is nil where there is none.
func readAction(result json.RawMessage) (action Action, content json.RawMessage, err error) {
	found, err := readMembers(result)
	if err == nil {
		err = found.checkNames([]string{"action", "content", "_meta"})
	}
	if err != nil {
		return "", nil, err
	}
	text, _ := found.text("action")
	switch action = Action(text); action {
	case Accept, Decline, Cancel:
		return action, found.get("content"), nil
	}
	return action, nil, errors.New("its action is neither accept, decline nor cancel")
}

func (f Form) readContent(raw json.RawMessage, into *Answer) error {
	if raw == nil {
		return errors.New("it was accepted without content")
	}
	content, err := readMembers(raw)
	if err != nil {
		return err
	}
	given := map[string]string{}
	for _, field := range content {
		_, twice := given[field.name]
		text, ok := unquote(field.value)
		switch {
		case field.name != decision && field.name != reason:
			return fmt.Errorf("the form has no field %.40q", field.name)
		case twice:
			return fmt.Errorf("%q is given twice", field.name)
		case !ok:
			return fmt.Errorf("%q is not a string", field.name)
		case field.name == decision && !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == text }):
			return fmt.Errorf("%q is not one of the values to choose from", field.name)
		case field.name == reason && utf8.RuneCountInString(text) > maxReason:
			return fmt.Errorf("%q is longer than %d characters", field.name, maxReason)
		}
		given[field.name] = text
	}
	if into.Decision, into.Reason = given[decision], given[reason]; into.Decision == "" {
		return fmt.Errorf("%q is missing", decision)
	}
	return nil
}

// elicitParams are the params of elicitation/create. The mode is left out: 2025-06-18 knows none, and later revisions
// take that for a form.
type elicitParams struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// schema is the form as the subset of JSON Schema that a revision allows.
func (f Form) schema(revision string) json.RawMessage {
	type properties struct {
		Decision property `json:"decision"`
		Reason   property `json:"reason"`
	}
	p := properties{
		property{Type: "string", Title: "Decision", Description: "What the call may do."},
		property{Type: "string", Title: "Reason", Description: "Yours, if you like; it reaches the agent.", MaxLength: maxReason},
	}
	for _, option := range f.Options {
		if revision >= titledOptions {
			p.Decision.OneOf = append(p.Decision.OneOf, titledConst(option))
			continue
		}
		p.Decision.Enum = append(p.Decision.Enum, option.Value)
		p.Decision.EnumNames = append(p.Decision.EnumNames, option.Title)
	}
	return encode(struct {
		Type       string     `json:"type"`
		Properties properties `json:"properties"`
		Required   []string   `json:"required"`
	}{"object", p, []string{decision}})
}

// property is a field as a primitive schema definition.
type property struct {
	Type        string        `json:"type"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	MaxLength   int           `json:"maxLength,omitempty"`
	OneOf       []titledConst `json:"oneOf,omitempty"`
	Enum        []string      `json:"enum,omitempty"`
	EnumNames   []string      `json:"enumNames,omitempty"`
}

type titledConst struct {
	Value string `json:"const"`
	Title string `json:"title"`
}

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
	// Answer is the reply to the form, for [Form.Read]; nil if there was none.
	Answer json.RawMessage

	others  members                    // the replies to a tool's own questions
	carried map[string]json.RawMessage // those to earlier ones, as the server has sealed them
}

// check finds what must not be sent to that caller.
func (i *InputRequired) check(caller Caller) error {
	switch {
	case !caller.Modern || !caller.CanElicit:
		return errors.New("the client cannot be asked with a result")
	case i.State == "" || len(i.State) > MaxState:
		return fmt.Errorf("the state of a question must have 1 to %d bytes", MaxState)
	}
	return nil
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
	r.Answer, r.others = answers.get(questionKey), answers
	return r, nil
}
