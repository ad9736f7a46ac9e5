package clientsetup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// ImageFile names, in an image of this program, the image.
const ImageFile = "/usr/share/orchestra-mcp/image"

// Origin is what tells how the program that runs was installed.
type Origin struct {
	Executable string // its absolute path
	Version    string // of its build
	Path       string // the variable PATH
	Workspace  string // whose own directories on the PATH do not count: agents write there
	OS         string // in Go's words
	Image      string // what [ImageFile] holds; "" where there is none
	User       string // UID:GID in a container
}

// temporary is where the go command puts a program that it only runs.
var temporary = lazy.Regexp(`/go-build[0-9]+/`)

// Find tells how clients start the program that runs, so that the command will exist: what npx has in its cache, what an
// upgrade of Homebrew's takes away and what `go run` makes is not named by its path.
func Find(o Origin) Launch {
	slashed := filepath.ToSlash(o.Executable)
	switch image := strings.TrimSpace(o.Image); {
	case imageName().MatchString(image):
		return inContainer(image, o.User)
	case o.Image != "":
		return unfit("%s does not name an image of this program", ImageFile)
	case temporary().MatchString(slashed) || !isFile(o.Executable):
		return unfit("%s will not be there for long; install the program (`go install`), or name it with --command", o.Executable)
	case extensionOf(o.Executable) != "":
		return unfit("this program belongs to a client's extension (%s), which that client starts, and replaces with its next version; "+
			"for others install it (`npm install -g %s`), or name it with --command", extensionOf(o.Executable), NPMPackage)
	}
	if dir := npmDir(o.Executable); dir != "" && !isGlobal(o, dir) {
		return byNPX(npmVersionOf(o.Executable, o.Version))
	}
	for _, found := range append(o.onPath(), o.linked()...) {
		if sameFile(found, o.Executable) {
			return At(found)
		}
	}
	if o.cellar() != "" {
		return unfit("Homebrew's next upgrade removes %s, and nothing else leads to it: run `brew link %s`", o.Executable, Program)
	}
	return At(o.Executable)
}

// onPath are the programs of our name on the PATH, but for those that npx, npm or the workspace have put there.
func (o Origin) onPath() (found []string) {
	name := Program
	if o.OS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(o.Path) {
		rel, err := filepath.Rel(o.Workspace, dir)
		inside := o.Workspace != "" && err == nil && filepath.IsLocal(rel)
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && !inside && !strings.HasSuffix(filepath.ToSlash(dir), "/node_modules/.bin") && isFile(path) {
			found = append(found, path)
		}
	}
	return found
}

// cellar is the directory of Homebrew in which the program lies below one of its version; "" if it does not.
func (o Origin) cellar() string {
	for _, name := range []string{"Cellar", "Caskroom"} {
		if prefix, _, is := strings.Cut(filepath.ToSlash(o.Executable), "/"+name+"/"+Program+"/"); is {
			return filepath.FromSlash(prefix)
		}
	}
	return ""
}

func (o Origin) linked() []string {
	if prefix := o.cellar(); prefix != "" {
		return []string{filepath.Join(prefix, "bin", Program)}
	}
	return nil
}

// extensionOf is the directory of a client's extension (an .mcpb bundle, unpacked) that a program belongs to; "" if to none.
func extensionOf(executable string) string {
	for dir, n := filepath.Dir(executable), 0; n < 3; dir, n = filepath.Dir(dir), n+1 {
		text, err := durable.ReadRegular(filepath.Join(dir, "manifest.json"), 1<<20)
		if err == nil && bytes.Contains(text, []byte(`"manifest_version"`)) && bytes.Contains(text, []byte(`"mcp_config"`)) {
			return dir
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	left, errLeft := os.Stat(a)
	right, errRight := os.Stat(b)
	return errLeft == nil && errRight == nil && os.SameFile(left, right)
}
