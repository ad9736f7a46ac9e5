package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
)

// makeBundle makes one MCPB bundle for all platforms: neither a manifest nor the registry's server.json can say for which
// processor a bundle is, so whoever takes it must not have to choose.
func (r *release) makeBundle(context.Context) error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	var systems []string
	for _, b := range r.binaries {
		systems = append(systems, b.os)
	}
	slices.Sort(systems)
	manifest, err := encode(object{
		"manifest_version": "0.4", "name": "orchestra-mcp", "display_name": "orchestra-mcp", "version": r.version, "description": description,
		"long_description": "Agents work only under an intent that you declared, inside its scope, and every change is in a tamper-evident ledger. " +
			"Choose the directory of a project; `orchestra-mcp init` declares its first intent.",
		"author": object{"name": "the orchestra-mcp authors", "url": repository}, "license": "Apache-2.0",
		"repository": object{"type": "git", "url": repository}, "homepage": repository, "documentation": repository + "#readme",
		"keywords": []string{"governance", "files", "audit"},
		"server": object{
			"type": "binary", "entry_point": "server/orchestra-mcp",
			"mcp_config": object{
				// By its interpreter, since some clients unpack without modes.
				"command": "/bin/sh",
				"args":    []string{"${__dirname}/server/orchestra-mcp", "serve", "--workspace", "${user_config.workspace}"},
				"env":     object{},
			},
		},
		"tools_generated": true,
		"user_config": object{"workspace": object{
			"type": "directory", "title": "Workspace", "description": "The directory of the project that agents may work on", "required": true,
		}},
		"compatibility": object{"platforms": slices.Compact(systems)},
	})
	if err != nil {
		return err
	}
	files := []entry{
		{name: "manifest.json", mode: 0o644, content: manifest},
		{name: "LICENSE", mode: 0o644, content: licence},
		{name: "server/orchestra-mcp", mode: 0o755, content: part("launcher.sh")},
	}
	for _, b := range r.binaries {
		files = append(files, entry{name: "server/orchestra-mcp-" + b.platform(), mode: 0o755, path: b.path})
	}
	return writeZip(filepath.Join(r.out, r.bundle()), r.time, files)
}

func (r *release) bundle() string { return "orchestra-mcp_" + r.version + ".mcpb" }
