package intent

import (
	"encoding/json"
	"time"
)

// record is an intent as programs read it, with the keys of the file.
type record struct {
	ID                 string         `json:"id"`
	Name               string         `json:"name"`
	Status             Status         `json:"status"`
	Description        string         `json:"description"`
	OwnedScope         []string       `json:"owned_scope"`
	Constraints        []string       `json:"constraints"`
	AcceptanceCriteria []string       `json:"acceptance_criteria"`
	Agent              string         `json:"agent,omitempty"`
	StartedAt          time.Time      `json:"started_at,omitzero"`
	Commands           *commandRecord `json:"commands,omitempty"`
	Rules              []ruleRecord   `json:"rules,omitempty"`
	Verify             []string       `json:"verify,omitempty"`
	Line               int            `json:"line,omitempty"`
}

type commandRecord struct {
	Allow   []string `json:"allow,omitempty"`
	Ask     []string `json:"ask,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Network string   `json:"network,omitempty"`
}

type ruleRecord struct {
	Name    string     `json:"name"`
	When    string     `json:"when"`
	Action  RuleAction `json:"action"`
	Message string     `json:"message,omitempty"`
}

var _ json.Marshaler = (*Intent)(nil)

// MarshalJSON gives all that the intent says with the keys of the file, and its line there. Lists that programs go over
// are never null.
func (i *Intent) MarshalJSON() ([]byte, error) {
	r := record{
		ID: i.ID, Name: i.Name, Status: i.Status, Description: i.Description, OwnedScope: append([]string{}, i.OwnedScope...),
		Constraints: append([]string{}, i.Constraints...), AcceptanceCriteria: append([]string{}, i.AcceptanceCriteria...),
		Agent: i.Agent, StartedAt: i.StartedAt, Verify: i.Verify, Line: i.Line,
	}
	if c := i.Commands; len(c.Allow)+len(c.Ask)+len(c.Deny) > 0 || c.Network != "" {
		r.Commands = &commandRecord{Allow: c.Allow, Ask: c.Ask, Deny: c.Deny, Network: c.Network}
	}
	for _, rule := range i.Rules {
		r.Rules = append(r.Rules, ruleRecord(rule))
	}
	return json.Marshal(r)
}
