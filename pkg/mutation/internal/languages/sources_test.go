package languages_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// source is one real program.
type source struct{ path, text string }

// extensions are how files of a language end; the first is for files made here.
var extensions = map[string][]string{
	"c": {".c", ".h"}, "cpp": {".cc", ".cpp", ".hpp"}, "csharp": {".cs"}, "java": {".java"}, "javascript": {".js", ".mjs", ".cjs", ".jsx"}, "kotlin": {".kt"},
	"php": {".php"}, "python": {".py"}, "ruby": {".rb"}, "rust": {".rs"}, "tsx": {".tsx"}, "typescript": {".ts", ".mts"},
}

// sweptDirectory is where evidence/sources.sh left real programs, or "".
func sweptDirectory() string { return os.Getenv("ORCHESTRA_SWEEP") }

// sources takes at most so many programs of a language, as many of each package
// as there are: those of ORCHESTRA_SWEEP, or testdata's. Which, depends on
// ORCHESTRA_SEED alone. What the parser does not understand is left out, and
// counted.
func sources(t *testing.T, language string, most int) (taken []source, refused int) {
	t.Helper()
	if only := os.Getenv("ORCHESTRA_LANGUAGES"); only != "" && !slices.Contains(strings.Split(only, ","), language) {
		return nil, 0
	}
	root := "testdata"
	if dir := sweptDirectory(); dir != "" {
		root = filepath.Join(dir, language)
	}
	for _, path := range spread(pathsBelow(t, root, extensions[language])) {
		if len(taken) == most {
			break
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if languages.Tokens(language, text) == nil {
			refused++
			continue
		}
		taken = append(taken, source{path, string(text)})
	}
	return taken, refused
}

func pathsBelow(t *testing.T, root string, endings []string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains(endings, filepath.Ext(path)) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// spread shuffles paths and then takes one of each directory in turn.
func spread(paths []string) (order []string) {
	random := seeded(1)
	slices.Sort(paths)
	random.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	byPackage, packages := map[string][]string{}, []string{}
	for _, path := range paths {
		dir := filepath.Dir(path)
		if byPackage[dir] == nil {
			packages = append(packages, dir)
		}
		byPackage[dir] = append(byPackage[dir], path)
	}
	for len(order) < len(paths) {
		for _, dir := range packages {
			if list := byPackage[dir]; len(list) > 0 {
				order, byPackage[dir] = append(order, list[0]), list[1:]
			}
		}
	}
	return order
}

// seeded is a source of chance that ORCHESTRA_SEED alone changes.
func seeded(stream uint64) *rand.Rand {
	seed := uint64(0)
	for _, c := range os.Getenv("ORCHESTRA_SEED") {
		seed = 31*seed + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, stream))
}

func shortPath(path string) string {
	if dir := sweptDirectory(); dir != "" {
		if short, err := filepath.Rel(dir, path); err == nil {
			return short
		}
	}
	return path
}
