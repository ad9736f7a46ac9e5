package main

import (
	"os"

	"github.com/intentgov/orchestra-mcp/internal/scaffold"
)

// exampleConfig is the annotated settings file of a new workspace.
func exampleConfig() []byte { return []byte("# Settings of orchestra-mcp for this workspace.\n") }

// trustCreated makes what init wrote itself take effect. A settings file that was there is somebody else's until the
// operator has looked at it.
func (a *app) trustCreated(*os.Root, string, []scaffold.Result) error { return nil }
