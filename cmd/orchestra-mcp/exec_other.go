//go:build !unix

package main

import (
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

func withStreams(run func(*command.Through) error) error {
	return run(&command.Through{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}
