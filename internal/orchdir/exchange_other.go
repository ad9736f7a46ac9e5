//go:build !linux

package orchdir

import "errors"

func (l *Locked) exchange(_, _ string) error { return errors.ErrUnsupported }
