package external

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// verdict is what a program came to; a greater one is stricter.
type verdict int

const (
	allow verdict = iota
	ask
	deny
)

// answer is what a program said.
type answer struct {
	verdict verdict
	// reason is why, in the program's words; it may be empty.
	reason string
	// notes are for the agent, whatever the verdict is.
	notes []string
}

// noteLimit bounds one text of a program, in characters.
const noteLimit = 2_000

// output is the JSON of an answer, as far as it counts here. The other fields of the contract are accepted.
type output struct {
	Continue       *bool  `json:"continue"`
	StopReason     string `json:"stopReason"`
	SuppressOutput bool   `json:"suppressOutput"`
	SystemMessage  string `json:"systemMessage"`
	Decision       string `json:"decision"`
	Reason         string `json:"reason"`
	Specific       *struct {
		HookEventName      string         `json:"hookEventName"`
		PermissionDecision string         `json:"permissionDecision"`
		PermissionReason   string         `json:"permissionDecisionReason"`
		UpdatedInput       jsontext.Value `json:"updatedInput"`
		AdditionalContext  string         `json:"additionalContext"`
		UpdatedToolOutput  jsontext.Value `json:"updatedMCPToolOutput"`
	} `json:"hookSpecificOutput"`
}

// interpret turns the end of a program into its answer. An error means that there is none.
func interpret(r command.Result, moment string) (answer, error) {
	stderr := clip(r.Errors)
	switch {
	case r.Cancelled:
		return answer{}, errors.New("was ended with the call")
	case r.TimedOut:
		return answer{}, fmt.Errorf("gave no answer within its time%s", said(stderr))
	case r.ExitCode == 2:
		return answer{verdict: deny, reason: stderr}, nil
	case r.ExitCode != 0:
		return answer{}, fmt.Errorf("ended with exit code %d%s", r.ExitCode, said(stderr))
	}
	text := strings.TrimSpace(r.Output)
	if !strings.HasPrefix(text, "{") {
		return answer{notes: notesOf(text)}, nil
	}
	if r.Truncated {
		return answer{}, fmt.Errorf("printed JSON of more than %d characters", command.OutputLimit)
	}
	var out output
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return answer{}, fmt.Errorf("printed JSON that cannot be read: %s", clip(err.Error()))
	}
	return out.answer(moment)
}

func (o *output) answer(moment string) (a answer, err error) {
	if err := o.unfit(moment); err != nil {
		return answer{}, err
	}
	decide := func(v verdict, reason string) {
		if v > a.verdict || a.reason == "" && v == a.verdict {
			a.verdict, a.reason = v, clip(reason)
		}
	}
	switch o.Decision {
	case "", "approve":
	case "block":
		decide(deny, o.Reason)
	default:
		return answer{}, fmt.Errorf("printed the decision %q, which is not approve or block", clip(o.Decision))
	}
	if o.Specific != nil {
		switch o.Specific.PermissionDecision {
		case "", "allow":
		case "ask":
			decide(ask, o.Specific.PermissionReason)
		case "deny":
			decide(deny, o.Specific.PermissionReason)
		default:
			return answer{}, fmt.Errorf("printed the permissionDecision %q, which is not allow, deny or ask", clip(o.Specific.PermissionDecision))
		}
		a.notes = append(a.notes, notesOf(o.Specific.AdditionalContext)...)
	}
	if o.Continue != nil && !*o.Continue {
		decide(deny, o.StopReason)
	}
	a.notes = append(a.notes, notesOf(o.SystemMessage)...)
	return a, nil
}

// unfit refuses answers that no call can be held to.
func (o *output) unfit(moment string) error {
	s := o.Specific
	switch {
	case s == nil:
		return nil
	case s.HookEventName != "" && s.HookEventName != moment:
		return fmt.Errorf("answered for the event %q, not for %s", clip(s.HookEventName), moment)
	case given(s.UpdatedInput):
		return errors.New("wants to change the call (updatedInput): what was checked is what runs, so a hook can only allow, deny or ask")
	case given(s.UpdatedToolOutput):
		return errors.New("wants to change the result (updatedMCPToolOutput), which no hook can")
	case moment == postToolUse && s.PermissionDecision != "":
		return errors.New("printed a permissionDecision for a call that is over")
	}
	return nil
}

func given(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

func notesOf(text string) []string {
	if text = clip(text); text == "" {
		return nil
	}
	return []string{text}
}

// clip makes a text of a program safe and short. JSON can hold what the cleaning of the output did not see.
func clip(text string) string {
	return printable.Clip(strings.TrimSpace(command.Clean([]byte(text))), noteLimit)
}

func said(stderr string) string {
	if stderr == "" {
		return ""
	}
	return ", saying: " + stderr
}
