package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// tier ranks sources, the strongest first.
type tier int

const (
	tierSystem    tier = iota
	tierUser           // also environment and flags
	tierWorkspace      // trusted
	tierForeign        // a workspace that is not trusted
)

// lock is a value that a tier has fixed for those below it.
type lock struct {
	tier  tier
	file  string
	value any
}

// merger applies sources in their order.
type merger struct {
	loaded Loaded
	locks  map[string]lock
}

func (m *merger) apply(s source, tier tier) {
	for _, a := range s.assignments {
		base := a.key.get(&m.loaded.Settings)
		if reason, needsTrust := m.objection(a, base, tier); reason != "" {
			m.withhold(a, reason, needsTrust)
			continue
		}
		if servers, are := a.value.([]Server); are {
			a.value = placed(servers, s.name, tier)
		}
		a.key.set(&m.loaded.Settings, a.key.combine(base, a.value))
		m.loaded.Origins[a.key.name] = a.origin
	}
}

// objection says why a value does not hold.
func (m *merger) objection(a assignment, base any, tier tier) (reason string, needsTrust bool) {
	if l, locked := m.locks[a.key.name]; locked && tier > l.tier {
		if l.forbids(a) {
			return "it is locked by " + l.file, false
		}
		if a.key.order.weaker(a.value, base) {
			return "it is locked by " + l.file + ", and a stricter value holds", false
		}
	}
	if tier == tierForeign && a.key.order.weaker(a.value, base) {
		return a.key.order.why, true
	}
	return "", false
}

// forbids: a locked value may be tightened; where there is no stricter and weaker, it stays.
func (l lock) forbids(a assignment) bool {
	if a.key.order.note == noteNeutral {
		return !reflect.DeepEqual(a.value, l.value)
	}
	return a.key.order.weaker(a.value, l.value)
}

func (m *merger) withhold(a assignment, reason string, needsTrust bool) {
	value := encode(a.value)
	if a.key.secret() {
		value = "(hidden)"
	}
	m.loaded.Withheld = append(m.loaded.Withheld, Withheld{a.key.name, value, a.origin, reason, needsTrust})
}

// lock fixes what holds after the tier's own values, also defaults. A lock of a higher tier stays.
func (m *merger) lock(s source, tier tier) {
	for _, name := range s.locks {
		if _, locked := m.locks[name]; locked {
			continue
		}
		m.locks[name] = lock{tier, s.name, find(name).get(&m.loaded.Settings)}
	}
}

// String is one line for people.
func (w Withheld) String() string {
	text := fmt.Sprintf("%s: %s = %s is not applied: %s", w.Origin, w.Key, w.Value, w.Reason)
	if w.NeedsTrust {
		text += " (orchestra-mcp trust shows the file and applies it)"
	}
	return text
}

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
	case "fewer":
		return weaker(offersMore)
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
