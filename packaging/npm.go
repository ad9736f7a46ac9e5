package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// makeNPM makes a package with the program for each platform, and one that starts it and depends on all of them, if they are
// for the machine at hand. So npx starts a program of which nothing was compiled or fetched at installation.
func (r *release) makeNPM(context.Context) error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	optional, systems := object{}, []string{}
	for _, b := range r.binaries {
		name := npmName + "-" + b.platform()
		optional[name] = r.version
		systems = append(systems, b.os)
		about := r.npmPackage(name, "The program of "+npmName+" for "+b.platform())
		about["os"], about["cpu"] = []string{b.os}, []string{b.processor()}
		about["preferUnplugged"] = true // what stays in an archive cannot be started
		files := []entry{{name: "package/bin/orchestra-mcp", mode: 0o755, path: b.path}}
		if err := r.packNPM(about, licence, "# "+name+"\n\nThe program of "+npmName+" for one platform. Install that package instead.\n", files); err != nil {
			return err
		}
	}
	about := r.npmPackage(npmName, description)
	about["mcpName"] = serverName
	about["bin"] = object{"orchestra-mcp": "bin/orchestra-mcp"}
	about["keywords"] = []string{"mcp", "mcp-server", "agent", "governance"}
	about["optionalDependencies"] = optional
	slices.Sort(systems)
	about["os"] = slices.Compact(systems) // elsewhere npm says so, and no /bin/sh is looked for
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	return r.packNPM(about, licence, string(readme), []entry{{name: "package/bin/orchestra-mcp", mode: 0o755, content: part("launcher.sh")}})
}

func (r *release) npmPackage(name, description string) object {
	return object{
		"name": name, "version": r.version, "description": description, "license": "Apache-2.0", "homepage": repository,
		"repository": object{"type": "git", "url": "git+" + repository + ".git"}, "publishConfig": object{"access": "public"},
	}
}

func (r *release) packNPM(about object, licence []byte, readme string, files []entry) error {
	text, err := encode(about)
	if err != nil {
		return err
	}
	files = append([]entry{
		{name: "package/package.json", mode: 0o644, content: text},
		{name: "package/LICENSE", mode: 0o644, content: licence},
		{name: "package/README.md", mode: 0o644, content: []byte(readme)},
	}, files...)
	return writeTarGz(filepath.Join(r.out, npmFile(about["name"].(string), r.version)), r.time, files)
}

// npmFile is the name that npm gives to a package in a file.
func npmFile(name, version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".tgz"
}
