package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// newClientGuardCommand answers the hook that setup writes for Cursor. It needs no workspace and no configuration, so
// that nothing in a workspace can make it answer otherwise.
func (a *app) newClientGuardCommand() *cobra.Command {
	var keepReadTools bool
	cmd := &cobra.Command{
		Use:       "client-guard cursor",
		Short:     "Answer a client's question whether its agent may use one of its own tools",
		Hidden:    true,
		ValidArgs: []string{"cursor"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: coded(func(context.Context, []string) error {
			return clientsetup.CursorGuard(a.in, a, keepReadTools)
		}),
	}
	cmd.Flags().BoolVar(&keepReadTools, "keep-read-tools", false, "let the client's own reading tools pass")
	return cmd
}
