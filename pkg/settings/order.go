package settings

import (
	"reflect"
	"slices"
	"time"
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

// neutral is for keys that change nothing of what an agent may do.
func neutral() order {
	return order{func(any, any) bool { return false }, noteNeutral, ""}
}

// fixed is for keys of which any change is the operator's.
func fixed() order {
	return order{func(candidate, base any) bool { return !reflect.DeepEqual(candidate, base) }, noteTrust, whyTrust}
}

// rising ranks choices from the loosest to the strictest.
func rising(choices ...Choice) order {
	return order{func(candidate, base any) bool {
		return slices.Index(choices, candidate.(Choice)) < slices.Index(choices, base.(Choice))
	}, noteTighten, whyWeaker}
}

func trueIsStricter() order {
	return order{func(candidate, base any) bool { return !candidate.(bool) && base.(bool) }, noteTighten, whyWeaker}
}

func falseIsStricter() order {
	return order{func(candidate, base any) bool { return candidate.(bool) && !base.(bool) }, noteTighten, whyWeaker}
}

// lessIsStricter is for limits.
func lessIsStricter() order {
	return order{func(candidate, base any) bool { return number(candidate) > number(base) }, noteTighten, whyWeaker}
}

func moreIsStricter() order {
	return order{func(candidate, base any) bool { return number(candidate) < number(base) }, noteTighten, whyWeaker}
}

// grants is for lists of which each entry gives an agent something.
func grants() order {
	return order{func(candidate, _ any) bool { return reflect.ValueOf(candidate).Len() > 0 }, noteTrust, whyAddsRight}
}

// programs is for lists of programs that run outside the sandbox.
func programs() order {
	return order{func(candidate, _ any) bool { return reflect.ValueOf(candidate).Len() > 0 }, noteTrust, whyProgram}
}

// restricts is for lists of which each entry takes something from an agent.
func restricts() order {
	return order{func(any, any) bool { return false }, noteAdd, ""}
}

func number(value any) float64 {
	switch v := value.(type) {
	case time.Duration:
		return float64(v)
	case Size:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
