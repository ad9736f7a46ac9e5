package main

import (
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// makeMaterials makes the bill of materials: CycloneDX 1.6, with the modules that the programs say they were built from and Go
// itself. What only some of the platforms have is in it too.
func (r *release) makeMaterials(context.Context) error {
	found := map[string]object{}
	for _, b := range r.binaries {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return err
		}
		add(found, "std", strings.TrimPrefix(info.GoVersion, "go"), "")
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			add(found, module.Path, module.Version, module.Sum)
		}
	}
	self := component("application", modulePath, "v"+r.version)
	components, refs := []object{}, []string{}
	for _, ref := range sortedKeys(found) {
		components, refs = append(components, found[ref]), append(refs, ref)
	}
	text, err := encode(object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":     object{"timestamp": r.time.Format(time.RFC3339), "component": self},
		"components":   components,
		"dependencies": []object{{"ref": self["bom-ref"], "dependsOn": refs}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("orchestra-mcp_%s.cdx.json", r.version)), text, 0o644)
}

const modulePath = "github.com/intentgov/orchestra-mcp"

func component(kind, path, version string) object {
	purl := "pkg:golang/" + path + "@" + version
	return object{"type": kind, "name": path, "version": version, "purl": purl, "bom-ref": purl}
}

func add(to map[string]object, path, version, sum string) {
	c := component("library", path, version)
	// Go's sum is the SHA-256 of the list of a module's files and their sums.
	if encoded, ok := strings.CutPrefix(sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			c["hashes"] = []object{{"alg": "SHA-256", "content": hex.EncodeToString(raw)}}
		}
	}
	to[c["bom-ref"].(string)] = c
}

func sortedKeys(of map[string]object) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
