package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newSchemaCommand() *cobra.Command {
	cmd := a.command(&cobra.Command{
		Use:   "schema settings|intents",
		Short: "Print the JSON Schema of a file of the workspace, for editors",
		Long: `Print the JSON Schema of config.yaml (settings) or active_intents.yaml (intents). Kept in a file, it gives completion
and checks in editors that know the line
  # yaml-language-server: $schema=PATH
at the top of a YAML file, PATH being relative to it.`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"settings", "intents"},
	}, func(_ context.Context, args []string) error {
		schema := settings.Schema
		if args[0] == "intents" {
			schema = intent.Schema
		}
		text, err := schema()
		a.Printf("%s\n", printer.Raw(text))
		return err
	})
	cmd.Flags().Lookup("json").Usage = "print JSON, which a schema is anyway"
	return cmd
}
