package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/demo"
)

func (a *app) newDemoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play an agent's work on a small repository, and show what governance does",
		Long: `Make a small git repository, start the server on it, and play an agent's work through a real MCP client:
refusals, reads, edits, a patch, a test run; then show the ledger, the intent map and git diff.
Exits 1 if anything comes back that should not.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{withoutJSON: "it plays a scene for people"},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "make the workspace in `DIR`, and leave it there")
	cmd.RunE = coded(func(ctx context.Context, _ []string) error {
		executable, err := a.executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		err = demo.Run(ctx, demo.Options{
			Executable: executable, Dir: keep, Out: a, Errors: a.err, Bold: func(s string) string { return string(a.Bold(s)) },
		})
		if errors.Is(err, demo.ErrDiffers) {
			return foundf("%w", err)
		}
		return err
	})
	return cmd
}
