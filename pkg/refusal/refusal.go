// Package refusal has what an agent gets when a call is not carried out: a code of a closed catalogue, a reason, and the next
// step. It promises that a refusal without code, reason or next step cannot be made; it does not decide anything, and it
// never holds file content unless a caller puts it in the details.
package refusal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Refusal is an immutable value: the With methods return changed copies, so one can be shared between hooks. It is an error,
// so that any layer can return it; As finds it again.
type Refusal struct {
	entry      Entry
	reason     string
	suggestion string
	details    map[string]any
	delivered  []Delivery
}

// Delivery says that a refusal hands the agent lines of a file, which therefore count as seen by its session.
type Delivery struct {
	// Path is workspace-relative.
	Path string
	// Hash is the hash of the whole file, "sha256:" and 64 hex digits.
	Hash string
	// Total is the number of lines of the file; From and To are the first and
	// last delivered line, 1-based. A whole empty file is 0, 0, 0.
	Total, From, To int
	// Gone says instead that the file is not there, which the agent now knows.
	Gone bool
}

// New makes a refusal. An unknown code becomes InternalError, and an empty
// reason is replaced by the catalogue's sentence: a refusal never lacks either.
func New(code Code, reason string) *Refusal {
	entry, ok := Lookup(code)
	if !ok {
		entry, _ = Lookup(InternalError)
		reason = fmt.Sprintf("%s (refused with the unknown code %q)", reason, string(code))
	}
	if reason == "" {
		reason = entry.Occurs
	}
	return &Refusal{entry: entry, reason: clip(oneStop(reason)), suggestion: entry.Next}
}

// A refusal goes to an agent's context. What makes one keeps it short; these
// bounds, in bytes, hold what an argument or a foreign error brings along.
const (
	maxReason = 20_000
	maxDetail = 256 << 10
)

func clip(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:maxReason], "") + fmt.Sprintf("… (cut, %d bytes in all)", len(reason))
}

// bounded leaves out details that are too large, and says so in their place.
func bounded(details map[string]any) map[string]any {
	kept := make(map[string]any, len(details))
	for key, value := range details {
		if encoded, err := json.Marshal(value); err == nil && len(encoded) > maxDetail {
			value = fmt.Sprintf("left out: %d bytes", len(encoded))
		}
		kept[key] = value
	}
	return kept
}

// oneStop ends a sentence once where it was made of an error that brought its own full stop.
func oneStop(reason string) string {
	reason = strings.ReplaceAll(reason, ".. Nothing was changed.", ". Nothing was changed.")
	if strings.HasSuffix(reason, "..") && !strings.HasSuffix(reason, "...") {
		return reason[:len(reason)-1]
	}
	return reason
}

// Newf is New with a format.
func Newf(code Code, format string, args ...any) *Refusal {
	return New(code, fmt.Sprintf(format, args...))
}

// AtPath is Newf about a file, which the details name.
func AtPath(code Code, path, format string, args ...any) *Refusal {
	return Newf(code, format, args...).With("path", path)
}

// Reworded is the refusal with another reason.
func (r *Refusal) Reworded(format string, args ...any) *Refusal {
	c := *r
	c.reason, c.delivered = clip(oneStop(fmt.Sprintf(format, args...))), nil
	return &c
}

// As finds a refusal in an error's chain.
func As(err error) (*Refusal, bool) {
	return errors.AsType[*Refusal](err)
}

// From returns the refusal in err's chain, or an InternalError that quotes err.
func From(err error) *Refusal {
	if r, ok := As(err); ok {
		return r
	}
	return New(InternalError, err.Error())
}

func (r *Refusal) Error() string           { return string(r.entry.Code) + ": " + r.reason }
func (r *Refusal) Code() Code              { return r.entry.Code }
func (r *Refusal) Reason() string          { return r.reason }
func (r *Refusal) Suggestion() string      { return r.suggestion }
func (r *Refusal) Hint() string            { return r.entry.Hint }
func (r *Refusal) Delivered() []Delivery   { return r.delivered }
func (r *Refusal) Detail(key string) any   { return r.details[key] }
func (r *Refusal) Details() map[string]any { return maps.Clone(r.details) }

// With adds a detail. Values must marshal to JSON.
func (r *Refusal) With(key string, value any) *Refusal {
	c := *r
	c.details = maps.Clone(r.details)
	if c.details == nil {
		c.details = make(map[string]any)
	}
	c.details[key] = value
	return &c
}

// Suggest replaces the suggestion.
func (r *Refusal) Suggest(format string, args ...any) *Refusal {
	c := *r
	c.suggestion = fmt.Sprintf(format, args...)
	return &c
}

// WithHint replaces the action hint where the catalogue says "by case".
func (r *Refusal) WithHint(hint string) *Refusal {
	c := *r
	c.entry.Hint = hint
	return &c
}

// Deliver notes that the details hand over lines of a file.
func (r *Refusal) Deliver(d Delivery) *Refusal {
	c := *r
	c.delivered = append(append([]Delivery(nil), r.delivered...), d)
	return &c
}

// Object is the JSON object of SPEC 7, the same in a result's text and in its structured content.
type Object struct {
	Status         string         `json:"status"`
	Message        string         `json:"message"`
	Error          string         `json:"error"`
	ErrorType      Code           `json:"error_type"`
	Recoverable    bool           `json:"recoverable"`
	ActionHint     string         `json:"action_hint"`
	Suggestion     string         `json:"suggestion"`
	Classification string         `json:"classification"`
	Details        map[string]any `json:"details"`
}

// Object renders the refusal for a call of the given class.
func (r *Refusal) Object(class string) Object {
	return Object{
		Status:         "error",
		Message:        "The tool execution failed",
		Error:          r.reason,
		ErrorType:      r.entry.Code,
		Recoverable:    r.entry.Recoverable,
		ActionHint:     r.entry.Hint,
		Suggestion:     r.suggestion,
		Classification: class,
		Details:        bounded(r.details),
	}
}

// MarshalJSON refuses: the object depends on the call's class, so only Object's result may be encoded.
func (r *Refusal) MarshalJSON() ([]byte, error) {
	return nil, errors.New("refusal: encode Object(class), not the refusal")
}

var (
	_ error          = (*Refusal)(nil)
	_ json.Marshaler = (*Refusal)(nil)
)
