package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

func (a *app) newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the protocol revisions spoken",
		Args:  cobra.NoArgs,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
		info, revisions := buildinfo.Read(), mcpbridge.ProtocolRevisions()
		if *asJSON {
			return printJSON(a.out, struct {
				buildinfo.Info
				Revisions []string `json:"protocol_revisions"`
			}{info, revisions})
		}
		_, err := fmt.Fprintf(a.out, "orchestra-mcp %s\ncommit: %s\ngo: %s\nMCP revisions: %s\n",
			info.Version, describeCommit(info), info.Go, strings.Join(revisions, ", "))
		return err
	})
	return cmd
}

func describeCommit(info buildinfo.Info) string {
	switch {
	case info.Commit == "":
		return "unknown (not built from a checkout)"
	case info.Modified:
		return info.Commit + " with local changes"
	default:
		return info.Commit
	}
}
