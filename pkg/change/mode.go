package change

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
