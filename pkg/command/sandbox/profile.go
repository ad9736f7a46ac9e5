package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// Level is how a command is held, weakest first.
type Level string

// The levels.
const (
	// None holds nothing.
	None Level = "none"
	// Seatbelt is macOS's, where the operator wants it and a trial found that it holds (ProbeSeatbelt). It holds what Full does of
	// files, and is below Landlock because nobody knows what Apple changes in it.
	Seatbelt Level = "seatbelt"
	// Landlock restricts what can be written, with the kernel's Landlock alone.
	Landlock Level = "landlock"
	// Full has namespaces of its own, read-only masks, Landlock and seccomp.
	Full Level = "full"
)

// AtLeast reports whether l holds what the level other holds.
func (l Level) AtLeast(other Level) bool { return l.rank() >= other.rank() }

func (l Level) rank() int { return max(0, slices.Index([]Level{None, Seatbelt, Landlock, Full}, l)) }

// Freezes reports whether l can hold what is Frozen or Hidden inside of what is Writable.
func (l Level) Freezes() bool { return l == Full || l == Seatbelt }

// Profile is what one command may reach. Paths are absolute, clean and free of
// links; each is named once. What is neither Hidden nor Emptied can be read.
type Profile struct {
	// Workspace is the root of the workspace.
	Workspace string
	// Layers are directories, none in another, that stay as they are: what the
	// command does to them goes into the layer instead. Only Full has layers.
	Layers []Layer
	// Writable are existing directories, with everything below them, and existing files: what may be changed. Nothing
	// else may be, in the workspace or out of it, but Temp and the devices that tools need.
	//
	// A path here may lie below a Frozen one, and a Frozen one below a path here: of the entries that hold a path the deepest decides.
	Writable []string
	// Frozen are paths below Writable that must stay as they are, also those that do not exist and then may not come into being.
	// Neither they nor a directory between them and what is Writable above can be renamed or removed; nor can what is Writable
	// itself (Seatbelt lets that be moved where it lies in something Writable). Landlock cannot hold them: for it a Profile has no
	// Writable above one. None of the existing ones is a link.
	Frozen []Frozen
	// Hidden are files and directories that cannot be read, and at Full not listed, under any name that the mounts give
	// them. What of them a level cannot hold, Exposed says.
	Hidden []string
	// Emptied are directories whose files cannot be read: at Full an empty one
	// stands in their place, at Landlock they are like the Hidden.
	Emptied []string
	// Lasting: the command may run for hours. Then at Full Hidden files have their masks only: what Landlock leaves out
	// of reading takes the files beside them along when an editor replaces one, until the command is started again.
	Lasting bool
	// Temp is a private directory that the command gets as TMPDIR. At Full it also stands in the place of the system's.
	Temp string
	// DenyNetwork: no connection leaves the machine or reaches another process of it.
	DenyNetwork bool
	// MaxTasks is how many processes and threads there can be, 0 for any number: a limit where no control group counts them. Only
	// Full has one, and only where the kernel can: for an ordinary user, and from Linux 6.14 on for everybody.
	MaxTasks int
}

// Layer is a directory with two others, empty and of one file system, that take its changes (overlayfs). Afterwards
// Upper has what is new or different, a device with the number 0 where something was removed, and the attribute
// user.overlay.opaque on a directory of which nothing of before is left.
type Layer = helper.Layer

// Frozen is one path that must not change.
type Frozen struct {
	Path string
	// Directory says what stands in where nothing exists yet.
	Directory bool
}

// Want is what an operator wants of the sandbox. The zero Want is the best that there is.
type Want struct {
	// Off holds nothing.
	Off bool
	// AtLeast is the lowest level at which a command may run.
	AtLeast Level
	// Ability stands in for Probe where a lower level than the machine's is wanted, as tests do; nil is Probe.
	Ability func() Ability
}

// Level is the level at which commands run, or ErrUnavailable if it is too low. The first call can take some milliseconds.
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

// NoSeatbelt says why the level Seatbelt is not used although it was asked for and nothing else holds commands; nil is that there is
// nothing to say.
func (w Want) NoSeatbelt() error {
	if w.Off {
		return nil
	}
	return w.ability().NoSeatbelt
}

// DeniesNetwork reports whether commands can be kept from the network.
func (w Want) DeniesNetwork() bool { return !w.Off && w.ability().DeniesNetwork() }

func (w Want) ability() Ability {
	if w.Ability != nil {
		return w.Ability()
	}
	return Probe()
}

// Ability is what this machine can hold a command with.
type Ability struct {
	// Level is the highest that works here.
	Level Level
	// NoFull and NoLandlock say why a level does not work; nil is that it does.
	NoFull, NoLandlock error
	// NoSeatbelt says why the level Seatbelt is not used although it was asked for (WithSeatbelt).
	NoSeatbelt error
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
func (a Ability) DeniesNetwork() bool { return a.Level.Freezes() || a.Level == Landlock && a.Sockets }

// WithSeatbelt is an ability for an operator who wants Seatbelt where there is nothing else: it is tried when that is first asked.
func WithSeatbelt(ability func() Ability, try func() error) func() Ability {
	return func() Ability {
		a := ability()
		if a.Level.AtLeast(Seatbelt) {
			return a
		}
		if a.NoSeatbelt = try(); a.NoSeatbelt == nil {
			a.Level = Seatbelt
		}
		return a
	}
}

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
