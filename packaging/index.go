package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// makeServerJSON makes the entry of the MCP registry. The image is not in it: it takes a name with the host of a registry, and
// there is none yet.
func (r *release) makeServerJSON(context.Context) error {
	sum, err := sumOf(filepath.Join(r.out, r.bundle()))
	if err != nil {
		return err
	}
	transport := object{"type": "stdio"}
	var flags []object
	for _, flag := range []string{"-y", "--prefix=/", "--script-shell=/bin/sh", "--fetch-retries=0"} { // as setup writes them
		flags = append(flags, object{"type": "positional", "value": flag})
	}
	text, err := encode(object{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    serverName, "title": "orchestra-mcp", "description": description, "version": r.version,
		"repository": object{"url": repository, "source": "github"},
		"packages": []object{
			{
				"registryType": "npm", "identifier": npmName, "version": r.version, "transport": transport,
				"runtimeHint": "npx", "runtimeArguments": flags,
				"packageArguments": []object{
					{"type": "positional", "value": "serve"},
					{"type": "named", "name": "--workspace", "format": "filepath", "isRequired": true, "description": "The directory of the project that agents may work on"},
				},
			},
			{"registryType": "mcpb", "identifier": r.url(r.bundle()), "version": r.version, "fileSha256": sum, "transport": transport},
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "server.json"), text, 0o644)
}

// makeFormula makes the formula for a Homebrew tap. A cask would be held in quarantine: nothing here is signed by Apple's means.
func (r *release) makeFormula(context.Context) error {
	type archive struct{ Processor, URL, Sum string }
	type system struct {
		Name     string
		Archives []archive
	}
	var systems []system
	for _, s := range []struct{ name, os string }{{"macos", "darwin"}, {"linux", "linux"}} {
		one := system{Name: s.name}
		for _, p := range []struct{ name, arch string }{{"intel", "amd64"}, {"arm", "arm64"}} {
			file := fmt.Sprintf("orchestra-mcp_%s_%s_%s.tar.gz", r.version, s.os, p.arch)
			sum, err := sumOf(filepath.Join(r.out, file))
			if err != nil {
				return err
			}
			one.Archives = append(one.Archives, archive{p.name, r.url(file), sum})
		}
		systems = append(systems, one)
	}
	return create(filepath.Join(r.out, "orchestra-mcp.rb"), func(w io.Writer) error {
		return template.Must(template.New("").Parse(string(part("formula.rb")))).Execute(w, map[string]any{
			"Description": description, "Repository": repository, "Version": r.version, "Systems": systems,
		})
	})
}

const sums = "SHA256SUMS"

// makeSums writes down the checksums of all that was made, and tells what that is.
func (r *release) makeSums(context.Context) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, file := range files {
		at := filepath.Join(r.out, file.Name())
		sum, err := sumOf(at)
		if err != nil {
			return err
		}
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, file.Name())
		fmt.Printf("%8.1f MB  %s\n", float64(info.Size())/1e6, file.Name())
	}
	return os.WriteFile(filepath.Join(r.out, sums), []byte(list.String()), 0o644)
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}
