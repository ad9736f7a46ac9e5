package fleet

import "github.com/intentgov/orchestra-mcp/pkg/upstream"

// Ready says what keeps a server from being started or reached, as far as that can be told without doing it: a file of secrets that
// cannot be used, a program that is not there. Of the options it needs Workspace, UserDir and Environ.
func Ready(o Options, d upstream.Definition) error { return nil }
