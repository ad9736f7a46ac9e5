package profile

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// toolchain is where the tools of one kind of project write, relative to the directory of the file by which it is known.
type toolchain struct {
	files string
	// needed are made before a command where they are missing, because the
	// tools cannot do without; they are removed again if they stay empty.
	needed string
	// used are taken where they exist, and made where git ignores them.
	used string
	// output are names that can hold sources as well: they count where git ignores them.
	output string
}

func toolchains() []toolchain {
	return []toolchain{
		{files: "go.mod go.work", output: "bin build dist out"},
		{
			files: "package.json", needed: "node_modules/.cache coverage", output: "build dist out",
			used: `node_modules/.vite node_modules/.vite-temp node_modules/.vitest node_modules/.tmp .nyc_output
				.next .nuxt .output .turbo .parcel-cache .svelte-kit .angular/cache .astro`,
		},
		{
			files:  "pyproject.toml setup.py setup.cfg requirements.txt pytest.ini tox.ini",
			needed: ".pytest_cache", used: "htmlcov .tox .nox .mypy_cache .ruff_cache .hypothesis .eggs", output: "build dist",
		},
		{files: "Cargo.toml pom.xml build.sbt", needed: "target"},
		{files: "build.gradle build.gradle.kts settings.gradle settings.gradle.kts", needed: "build .gradle", used: ".kotlin"},
		{files: "CMakeLists.txt meson.build Makefile makefile GNUmakefile", output: "bin build dist obj out"},
		{files: "mix.exs dune-project", needed: "_build"},
		{files: "Package.swift", needed: ".build"},
		{files: "build.zig", needed: "zig-out .zig-cache"},
		{files: "Gemfile composer.json", used: "coverage .phpunit.cache"},
		{files: "pubspec.yaml", needed: ".dart_tool", used: "build"},
	}
}

// buildPlaces finds the directories that build tools write by the files in the directory where a command starts and in those
// above it, up to the workspace. Out of scope, what git tracks is no output, whatever its name.
func (s *survey) buildPlaces(dir string) []string {
	found := s.declaredPlaces(dir)
	outside := slices.DeleteFunc(slices.Clone(found), s.inScopeBelow)
	if len(outside) == 0 || s.Tracked == nil {
		return found
	}
	tracked := s.Tracked(outside)
	return slices.DeleteFunc(found, func(place string) bool { return slices.Contains(tracked, place) })
}

func (s *survey) inScopeBelow(dir string) bool { return s.all || s.inScope(path.Join(dir, "x")) }

// declares reports whether a file that makes a directory a project stands there. byAgent: an agent can have made it, so
// it says nothing of what is out of scope. One that the scope names as it is was meant by the operator.
func (s *survey) declares(file string) (there, byAgent bool) {
	return s.isFile(file), (s.inScope(file) || is(s.Rules.Unscoped, file)) && !slices.Contains(s.Scope, file)
}

func (s *survey) declaredPlaces(dir string) (found []string) {
	for ; ; dir = path.Dir(dir) {
		ignored := s.ignoredIn(dir)
		for _, tools := range toolchains() {
			present, believed := false, false
			for name := range strings.FieldsSeq(tools.files) {
				is, byAgent := s.declares(path.Join(dir, name))
				present, believed = present || is, believed || is && !byAgent
			}
			if !present {
				continue
			}
			for name := range strings.FieldsSeq(tools.needed + " " + tools.used + " " + tools.output) {
				place := path.Join(dir, name)
				exists, usable := s.placeable(place)
				isIgnored := ignored(name)
				wanted := shell.Among(tools.needed, name) || isIgnored || exists && shell.Among(tools.used, name)
				list := &s.doubted
				if believed || isIgnored || s.inScopeBelow(place) {
					list = &found
				}
				if usable && wanted && !slices.Contains(*list, place) {
					*list = append(*list, place)
				}
			}
		}
		if dir == "." {
			return found
		}
	}
}

func (s *survey) isFile(name string) bool {
	info, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// placeable reports whether a place is, or could be made, a directory that no rule closes. Of more than one missing level none is made.
func (s *survey) placeable(place string) (exists, usable bool) {
	exists = true
	for i, at := range prefixes(place) {
		info, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(at)))
		switch {
		case err == nil && !info.IsDir():
			return false, false
		case err != nil && (!os.IsNotExist(err) || i < strings.Count(place, "/")):
			return false, false
		case err != nil:
			exists = false
		}
		if is(s.Rules.Ignored, at+"/") || is(s.Rules.Secret, at+"/") {
			return false, false
		}
	}
	return exists, workspace.Protect(place) == workspace.ProtectNone
}

// prefixes are the directories on the way to a path, and the path.
func prefixes(p string) []string {
	var all []string
	for i := range len(p) {
		if p[i] == '/' {
			all = append(all, p[:i])
		}
	}
	return append(all, p)
}

// fileLimit bounds what is read of a small file, in bytes.
const fileLimit = 1 << 20

// ignoredIn says which directories the .gitignore of a directory, or the one of the workspace, has git ignore. A file
// that the scope has says nothing: who may change it could make any of the names writable.
func (s *survey) ignoredIn(dir string) func(name string) bool {
	top := s.gitignore(".")
	own := top
	if dir != "." {
		own = s.gitignore(dir)
	}
	return func(name string) bool {
		_, byOwn := own.Match(name, true)
		_, byTop := top.Match(path.Join(dir, name), true)
		return byOwn || byTop
	}
}

func (s *survey) gitignore(dir string) gitignore.List {
	name := path.Join(dir, ".gitignore")
	if !s.all && (s.inScope(name) || is(s.Rules.Unscoped, name)) {
		return nil
	}
	text, err := durable.ReadRegular(filepath.Join(s.root, filepath.FromSlash(name)), fileLimit)
	if err != nil {
		return nil
	}
	var rules gitignore.List
	for line := range strings.Lines(string(text)) {
		if rule, ok, err := gitignore.Parse(strings.TrimRight(line, "\r\n")); ok && err == nil {
			rules = append(rules, rule)
		}
	}
	return rules
}

func (s *survey) inScope(name string) bool {
	return slices.ContainsFunc(s.patterns, func(p *pathglob.Pattern) bool { return p.Match(name) })
}
