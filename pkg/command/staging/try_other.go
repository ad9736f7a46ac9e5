//go:build !linux

package staging

import (
	"errors"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var errNone = errors.New("only Linux has layers")

// Try says why a workspace can have no layers.
func Try(*workspace.Workspace) error { return errNone }

// Mounted says what is mounted in a workspace.
func Mounted(*workspace.Workspace) error { return errNone }
