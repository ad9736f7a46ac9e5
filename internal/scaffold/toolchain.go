package scaffold

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Toolchain is what a workspace is built with, as its manifests say.
type Toolchain struct {
	// Name is what a person calls it.
	Name string
	// Manifests are all of its files that exist; the first gave it away.
	Manifests []string
	// Programs are the commands that it is worked with.
	Programs []string
	// Verify is a command line that tells whether the work is sound, or "" if none is known to exist.
	Verify string

	extensions []string // of its source files
	lock       string   // the lock file that its package manager is going to make; "" if there is one
}

// toolchainRule describes how one toolchain is recognised.
type toolchainRule struct {
	name       string
	markers    []string // globs of path.Match at the top level; one is enough
	others     []string // further files of the toolchain that belong to the work
	extensions []string
	programs   []string
	verify     func(top topLevel) string
	lockFile   func(top topLevel) string // that the first install makes
}

func always(command string) func(topLevel) string { return func(topLevel) string { return command } }

// toolchainRules are in the order in which a report names them.
func toolchainRules() []toolchainRule {
	return []toolchainRule{
		{"Go", []string{"go.mod", "go.work"}, []string{"go.sum", "go.work.sum"}, []string{".go"}, []string{"go"},
			always("go test ./..."), always("go.sum")},
		{"Node.js", []string{"package.json"},
			[]string{"package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "tsconfig.json"},
			[]string{".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte"}, []string{"npm", "node"}, nodeVerify, nodeLock},
		{"Deno", []string{"deno.json", "deno.jsonc"}, []string{"deno.lock"}, []string{".ts", ".tsx"}, []string{"deno"},
			always("deno test"), nil},
		{"Python", []string{"pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile"},
			[]string{"requirements-dev.txt", "uv.lock", "poetry.lock", "Pipfile.lock"},
			[]string{".py"}, []string{"python", "pip"}, pythonVerify, pythonLock},
		{"Rust", []string{"Cargo.toml"}, []string{"Cargo.lock"}, []string{".rs"}, []string{"cargo"},
			always("cargo test"), always("Cargo.lock")},
		{"Maven", []string{"pom.xml"}, nil, []string{".java", ".kt"}, []string{"mvn"}, wrapperVerify("mvnw", "mvn", "test"), nil},
		{"Gradle", []string{"build.gradle", "build.gradle.kts"},
			[]string{"settings.gradle", "settings.gradle.kts", "gradle.properties"},
			[]string{".java", ".kt", ".groovy"}, []string{"gradle"}, wrapperVerify("gradlew", "gradle", "test"), nil},
		{".NET", []string{"*.sln", "*.slnx", "*.csproj", "*.fsproj"}, []string{"Directory.Build.props"},
			[]string{".cs", ".fs", ".vb"}, []string{"dotnet"}, always("dotnet test"), nil},
		{"Ruby", []string{"Gemfile"}, []string{"Gemfile.lock", "Rakefile"}, []string{".rb"}, []string{"bundle", "ruby"},
			nil, always("Gemfile.lock")},
		{"PHP", []string{"composer.json"}, []string{"composer.lock"}, []string{".php"}, []string{"composer", "php"},
			nil, always("composer.lock")},
		{"Swift", []string{"Package.swift"}, []string{"Package.resolved"}, []string{".swift"}, []string{"swift"},
			always("swift test"), nil},
		{"Elixir", []string{"mix.exs"}, []string{"mix.lock"}, []string{".ex", ".exs"}, []string{"mix"}, always("mix test"), nil},
		{"Dart", []string{"pubspec.yaml"}, []string{"pubspec.lock"}, []string{".dart"}, []string{"dart"}, nil, nil},
		{"CMake", []string{"CMakeLists.txt"}, nil, []string{".c", ".cc", ".cpp", ".h", ".hpp"}, []string{"cmake", "ctest"}, nil, nil},
	}
}

// find recognises a toolchain among the files of the top level.
func (r toolchainRule) find(top topLevel) (Toolchain, bool) {
	found := Toolchain{Name: r.name, Programs: r.programs, extensions: r.extensions}
	for _, pattern := range r.markers {
		for _, file := range top.files {
			if ok, _ := path.Match(pattern, file); ok {
				found.Manifests = append(found.Manifests, file)
			}
		}
	}
	if len(found.Manifests) == 0 {
		return Toolchain{}, false
	}
	for _, other := range r.others {
		if top.hasFile(other) {
			found.Manifests = append(found.Manifests, other)
		}
	}
	found.lock = r.lock(top)
	if r.verify != nil {
		found.Verify = r.verify(top)
	}
	return found, true
}

// lock is the lock file that the first install makes, where no other one is there and it is known which tool installs.
func (r toolchainRule) lock(top topLevel) string {
	if r.lockFile == nil || slices.ContainsFunc(r.others, func(other string) bool { return isLock(other) && top.hasFile(other) }) {
		return ""
	}
	return r.lockFile(top)
}

func pythonLock(top topLevel) string {
	project := string(top.read("pyproject.toml"))
	switch {
	case strings.Contains(project, "[tool.poetry"):
		return "poetry.lock"
	case strings.Contains(project, "[tool.uv"):
		return "uv.lock"
	}
	return ""
}

func isLock(name string) bool {
	return strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".sum") || strings.HasSuffix(name, "-lock.json") || strings.HasSuffix(name, "-lock.yaml")
}

// nodeLock goes by what package.json says of its package manager.
func nodeLock(top topLevel) string {
	var manifest struct {
		PackageManager string `json:"packageManager"`
	}
	_ = json.Unmarshal(top.read("package.json"), &manifest) // npm will say
	name, _, _ := strings.Cut(manifest.PackageManager, "@")
	return cmp.Or(map[string]string{"pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock", "bun": "bun.lock"}[name], "package-lock.json")
}

// nodeVerify is the test script with the package manager whose lock file is there, if there is a script worth running.
func nodeVerify(top topLevel) string {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(top.read("package.json"), &manifest) != nil {
		return ""
	}
	script := manifest.Scripts["test"]
	if script == "" || strings.Contains(script, "no test specified") {
		return ""
	}
	switch {
	case top.hasFile("pnpm-lock.yaml"):
		return "pnpm test"
	case top.hasFile("yarn.lock"):
		return "yarn test"
	default:
		return "npm test"
	}
}

func pythonVerify(top topLevel) string {
	if top.hasFile("pytest.ini") || top.hasFile("conftest.py") || strings.Contains(string(top.read("pyproject.toml")), "[tool.pytest") {
		return "python -m pytest"
	}
	return ""
}

func wrapperVerify(wrapper, program, goal string) func(topLevel) string {
	return func(top topLevel) string {
		if top.hasFile(wrapper) {
			return "./" + wrapper + " " + goal
		}
		return program + " " + goal
	}
}

// maxManifest bounds how much of a manifest is read.
const maxManifest = 1 << 20

// read returns the content of a file of the top level, or nil if it cannot be had.
func (t topLevel) read(name string) []byte {
	if !t.hasFile(name) {
		return nil
	}
	text, _ := durable.ReadRegularIn(t.root, name, maxManifest)
	return text
}

// topLevel is the directory itself: what stands in it, by kind.
type topLevel struct {
	root        *os.Root
	files, dirs []string
}

func (t topLevel) hasFile(name string) bool { return slices.Contains(t.files, name) }
