package sandbox

import (
	"strings"
	"sync"
)

// Ability is what this machine can hold a command with.
type Ability struct {
	// Level is the highest that works here.
	Level Level
	// NoFull and NoLandlock say why a level does not work; nil is that it does.
	NoFull, NoLandlock error
	// NoUnix says why a command at Full has no Unix sockets but connected pairs; nil
	// is that it has, and reaches those of its own processes only.
	NoUnix error
	// Sockets: a command can be kept from making sockets, at Landlock too.
	Sockets bool
	// Signals: a command at Landlock can be kept from signalling this process, and from setting its limits.
	Signals bool
	// ABI is the version of Landlock's interface, 0 where there is none.
	ABI int
}

// DeniesNetwork reports whether the level can keep a command from the network.
func (a Ability) DeniesNetwork() bool { return a.Level == Full || a.Level == Landlock && a.Sockets }

// Lacks is what this machine's kernel does not hold at the level Landlock, beside what it holds nowhere; "" is nothing.
func (a Ability) Lacks() string {
	var lacks []string
	for _, can := range []struct {
		it   bool
		what string
	}{
		{!a.Signals, "a command can signal the server, and read its memory"},
		{a.ABI < abiOfScopes, "it can signal your other programs and reach their abstract Unix sockets (from Linux 6.12 it cannot)"},
		{a.ABI < abiOfNamedSockets, "it can give orders to daemons by Unix sockets with a name (from Linux 7.1 it cannot)"},
		{a.ABI < abiOfTruncation && !a.Signals, "it can empty files (from Linux 6.2 it cannot)"},
		{!a.Sockets, "it cannot be kept from the network"},
	} {
		if can.it {
			lacks = append(lacks, can.what)
		}
	}
	return strings.Join(lacks, "; ")
}

// The versions of Landlock's interface from which it holds these.
const (
	abiOfTruncation   = 3
	abiOfScopes       = 6
	abiOfNamedSockets = 9
)

// Probe finds what works here by trying it, once in the life of the process. It takes some milliseconds the first time.
func Probe() Ability { return probe() }

var probe = sync.OnceValue(func() Ability {
	a := Ability{Level: None}
	a.ABI, a.NoLandlock = tryLandlock()
	a.Sockets = a.NoLandlock == nil && trySockets()
	a.Signals = a.NoLandlock == nil && trySignals(a.ABI)
	a.NoFull, a.NoUnix = tryFull()
	switch {
	case a.NoFull == nil:
		a.Level = Full
	case a.NoLandlock == nil:
		a.Level = Landlock
	}
	return a
})
