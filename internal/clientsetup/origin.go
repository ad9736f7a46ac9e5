package clientsetup

import (
	"bytes"
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
	switch image := strings.TrimSpace(o.Image); {
	case imageName().MatchString(image):
		return inContainer(image, o.User)
	case o.Image != "":
		return unfit("%s does not name an image of this program", ImageFile)
	case o.inNPMsHands():
		return byNPX(npmVersionOf(o.Executable, o.Version))
	}
	for _, found := range append(o.onPath(), o.linked()...) {
		if at := o; durable.SamePath(found, o.Executable) {
			if at.Executable = found; at.Passing() == "" {
				return At(found)
			}
		}
	}
	if why := o.Passing(); why != "" {
		return unfit("%s: %s; install the program (as with `npm install -g %s`), or name one with --command", o.Executable, why, NPMPackage)
	}
	return At(o.Executable)
}

// Passing is why the program will not stay at its path; "" if it will.
func (o Origin) Passing() string {
	switch extension := extensionOf(o.Executable); {
	case !isFile(o.Executable):
		return "it is gone"
	case temporary().MatchString(filepath.ToSlash(o.Executable)):
		return "the go command removes it again"
	case extension != "":
		return "it belongs to an extension (" + extension + "), which its client starts by itself, and replaces with the next version"
	case o.inNPMsHands():
		return "npm may empty the directory"
	case o.cellar() != "":
		return "the next upgrade by Homebrew removes it (`brew link " + Program + "` makes a link that stays)"
	}
	return ""
}

// inNPMsHands reports whether the program lies in npx's cache or in a project, and not where npm installs for a user.
func (o Origin) inNPMsHands() bool {
	dir := npmDir(o.Executable)
	return dir != "" && !isGlobal(o, dir)
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
