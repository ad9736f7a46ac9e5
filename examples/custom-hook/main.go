// Command custom-hook is orchestra-mcp with one more rule: no change may add a line that says TODO without naming
// somebody.
//
// It shows what an embedder writes to add a hook: a function of the call that allows, asks or refuses. The hook sees
// the effects as they were planned, after the shipped gate has passed them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, "custom-hook:", err)
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
	srv.AddPreHook(hooks.PreFunc("owned-todos", ownedTodos))
	return errors.Join(srv.ServeStdio(context.Background(), os.Stdin, os.Stdout), srv.Close())
}

var todo = regexp.MustCompile(`TODO(\([a-z]+\))?`)

func ownedTodos(_ context.Context, call *hooks.Call) (hooks.Decision, error) {
	for _, file := range call.Effects.Files {
		for i, line := range strings.Split(string(file.After.Bytes), "\n") {
			match := todo.FindStringSubmatch(line)
			if match == nil || match[1] != "" || strings.Contains(string(file.Before.Bytes), line) {
				continue
			}
			return hooks.Refuse(refusal.Newf(refusal.RuleViolation, "%s:%d: a TODO must name who does it, as in TODO(ann).", file.Path, i+1).
				With("path", file.Path).With("line", i+1)), nil
		}
	}
	return hooks.Allow(), nil
}
