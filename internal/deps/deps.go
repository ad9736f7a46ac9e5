// Package deps pins the modules that are planned while the packages that use them are being written.
package deps

import (
	_ "github.com/aymanbagabas/go-udiff"
	_ "github.com/go-git/go-git/v5/plumbing/format/gitignore"
	_ "github.com/go-json-experiment/json"
	_ "github.com/gobwas/glob"
	_ "github.com/google/uuid"
	_ "github.com/mark3labs/mcp-go/client"
	_ "github.com/mark3labs/mcp-go/mcp"
	_ "github.com/mark3labs/mcp-go/server"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/rs/zerolog"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/text/encoding/charmap"
	_ "golang.org/x/text/encoding/unicode"
	_ "gopkg.in/yaml.v3"
)
