// Command orchestra-mcp puts governance between AI agents and a workspace: an MCP server whose file and command tools
// work only under an intent that the operator declared, with every change in a ledger.
//
// Exit codes: 0 done, 1 a check found something, 2 usage, 3 could not run.
package main

import (
	"context"
	"os"
)

func main() {
	leaveNPX()
	os.Exit(execute(context.Background(), os.Args[1:], systemStreams(), systemEnvironment()))
}
