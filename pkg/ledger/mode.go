package ledger

import (
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
)

// Mode is the permissions of a file in octal, as chmod takes them: "0755", with set-user-ID "4755". It is empty where there
// is no file, and where they are not known: in records of earlier versions, and of systems without such permissions.
type Mode string

// special are the bits above the permissions, from the lowest.
var special = []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid}

// ModeOf writes permissions down. Those of Windows mean nothing elsewhere, and are not.
func ModeOf(mode fs.FileMode) Mode {
	if runtime.GOOS == "windows" {
		return ""
	}
	bits := mode.Perm()
	for i, bit := range special {
		if mode&bit != 0 {
			bits |= 1 << (9 + i)
		}
	}
	return Mode(fmt.Sprintf("%04o", uint32(bits)))
}

// FileMode reads them; false where there are none.
func (m Mode) FileMode() (fs.FileMode, bool) {
	bits, err := strconv.ParseUint(string(m), 8, 12)
	if err != nil || len(m) != 4 {
		return 0, false
	}
	mode := fs.FileMode(bits).Perm()
	for i, bit := range special {
		if bits&(1<<(9+i)) != 0 {
			mode |= bit
		}
	}
	return mode, true
}

// checkModes: what stood before and what stands after have permissions both, or neither does.
func (c *Change) checkModes() error {
	for _, m := range []Mode{c.BeforeMode, c.AfterMode} {
		if _, ok := m.FileMode(); m != "" && !ok {
			return fmt.Errorf("%w: %s: %q is not a mode in four octal digits", ErrInvalidRecord, c.Path, m)
		}
	}
	var wrong bool
	switch c.Op {
	case OpCreated:
		wrong = c.BeforeMode != ""
	case OpDeleted:
		wrong = c.AfterMode != ""
	default:
		wrong = (c.BeforeMode == "") != (c.AfterMode == "")
	}
	if wrong {
		return fmt.Errorf("%w: %s: a file that was %s has not the modes %q and %q", ErrInvalidRecord, c.Path, c.Op, c.BeforeMode, c.AfterMode)
	}
	return nil
}

// newMode is the mode after a change as lines have it: left out where it is the one before.
func (c *Change) newMode() Mode {
	if c.AfterMode == c.BeforeMode {
		return ""
	}
	return c.AfterMode
}

// modeAfter reads it back.
func (c *changeJSON) modeAfter() Mode {
	if c.AfterMode == "" && c.Op != OpDeleted {
		return c.BeforeMode
	}
	return c.AfterMode
}
