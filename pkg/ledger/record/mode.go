package record

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// checkModes: what stood before and what stands after have permissions both, or neither does.
func (c *Change) checkModes() error {
	for _, m := range []change.Mode{c.Before.Mode, c.After.Mode} {
		if _, ok := m.FileMode(); m != "" && !ok {
			return fmt.Errorf("%w: %s: %q is not a mode in four octal digits", ErrInvalidRecord, c.Path, m)
		}
	}
	var wrong bool
	switch c.Op {
	case change.Created:
		wrong = c.Before.Mode != ""
	case change.Deleted:
		wrong = c.After.Mode != ""
	default:
		wrong = (c.Before.Mode == "") != (c.After.Mode == "")
	}
	if wrong {
		return fmt.Errorf("%w: %s: a file that was %s has not the modes %q and %q", ErrInvalidRecord, c.Path, c.Op, c.Before.Mode, c.After.Mode)
	}
	return nil
}

// newMode is the mode after a change as lines have it: left out where it is the one before.
func (c *Change) newMode() change.Mode {
	if c.After.Mode == c.Before.Mode {
		return ""
	}
	return c.After.Mode
}

// modeAfter reads it back.
func (c *changeJSON) modeAfter() change.Mode {
	if c.AfterMode == "" && c.Op != change.Deleted {
		return c.BeforeMode
	}
	return c.AfterMode
}
