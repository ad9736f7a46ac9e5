package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newSchemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema settings|intents",
		Short: "Print the JSON Schema of a file of the workspace, for editors",
		Long: "Print the JSON Schema of config.yaml (settings) or active_intents.yaml (intents). Kept in a file, it gives completion\n" +
			"and checks in editors that know the line\n" +
			"  # yaml-language-server: $schema=PATH\n" +
			"at the top of a YAML file, PATH being relative to it.",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"settings", "intents"},
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			schema := settings.Schema
			if args[0] == "intents" {
				schema = intent.Schema
			}
			text, err := schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s\n", text)
			return err
		}),
	}
	addJSONFlag(cmd)
	cmd.Flags().Lookup("json").Usage = "print JSON, which a schema is anyway"
	return cmd
}
