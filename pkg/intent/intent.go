package intent

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// Intent is a named, scoped piece of work. Intents that come from a [Set] are shared: read them, do not change them.
type Intent struct {
	ID                 string       `json:"id"`
	Name               string       `json:"name"`
	Status             Status       `json:"status"`
	Description        string       `json:"description"`
	OwnedScope         []string     `json:"owned_scope"` // globs as written, see CompileScope
	Constraints        []string     `json:"constraints"`
	AcceptanceCriteria []string     `json:"acceptance_criteria"`
	Agent              string       `json:"agent,omitempty"`
	StartedAt          time.Time    `json:"started_at,omitzero"` // zero if not stated
	Commands           CommandRules `json:"commands,omitzero"`
	Rules              []Rule       `json:"rules,omitempty"`
	Verify             []string     `json:"verify,omitempty"` // commands that must pass before the intent is done
	Line               int          `json:"line,omitempty"`   // line of the intent in its file

	scope    *Scope
	compiled []*rule.Rule
	command  policy.Source
	version  string
}

// CommandRules are the command patterns of an intent, as written.
type CommandRules struct {
	Allow   []string `json:"allow,omitempty"`
	Ask     []string `json:"ask,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Network string   `json:"network,omitempty"` // "allow", "deny" or "" if not stated
}

// Rule is a condition under which a call is refused or put to the operator.
type Rule struct {
	Name    string      `json:"name"`
	When    string      `json:"when"`   // the condition, see package rule
	Action  rule.Action `json:"action"` // a rule that states none refuses
	Message string      `json:"message,omitempty"`
}

// Scope returns the compiled owned_scope.
func (i *Intent) Scope() *Scope { return i.scope }

// CompiledRules returns the rules in a form that can be evaluated, in the order of Rules.
func (i *Intent) CompiledRules() []*rule.Rule { return slices.Clone(i.compiled) }

// CommandPolicy returns the compiled rules for commands, also those that wait for trust: see [Set.Commands].
func (i *Intent) CommandPolicy() policy.Source { return i.command }

// Version returns a hash over all that the intent says, its unknown keys included, whatever its comments and layout:
// it changes when the operator changes anything about the intent, its status included.
func (i *Intent) Version() string { return i.version }

// ValidID reports whether id has the form of an intent id.
func ValidID(id string) bool { return idPattern().MatchString(id) }

var idPattern = lazy.Regexp(`^[A-Za-z][A-Za-z0-9._-]{0,63}\z`)

var _ json.Marshaler = (*Intent)(nil)

// MarshalJSON gives all that the intent says with the keys of the file, and its line there. Lists that programs go over
// are never null.
func (i *Intent) MarshalJSON() ([]byte, error) {
	type fields Intent // without this method
	r := fields(*i)
	for _, list := range []*[]string{&r.OwnedScope, &r.Constraints, &r.AcceptanceCriteria} {
		*list = append([]string{}, *list...)
	}
	return json.Marshal(r)
}

// IsZero reports whether no rule for commands is stated.
func (c CommandRules) IsZero() bool {
	return len(c.Allow)+len(c.Ask)+len(c.Deny) == 0 && c.Network == ""
}
