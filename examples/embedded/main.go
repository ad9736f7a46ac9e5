// Command embedded is an MCP server of its own that governs its tools with orchestra-mcp: they work, like the shipped
// ones, only under an intent, in its scope, and into the ledger.
//
// stamp_file is written for it: a change of one file in a few lines. notify is one that stood before, as mcp-go has
// it, and touches no file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	options, err := server.OperatorOptions(dir) // what the operator declared, not the defaults
	if err != nil {
		return err
	}
	srv, err := server.New(options)
	if err != nil {
		return err
	}
	if err := addTools(srv); err != nil {
		return errors.Join(err, srv.Close())
	}
	return errors.Join(srv.ServeStdio(context.Background(), os.Stdin, os.Stdout), srv.Close())
}

func addTools(srv *server.Server) error {
	if err := addStamp(srv); err != nil {
		return err
	}
	return srv.AddHandler(server.Handler{
		Tool:   mcp.NewTool("notify", mcp.WithDescription("Tell the team."), mcp.WithString("text", mcp.Required())),
		Handle: notify,
	})
}

type stamp struct {
	Stamp string `json:"stamp" max:"200" doc:"The line to append."`
}

func addStamp(srv *server.Server) error {
	spec := hooks.Spec{Name: "stamp_file", Title: "Stamp a file", Description: "Append a line to an existing file."}
	return server.AddFileTool(srv, spec, func(before string, a stamp) (string, error) {
		if a.Stamp == "" {
			return "", errors.New("the stamp is empty")
		}
		return before + a.Stamp + "\n", nil
	})
}

func notify(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := request.RequireString("text")
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText("told: " + text), nil
}
