package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

func (a *app) newVersionCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit with its time, and the protocol revisions spoken",
	}, func(context.Context, []string) error {
		info, revisions := buildinfo.Read(), mcpbridge.ProtocolRevisions()
		a.answer(struct {
			buildinfo.Info
			Revisions []string `json:"protocol_revisions"`
		}{info, revisions}, func() {
			a.Printf("orchestra-mcp %s\ncommit: %s\ngo: %s\nMCP revisions: %s\n",
				info.Version, describeCommit(info), info.Go, strings.Join(revisions, ", "))
		})
		return nil
	})
}

func describeCommit(info buildinfo.Info) string {
	switch {
	case info.Commit == "":
		return "unknown (not built from a checkout)"
	case info.Modified:
		return info.Commit + " of " + info.Time + ", with local changes"
	default:
		return info.Commit + " of " + info.Time
	}
}
