package sandbox

import "fmt"

// Want is what an operator wants of the sandbox. The zero Want is the best that there is.
type Want struct {
	// Off holds nothing.
	Off bool
	// AtLeast is the lowest level at which a command may run.
	AtLeast Level
	// Ability stands in for Probe where a lower level than the machine's is wanted, as tests do; nil is Probe.
	Ability func() Ability
}

// Level is the level at which commands run, or ErrUnavailable if it is too low.
// The first call can take some milliseconds.
func (w Want) Level() (Level, error) {
	a := Ability{Level: None}
	if !w.Off {
		a = w.ability()
	}
	why := a.NoFull
	if w.AtLeast != Full {
		why = a.NoLandlock
	}
	switch {
	case a.Level.AtLeast(w.AtLeast):
		return a.Level, nil
	case why != nil:
		return a.Level, fmt.Errorf("%w: the settings require the level %s, and this machine has %s: %w", ErrUnavailable, w.AtLeast, a.Level, why)
	}
	return a.Level, fmt.Errorf("%w: the settings require the level %s, and there is %s", ErrUnavailable, w.AtLeast, a.Level)
}

// DeniesNetwork reports whether commands can be kept from the network.
func (w Want) DeniesNetwork() bool { return !w.Off && w.ability().DeniesNetwork() }

func (w Want) ability() Ability {
	if w.Ability != nil {
		return w.Ability()
	}
	return Probe()
}
