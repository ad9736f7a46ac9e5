package mcpbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Form is a question to the person who uses the client. It is sent as an elicitation in form mode: a message, and a
// flat object of strings to fill in. Its texts go to the client as they are; making control characters visible is up
// to who writes them.
type Form struct {
	// Message says what is asked and why. It is required.
	Message string
	// Fields are what is to be filled in, in this order; at least one.
	Fields []Field
}

// Field is one value that a form asks for.
type Field struct {
	// Name is the field's key in [Answer.Values]; unique within the form.
	Name string
	// Title and Description are shown to the person.
	Title, Description string
	// Required: an accepted form without the field is no answer.
	Required bool
	// Options, if there are any, are the only values. Without them the field takes text.
	Options []Option
	// MaxLength bounds a text field, in characters; 0 means 1,000.
	MaxLength int
}

// Option is a value to choose. Title is what is shown for it, where the revision in use allows; empty means the value
// itself.
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
	// Values are the fields that were filled in, by name; nil unless the form was accepted.
	Values map[string]string
}

// ErrBadAnswer is what [Call.Elicit] and [Form.Read] return for an answer that does not fit the form, or that says
// that the client could not ask.
var ErrBadAnswer = errors.New("the client's answer does not fit the form")

const (
	defaultMaxLength = 1000
	// firstElicitation is the revision that brought elicitation, titledOptions the one that brought the present way
	// to title the values of an enum.
	firstElicitation = "2025-06-18"
	titledOptions    = "2025-11-25"
)

// Read reads an elicitation result that answers the form. It is strict: an accepted form has every required field, no
// other than the form's, each once, and only values that the form allows. Anything else is ErrBadAnswer.
func (f Form) Read(result json.RawMessage) (Answer, error) {
	found, err := readMembers(result)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %v", ErrBadAnswer, err)
	}
	if err := found.checkNames([]string{"action", "content", "_meta"}); err != nil {
		return Answer{}, fmt.Errorf("%w: %v", ErrBadAnswer, err)
	}
	action, _ := found.text("action")
	switch Action(action) {
	case Decline, Cancel:
		return Answer{Action: Action(action)}, nil
	case Accept:
		values, err := f.readContent(found.get("content"))
		if err != nil {
			return Answer{}, fmt.Errorf("%w: %v", ErrBadAnswer, err)
		}
		return Answer{Action: Accept, Values: values}, nil
	}
	return Answer{}, fmt.Errorf("%w: its action is neither accept, decline nor cancel", ErrBadAnswer)
}

func (f Form) readContent(raw json.RawMessage) (map[string]string, error) {
	if raw == nil {
		return nil, errors.New("it was accepted without content")
	}
	content, err := readMembers(raw)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(f.Fields))
	for _, given := range content {
		i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == given.name })
		if i < 0 {
			return nil, fmt.Errorf("the form has no field %.40q", given.name)
		}
		if _, twice := values[given.name]; twice {
			return nil, fmt.Errorf("%q is given twice", given.name)
		}
		if values[given.name], err = f.Fields[i].read(given.value); err != nil {
			return nil, err
		}
	}
	for _, field := range f.Fields {
		if _, given := values[field.Name]; field.Required && !given {
			return nil, fmt.Errorf("%q is missing", field.Name)
		}
	}
	return values, nil
}

func (f Field) read(raw json.RawMessage) (string, error) {
	text, ok := unquote(raw)
	if !ok {
		return "", fmt.Errorf("%q is not a string", f.Name)
	}
	if len(f.Options) > 0 {
		if !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == text }) {
			return "", fmt.Errorf("%q is not one of the values to choose from", f.Name)
		}
		return text, nil
	}
	if utf8.RuneCountInString(text) > f.maxLength() {
		return "", fmt.Errorf("%q is longer than %d characters", f.Name, f.maxLength())
	}
	return text, nil
}

func (f Field) maxLength() int {
	if f.MaxLength > 0 {
		return f.MaxLength
	}
	return defaultMaxLength
}

// check finds what would make a form that cannot be answered.
func (f Form) check() error {
	if f.Message == "" || len(f.Fields) == 0 {
		return errors.New("a form needs a message and a field")
	}
	if !utf8.ValidString(f.Message) {
		return errors.New("the message of a form is not valid UTF-8")
	}
	names := make(map[string]bool)
	for _, field := range f.Fields {
		if field.Name == "" || names[field.Name] {
			return fmt.Errorf("the form's field names must be unique and not empty: %q", field.Name)
		}
		names[field.Name] = true
		values := make(map[string]bool)
		for _, option := range field.Options {
			if option.Value == "" || values[option.Value] {
				return fmt.Errorf("the options of %q must be unique and not empty: %q", field.Name, option.Value)
			}
			values[option.Value] = true
		}
	}
	return nil
}

// elicitParams are the params of elicitation/create. The mode is left out: 2025-06-18 knows none, and later revisions
// take that for a form.
type elicitParams struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

func (f Form) params(revision string) elicitParams {
	return elicitParams{Message: f.Message, Schema: f.schema(revision)}
}

// schema is the form as the subset of JSON Schema that a revision allows.
func (f Form) schema(revision string) json.RawMessage {
	var properties members
	required := []string{}
	for _, field := range f.Fields {
		properties = append(properties, member{field.Name, encode(field.property(revision))})
		if field.Required {
			required = append(required, field.Name)
		}
	}
	return encode(struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}{"object", properties.object(), required})
}

// property is a field as a primitive schema definition.
type property struct {
	Type        string        `json:"type"`
	Title       string        `json:"title,omitempty"`
	Description string        `json:"description,omitempty"`
	MaxLength   int           `json:"maxLength,omitempty"`
	OneOf       []titledConst `json:"oneOf,omitempty"`
	Enum        []string      `json:"enum,omitempty"`
	EnumNames   []string      `json:"enumNames,omitempty"`
}

type titledConst struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func (f Field) property(revision string) property {
	p := property{Type: "string", Title: f.Title, Description: f.Description}
	if len(f.Options) == 0 {
		p.MaxLength = f.maxLength()
		return p
	}
	for _, option := range f.Options {
		title := option.Title
		if title == "" {
			title = option.Value
		}
		if revision >= titledOptions {
			p.OneOf = append(p.OneOf, titledConst{option.Value, title})
			continue
		}
		p.Enum = append(p.Enum, option.Value)
		p.EnumNames = append(p.EnumNames, title)
	}
	return p
}
