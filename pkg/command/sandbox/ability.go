package sandbox

import "sync"

// Ability is what this machine can hold a command with.
type Ability struct {
	// Level is the highest that works here.
	Level Level
	// NoFull and NoLandlock say why a level does not work; nil is that it does.
	NoFull, NoLandlock error
	// Sockets: a command can be kept from making sockets, at Landlock too.
	Sockets bool
	// ABI is the version of Landlock's interface, 0 where there is none.
	ABI int
}

// DeniesNetwork reports whether the level can keep a command from the network.
func (a Ability) DeniesNetwork() bool { return a.Level == Full || a.Level == Landlock && a.Sockets }

// Probe finds what works here by trying it, once in the life of the process.
// It takes some milliseconds the first time.
func Probe() Ability { return probe() }

var probe = sync.OnceValue(func() Ability {
	a := Ability{Level: None}
	a.ABI, a.NoLandlock = tryLandlock()
	a.Sockets = a.NoLandlock == nil && trySockets()
	a.NoFull = tryFull()
	switch {
	case a.NoFull == nil:
		a.Level = Full
	case a.NoLandlock == nil:
		a.Level = Landlock
	}
	return a
})
