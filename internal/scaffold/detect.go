package scaffold

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/pathglob"
)

// Detection is what was found in a directory.
type Detection struct {
	Toolchains []Toolchain
	// Scope are globs over the source directories and the manifests, in the syntax of owned_scope.
	Scope []string
	// Client is the MCP client that this directory seems to be used with.
	Client string
	// GitRoot tells whether the directory is the top of a git work tree.
	GitRoot bool
}

// sourceDirs are names under which people keep what they work on, whatever it is written in.
func sourceDirs() []string {
	return []string{
		"api", "app", "apps", "backend", "bin", "client", "cmd", "components", "core", "crates", "e2e", "frontend", "include",
		"internal", "lib", "libs", "modules", "packages", "pages", "pkg", "server", "services", "source", "Sources", "spec", "src",
		"test", "tests", "Tests", "__tests__", "web",
	}
}

// builtDirs hold what tools write: never proposed, even if source files stand in them.
func builtDirs() []string {
	return []string{
		"build", "coverage", "deps", "dist", "env", "node_modules", "obj", "out", "site-packages", "target", "third_party",
		"thirdparty", "venv", "vendor", "virtualenv", "__pycache__",
	}
}

// Detect looks at the directory. An unreadable subdirectory is passed over.
func Detect(root *os.Root) (Detection, error) {
	top, err := readTop(root)
	if err != nil {
		return Detection{}, err
	}
	var found Detection
	for _, rule := range toolchainRules() {
		if toolchain, ok := rule.find(top); ok {
			found.Toolchains = append(found.Toolchains, toolchain)
		}
	}
	found.Scope = proposeScope(top, found.Toolchains)
	found.Client = guessClient(top)
	_, err = root.Lstat(".git")
	found.GitRoot = err == nil
	return found, nil
}

// maxTop bounds how many entries of the top level are looked at.
const maxTop = 10_000

func readTop(root *os.Root) (topLevel, error) {
	dir, err := root.Open(".")
	if err != nil {
		return topLevel{}, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxTop)
	if err != nil && len(entries) == 0 && !errors.Is(err, io.EOF) {
		return topLevel{}, fmt.Errorf("list the directory: %w", err)
	}
	top := topLevel{root: root}
	for _, entry := range entries {
		switch {
		case entry.IsDir():
			top.dirs = append(top.dirs, entry.Name())
		case entry.Type().IsRegular():
			top.files = append(top.files, entry.Name())
		}
	}
	slices.Sort(top.files)
	slices.Sort(top.dirs)
	return top, nil
}

// proposeScope covers source directories, then source files at the top, then manifests.
func proposeScope(top topLevel, toolchains []Toolchain) []string {
	var extensions []string
	for _, toolchain := range toolchains {
		extensions = append(extensions, toolchain.extensions...)
	}
	var scope []string
	for _, dir := range top.dirs {
		if isSourceDir(top.root, dir, extensions) {
			scope = append(scope, pathglob.Escape(dir)+"/**")
		}
	}
	noDirs := len(scope) == 0
	for _, toolchain := range toolchains {
		scope = append(scope, topFiles(top, toolchain, noDirs)...)
	}
	for _, toolchain := range toolchains {
		for _, manifest := range toolchain.Manifests {
			scope = append(scope, pathglob.Escape(manifest))
		}
		if toolchain.lock != "" {
			scope = append(scope, toolchain.lock)
		}
	}
	if len(scope) == 0 {
		scope = []string{"src/**", "tests/**"}
	}
	return unique(scope)
}

func isSourceDir(root *os.Root, dir string, extensions []string) bool {
	if strings.HasPrefix(dir, ".") || slices.Contains(builtDirs(), dir) || strings.HasSuffix(dir, ".egg-info") {
		return false
	}
	return slices.Contains(sourceDirs(), dir) || holdsSource(root, dir, extensions)
}

// maxLook bounds how many entries of one directory tree are looked at.
const maxLook = 2_000

// holdsSource reports whether a file with one of the extensions is among the first entries of the tree.
func holdsSource(root *os.Root, dir string, extensions []string) bool {
	if len(extensions) == 0 {
		return false
	}
	found, seen := false, 0
	_ = fs.WalkDir(durable.Tree(root), dir, func(name string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil:
			return fs.SkipDir
		case seen > maxLook:
			return fs.SkipAll
		case entry.IsDir() && name != dir && (strings.HasPrefix(entry.Name(), ".") || slices.Contains(builtDirs(), entry.Name())):
			return fs.SkipDir
		case entry.Type().IsRegular() && slices.Contains(extensions, path.Ext(name)):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// topFiles are globs over source files beside the manifests. Of JavaScript these are mostly settings of tools, which
// belong to the work only where there is no source directory.
func topFiles(top topLevel, toolchain Toolchain, noDirs bool) []string {
	if toolchain.Name == "Node.js" && !noDirs {
		return nil
	}
	var globs []string
	for _, extension := range toolchain.extensions {
		if slices.ContainsFunc(top.files, func(file string) bool { return path.Ext(file) == extension }) {
			globs = append(globs, "*"+extension)
		}
	}
	return globs
}

func unique(list []string) []string {
	var once []string
	for _, each := range list {
		if !slices.Contains(once, each) {
			once = append(once, each)
		}
	}
	return once
}

// guessClient goes by the traces that clients leave. Nothing found means the one that needs no editor.
func guessClient(top topLevel) string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(top.dirs, name) || slices.Contains(top.files, name)
		})
	}
	switch {
	case has(".claude", "CLAUDE.md", ".mcp.json"):
		return "claude-code"
	case has(".cursor", ".cursorrules"):
		return "cursor"
	case has(".roo", ".roomodes", ".roorules"):
		return "roo"
	case has(".vscode"):
		return "vscode"
	default:
		return "claude-code"
	}
}
