package profile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// cacheVariables hand the private caches to the tools that keep one. Each has a directory of its own.
const cacheVariables = `GOCACHE=go-build GOPATH=go GOLANGCI_LINT_CACHE=golangci-lint STATICCHECK_CACHE=staticcheck
	npm_config_cache=npm YARN_CACHE_FOLDER=yarn YARN_GLOBAL_FOLDER=yarn-global PNPM_HOME=pnpm BUN_INSTALL_CACHE_DIR=bun
	PIP_CACHE_DIR=pip UV_CACHE_DIR=uv POETRY_CACHE_DIR=poetry PIPENV_CACHE_DIR=pipenv WORKON_HOME=virtualenvs
	COMPOSER_CACHE_DIR=composer PYTHONPYCACHEPREFIX=python MYPY_CACHE_DIR=mypy RUFF_CACHE_DIR=ruff COVERAGE_FILE=coverage/data
	CARGO_HOME=cargo GRADLE_USER_HOME=gradle CCACHE_DIR=ccache SCCACHE_DIR=sccache`

// CacheDir is this program's directory for what can be made again, "" where the environment names none.
func CacheDir(environ []string) string {
	if base := lookup(environ, "XDG_CACHE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "orchestra-mcp")
	}
	if home := lookup(environ, "HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "orchestra-mcp")
	}
	return ""
}

// openCaches makes the directory of a workspace, below the user's cache directory.
func openCaches(root string, environ []string) (string, error) {
	base := CacheDir(environ)
	if base == "" {
		return "", errors.New("neither XDG_CACHE_HOME nor HOME names a directory")
	}
	sum := sha256.Sum256([]byte(root))
	dir := filepath.Join(base, "build", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(filepath.Join(dir, "coverage"), 0o700)
}

// cachesIn are the variables that hand the caches over. What the user has set for a cache is replaced: a command could poison that one.
func cachesIn(dir string, environ []string) (env []string) {
	for variable := range strings.FieldsSeq(cacheVariables) {
		name, cache, _ := strings.Cut(variable, "=")
		env = append(env, name+"="+filepath.Join(dir, filepath.FromSlash(cache)))
	}
	return append(append(env, goModules(dir, environ)...), maven(dir, environ))
}

// goModules lets Go read the modules that the user has, and put new ones into a private cache: the user's own serves as
// a proxy. Private modules do not pass through a proxy, so where there are any, the user's cache stays in its place,
// and new modules cannot be had.
func goModules(dir string, environ []string) []string {
	settings := goSettings(environ)
	modules := settings("GOMODCACHE")
	if modules == "" {
		gopath, _, _ := strings.Cut(settings("GOPATH"), string(filepath.ListSeparator))
		modules = filepath.Join(cmp.Or(gopath, filepath.Join(lookup(environ, "HOME"), "go")), "pkg", "mod")
	}
	if settings("GOPRIVATE") != "" || settings("GONOPROXY") != "" {
		return []string{"GOMODCACHE=" + modules}
	}
	env := []string{"GOMODCACHE=" + filepath.Join(dir, "go", "pkg", "mod")}
	proxy := settings("GOPROXY")
	download := filepath.Join(modules, "cache", "download")
	if info, err := os.Stat(download); proxy != "" && err == nil && info.IsDir() {
		env = append(env, "GOPROXY="+(&url.URL{Scheme: "file", Path: filepath.ToSlash(download)}).String()+","+proxy)
	}
	return env
}

// goSettings looks a variable up as the go command does: the environment, then the user's file, then that of the Go
// installation. go env itself takes some milliseconds a call.
func goSettings(environ []string) func(name string) string {
	config := cmp.Or(lookup(environ, "XDG_CONFIG_HOME"), filepath.Join(lookup(environ, "HOME"), ".config"))
	user := readAssignments(cmp.Or(lookup(environ, "GOENV"), filepath.Join(config, "go", "env")))
	installed := readAssignments(filepath.Join(goRoot(environ), "go.env"))
	return func(name string) string { return cmp.Or(lookup(environ, name), user[name], installed[name]) }
}

// goRoot is where the Go installation on PATH stands; empty if there is none.
func goRoot(environ []string) string {
	if root := lookup(environ, "GOROOT"); root != "" {
		return root
	}
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		if program, err := filepath.EvalSymlinks(filepath.Join(dir, "go")); err == nil && filepath.IsAbs(dir) {
			return filepath.Dir(filepath.Dir(program))
		}
	}
	return ""
}

// readAssignments reads lines of the form NAME=value; a file that cannot be read has none.
func readAssignments(name string) map[string]string {
	values := map[string]string{}
	text, _ := durable.ReadRegular(name, fileLimit)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "="); ok {
			values[key] = value
		}
	}
	return values
}

// maven has a private repository with the user's own behind it.
func maven(dir string, environ []string) string {
	args := "-Dmaven.repo.local=" + filepath.Join(dir, "maven")
	if home := lookup(environ, "HOME"); filepath.IsAbs(home) {
		args += " -Dmaven.repo.local.tail=" + filepath.Join(home, ".m2", "repository")
	}
	if own := lookup(environ, "MAVEN_ARGS"); own != "" {
		args = own + " " + args
	}
	return "MAVEN_ARGS=" + args
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// Overlay is env with the entries of over in place of those of the same name.
func Overlay(env, over []string) []string {
	names := map[string]bool{}
	for _, entry := range over {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	out := make([]string, 0, len(env)+len(over))
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !names[name] {
			out = append(out, entry)
		}
	}
	return append(out, over...)
}
