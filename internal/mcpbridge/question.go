package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"
)

// Question is a form that a tool puts to the person who uses the client. It goes to the client as it is.
type Question struct {
	// Message says what is asked and why: valid UTF-8, 1 to 4,000 bytes.
	Message string
	// Schema is what is to be filled in, at most 16 KiB: a JSON Schema with root type object, whose properties are of the
	// kinds that the protocol has for forms (strings, numbers, booleans, choices).
	Schema json.RawMessage
}

// Reply is what became of a Question. Content is empty unless the form was accepted; then it has the form's fields alone, and
// is valid against its schema.
type Reply struct {
	Action  Action
	Content json.RawMessage
}

var (
	// ErrCannotAsk is what [Call.Ask] returns where the client has not declared that it shows forms, cannot be reached, or
	// answers nothing ([Identity.Unasked]).
	ErrCannotAsk = errors.New("the client cannot ask its user")
	// ErrUnanswered is what [Call.Ask] returns where the answer comes with the call's repetition.
	ErrUnanswered = errors.New("the answer comes when the call is made again")
)

const (
	maxQuestion = 4000
	maxForm     = 16 << 10
	maxReply    = 16 << 10
	// maxAsked bounds the questions of one call of 2026-07-28.
	maxAsked = 16
	maxKey   = 64
)

// form reads the schema, and says what is wrong with the question.
func (q Question) form() (*jsonschema.Resolved, error) {
	if q.Message == "" || len(q.Message) > maxQuestion || !utf8.ValidString(q.Message) {
		return nil, fmt.Errorf("the message of a question must have 1 to %d bytes of UTF-8", maxQuestion)
	}
	if len(q.Schema) > maxForm {
		return nil, fmt.Errorf("the schema of a question is longer than %d bytes", maxForm)
	}
	if err := checkObjectSchema(q.Schema); err != nil {
		return nil, fmt.Errorf("the schema of a question: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(q.Schema, &s); err != nil {
		return nil, fmt.Errorf("the schema of a question: %w", err)
	}
	return s.Resolve(nil)
}

// readReply reads an elicitation result. Fields that the form does not have are left out, as the protocol advises.
func readReply(result json.RawMessage, form *jsonschema.Resolved) (Reply, error) {
	reply, err := readFilledIn(result, form)
	if err != nil {
		return Reply{}, fmt.Errorf("%w: %v", ErrBadAnswer, err)
	}
	return reply, nil
}

func readFilledIn(result json.RawMessage, form *jsonschema.Resolved) (reply Reply, err error) {
	if len(result) > maxReply {
		return reply, fmt.Errorf("it is longer than %d bytes", maxReply)
	}
	action, raw, err := readAction(result)
	if reply.Action = action; err != nil || action != Accept {
		return reply, err
	}
	content := json.RawMessage("{}")
	if raw != nil {
		filled, err := readMembers(raw)
		if err != nil {
			return reply, err
		}
		var names []string
		for name := range form.Schema().Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		if err := filled.checkNames(names); err != nil {
			return reply, err
		}
		content = filled.only(names)
	}
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		return reply, err
	}
	reply.Content = content
	return reply, form.Validate(fields)
}

// put implements Call.Ask.
func (f *flight) put(ctx context.Context, key string, q Question) (Reply, error) {
	form, err := q.form()
	switch {
	case err != nil:
		return Reply{}, err
	case f.unasked:
		return Reply{}, ErrCannotAsk
	case f.caller.Modern:
		return f.later(key, q, form)
	case !f.asks || !f.caller.CanElicit:
		return Reply{}, ErrCannotAsk
	}
	result, err := f.elicited(ctx, elicitParams{q.Message, q.Schema})
	if err != nil {
		return Reply{}, err
	}
	return readReply(result, form)
}

// IsKey reports whether a question of a tool's own can have that key.
func IsKey(key string) bool { return key != "" && len(key) <= maxKey && key != questionKey }

// later takes the answer that the call has brought along, or notes the question for its result. What does not fit the form is
// asked for again.
func (f *flight) later(key string, q Question, form *jsonschema.Resolved) (Reply, error) {
	if !f.caller.CanElicit {
		return Reply{}, ErrCannotAsk
	}
	if !IsKey(key) {
		return Reply{}, fmt.Errorf("the key of a question must have 1 to %d bytes, and be another than %q", maxKey, questionKey)
	}
	f.asking.Lock()
	defer f.asking.Unlock()
	if resumed := f.resumed; resumed != nil {
		result := resumed.others.get(key)
		if resumed.others.checkNames([]string{key}) != nil {
			result = nil // it is there in another spelling too: two readers would see two answers
		} else if result == nil {
			result = resumed.carried[key]
		}
		if reply, err := readReply(result, form); result != nil && err == nil {
			if f.answered == nil {
				f.answered = map[string]json.RawMessage{}
			}
			f.answered[key] = encode(struct {
				Action  Action          `json:"action"`
				Content json.RawMessage `json:"content,omitempty"`
			}{reply.Action, reply.Content})
			return reply, nil
		}
	}
	if len(f.unanswered) >= maxAsked {
		return Reply{}, ErrTooManyQuestions
	}
	if f.unanswered == nil {
		f.unanswered = mcp.InputRequests{}
	}
	f.unanswered[key] = mcp.NewElicitationInputRequest(mcp.ElicitationParams{Message: q.Message, RequestedSchema: q.Schema})
	return Reply{}, ErrUnanswered
}

// askAgain is the result of a call that needs answers. It carries those that are there, for the client sends each only once.
func (f *flight) askAgain() ([]byte, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if len(f.unanswered) == 0 {
		return nil, errors.New("the tool waits for an answer, and has asked nothing")
	}
	state, err := f.server.seal(f.request, f.answered, "")
	if err != nil {
		return nil, err
	}
	var base mcp.Result
	f.server.identify(&base, "", f.caller)
	base.ResultType = mcp.ResultTypeInputRequired
	encoded, err := json.Marshal(mcp.InputRequiredResult{Result: base, MultiRoundTripResult: mcp.MultiRoundTripResult{
		InputRequests: f.unanswered, RequestState: state,
	}})
	return encodeResult(f.id, encoded), err
}

// carried is a question that is not the tool's, which ends the call before the tool has run: with what the call has brought of
// answers to the tool's own, for the client sends each only once.
func (f *flight) carried(asked *InputRequired) *InputRequired {
	resumed := f.resumed
	if asked == nil || resumed == nil || len(resumed.others) > maxAsked+1 {
		return asked
	}
	answers := map[string]json.RawMessage{}
	maps.Copy(answers, resumed.carried)
	for _, reply := range resumed.others {
		if reply.name != questionKey && resumed.others.checkNames([]string{reply.name}) == nil {
			answers[reply.name] = reply.value
		}
	}
	if len(answers) == 0 {
		return asked
	}
	state, err := f.server.seal(f.request, answers, asked.State)
	if err != nil {
		return asked // they are too long, and asked for again
	}
	return &InputRequired{Form: asked.Form, State: state}
}
