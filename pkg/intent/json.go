package intent

import "encoding/json"

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
