package settings

import (
	"fmt"
	"reflect"
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
