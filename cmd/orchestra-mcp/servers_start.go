package main

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// lookAt starts one server as `serve` does, or reaches it, and ends it when its tools were listed and pinned.
func (a *app) lookAt(ctx context.Context, dir string, loaded settings.Loaded, name string) error {
	srv, err := server.New(server.Options{
		Dir: dir, Settings: loaded.Settings, Version: buildinfo.Read().Version, UserDir: settings.UserDir(a.environ()), Trusted: a.trusts(dir),
		Logger: zerolog.Nop(), // the review tells what it finds
	})
	if err != nil {
		return err
	}
	defer srv.Close()
	return srv.LookAt(ctx, name)
}
