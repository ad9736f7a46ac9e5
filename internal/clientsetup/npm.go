package clientsetup

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// NPMPackage is what npm calls this program. The binaries are in packages for a platform each, beside it or below it.
const NPMPackage = "@intentgov/orchestra-mcp"

// npmBinary is the path of a binary in npm's directories, npmVersion a version of ours, npmSpec the package with a version, a
// range or a tag behind it. npm takes npmFile there for a file of the directory that it is started in.
var (
	npmBinary  = lazy.Regexp(`^(.*?)/node_modules/(?:.*/)?@intentgov/orchestra-mcp-[a-z0-9]+-[a-z0-9]+/bin/orchestra-mcp$`)
	npmVersion = lazy.Regexp(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	npmSpec    = lazy.Regexp(`^@intentgov/orchestra-mcp(@([a-z]+|[~^]?[0-9][0-9A-Za-z.-]*))?$`)
	npmFile    = lazy.Regexp(`(?i)\.(tgz|tar|tar\.gz)$`)
)

// byNPX starts the package of a version; "" is the newest. A version that is fixed is the same for everybody who has the
// file, governs until a person changes it, and starts without network once it is there. The flags keep the workspace out
// of it, where agents write: npx would run a package that lies in node_modules there, read its .npmrc, and take a shell from
// node_modules/.bin. Without network npx would try again for longer than a client waits.
func byNPX(version string) Launch {
	spec := NPMPackage
	if version != "" {
		spec += "@" + version
	}
	return always(append(npxFlags(), spec)...)
}

func npxFlags() []string {
	return []string{"npx", "-y", "--prefix=/", "--script-shell=/bin/sh", "--fetch-retries=0"}
}

func isNPX(words []string) bool {
	if len(words) < 2 || baseName(words[0]) != "npx" {
		return false
	}
	spec := words[len(words)-1]
	return npmSpec().MatchString(spec) && !npmFile().MatchString(spec)
}

// npmDir is the directory that holds the node_modules in which a binary of npm's lies; "" for any other.
func npmDir(executable string) string {
	if match := npmBinary().FindStringSubmatch(filepath.ToSlash(executable)); match != nil {
		return match[1]
	}
	return ""
}

// npmVersionOf is the version of the package of a binary, else of the build; "" for one that was not released.
func npmVersionOf(executable, build string) string {
	var of struct{ Version string }
	text, err := durable.ReadRegular(filepath.Join(filepath.Dir(filepath.Dir(executable)), "package.json"), 64<<10)
	if err == nil && json.Unmarshal(text, &of) == nil && npmVersion().MatchString(of.Version) {
		return of.Version
	}
	if build = strings.TrimPrefix(build, "v"); npmVersion().MatchString(build) {
		return build
	}
	return ""
}

// Binary is the program that a path starts: behind npm's launcher it is the binary of this platform, else the path itself.
func Binary(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	bin := filepath.Dir(real)
	if !strings.HasSuffix(filepath.ToSlash(bin), "/"+NPMPackage+"/bin") || !strings.HasPrefix(filepath.Base(real), Program) {
		return path
	}
	cpu := runtime.GOARCH
	if cpu == "amd64" {
		cpu = "x64"
	}
	name := filepath.FromSlash(NPMPackage + "-" + runtime.GOOS + "-" + cpu + "/bin/orchestra-mcp")
	main := filepath.Dir(bin)
	for _, modules := range []string{filepath.Join(main, "node_modules"), filepath.Dir(filepath.Dir(main))} {
		if binary := filepath.Join(modules, name); isFile(binary) {
			return binary
		}
	}
	return path
}

// Same reports whether two paths start one program.
func Same(a, b string) bool { return durable.SamePath(Binary(a), Binary(b)) }

// isGlobal reports whether a binary of npm's is installed for a user or a machine, and not in a project or npx's cache.
func isGlobal(o Origin, dir string) bool {
	if slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), "_npx") {
		return false
	}
	return filepath.Base(dir) == "lib" || slices.ContainsFunc(o.onPath(), func(found string) bool { return Same(found, o.Executable) })
}
