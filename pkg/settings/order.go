package settings

import (
	"reflect"
	"slices"
	"strings"
)

// order says what a workspace that is not trusted may do with a key. weaker reports whether candidate gives an agent
// more than base does.
type order struct {
	weaker func(candidate, base any) bool
	// note describes it for people.
	note string
	// why is the reason of a refusal.
	why string
}

const (
	noteNeutral  = "free"
	noteTighten  = "may only tighten"
	noteTrust    = "needs trust"
	noteAdd      = "may add"
	whyWeaker    = "it is weaker than what holds without this file"
	whyTrust     = "only the operator may set it"
	whyProgram   = "it starts a program"
	whyAddsRight = "it allows more than what holds without this file"
)

// orderOf reads the tag of a key with these choices.
func orderOf(tag string, choices []string) order {
	weaker := func(than func(candidate, base any) bool) order { return order{than, noteTighten, whyWeaker} }
	gives := func(candidate, _ any) bool { return reflect.ValueOf(candidate).Len() > 0 }
	switch tag {
	case "free":
		return order{never, noteNeutral, ""}
	case "restricts":
		return order{never, noteAdd, ""}
	case "fixed":
		return order{func(candidate, base any) bool { return !reflect.DeepEqual(candidate, base) }, noteTrust, whyTrust}
	case "grants":
		return order{gives, noteTrust, whyAddsRight}
	case "programs": // they run outside the sandbox
		return order{gives, noteTrust, whyProgram}
	case "true", "false":
		return weaker(func(candidate, base any) bool { return candidate != base && candidate != (tag == "true") })
	case "less":
		return weaker(func(candidate, base any) bool { return number(candidate) > number(base) })
	case "more":
		return weaker(func(candidate, base any) bool { return number(candidate) < number(base) })
	}
	ranks := strings.Split(tag, "<")
	if len(ranks) != len(choices) || slices.ContainsFunc(ranks, func(rank string) bool { return !slices.Contains(choices, rank) }) {
		panic("settings: there is no order " + tag)
	}
	return weaker(func(candidate, base any) bool {
		return slices.Index(ranks, string(candidate.(Choice))) < slices.Index(ranks, string(base.(Choice)))
	})
}

func never(any, any) bool { return false }
