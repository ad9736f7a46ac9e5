package clientsetup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// Program is the name by which files that people share call this program: each of them has it in a place of its own.
const Program = "orchestra-mcp"

// Launch is how a client starts this program: the words that stand before the program's own arguments. There are four ways:
// the name, looked for on the PATH (the zero value), a program's path, npx, and a container. [Find] tells which is this
// program's.
type Launch struct {
	own, shared []string // in files of the user's, and in those that people share; nil is the name
	unfit       error    // why own is none that will exist
}

// Named starts one program, by its name or path, in all files.
func Named(program string) Launch { return Launch{own: []string{program}, shared: []string{program}} }

// At starts the program at a path in files of the user's, and the name in those that people share.
func At(path string) Launch { return Launch{own: []string{path}} }

// always starts the same words everywhere.
func always(words ...string) Launch { return Launch{own: words, shared: words} }

// unfit is a program that will not be there for long. Shared files have the name.
func unfit(format string, args ...any) Launch { return Launch{unfit: fmt.Errorf(format, args...)} }

// Unfit is why files of the user's cannot name the program that runs; nil if they can.
func (l Launch) Unfit() error { return l.unfit }

// words are what stands before the program's own arguments.
func (l Launch) words(shared bool) []string {
	words := l.own
	if shared {
		words = l.shared
	}
	if words == nil {
		return []string{Program}
	}
	return words
}

// Path is the program's path in files of the user's; "" if it is started in another way.
func (l Launch) Path() string {
	if len(l.own) == 1 && filepath.IsAbs(l.own[0]) {
		return l.own[0]
	}
	return ""
}

// Line is a line for a shell that starts the program, without arguments; "" for the name alone. In a container it has the
// directory in which it is typed.
func (l Launch) Line() string {
	if l.own == nil {
		return ""
	}
	return shellLine(l.served(".").own)
}

// Container reports whether clients start a container. What it has is the workspace, and nothing of the client.
func (l Launch) Container() bool { return isContainer(l.own) }

// Version is the one that npx or an image is asked for; "" if that is not said, or another way has none.
func (l Launch) Version() string {
	if !l.NPX() && !l.Container() {
		return ""
	}
	spec := l.own[len(l.own)-1]
	if _, digest, is := strings.Cut(spec, "@sha256:"); is && digest != "" {
		return ""
	}
	_, version, _ := strings.Cut(spec[strings.LastIndexByte(spec, '/')+1:], map[bool]string{true: "@", false: ":"}[l.NPX()])
	return version
}

// Plain reports whether npx or a container is started by the flags that setup writes. By others it could take packages,
// settings and programs from the workspace, which agents may change, or reach more than that.
func (l Launch) Plain() bool {
	switch {
	case l.NPX():
		return slices.Equal(l.own[1:len(l.own)-1], npxFlags()[1:])
	case l.Container():
		user := ""
		if i := slices.Index(l.own, "-u"); i > 0 {
			user = l.own[i+1]
		}
		ours := inContainer(l.own[len(l.own)-1], user).served(mounted(l.own)).own
		return slices.Equal(l.own[1:], ours[1:])
	}
	return true
}

// Words are the launch in files of the user's.
func (l Launch) Words() []string { return l.words(false) }

// NPX reports whether clients start the program by npx.
func (l Launch) NPX() bool { return isNPX(l.own) }

// imageName is this program's image, in any registry and of any version.
var imageName = lazy.Regexp(`^([a-z0-9][a-z0-9._:-]*/)*intentgov/orchestra-mcp([:@][A-Za-z0-9._:@-]+)?$`)

// containerDir is where the image has the workspace, hostDir the workspace on the machine until it is known.
const (
	containerDir = "/workspace"
	hostDir      = "/PATH/OF/THE/WORKSPACE"
)

// inContainer starts an image, as a user if that is not the superuser.
func inContainer(image, user string) Launch {
	words := []string{"docker", "run", "-i", "--rm"}
	if user != "" && !strings.HasPrefix(user, "0:") {
		words = append(words, "-u", user)
	}
	return always(append(words, "-v", hostDir+":"+containerDir, image)...)
}

// served is the launch of a container that has a directory; any other has them all. "." is the one that it is started in.
func (l Launch) served(dir string) Launch {
	if !l.Container() {
		return l
	}
	words := slices.Clone(l.own)
	for i, word := range words {
		if _, at, mounts := strings.Cut(word, ":"); mounts && i > 0 && words[i-1] == "-v" {
			words[i] = dir + ":" + at
		}
	}
	return always(words...)
}

func isContainer(words []string) bool {
	return len(words) > 2 && slices.Contains([]string{"docker", "podman"}, baseName(words[0])) && words[1] == "run" && imageName().MatchString(words[len(words)-1])
}

// cutLaunch parts a command line into what starts this program and the program's own arguments. A program of another name
// may be ours as well: it is the first word.
func cutLaunch(line []string) (start, args []string) {
	for i := range line {
		if start := line[:i+1]; isNPX(start) || isContainer(start) {
			return start, line[i+1:]
		}
	}
	if len(line) == 0 {
		return nil, nil
	}
	return line[:1], line[1:]
}

// mounted is the directory of the machine that a container's words give it as the workspace; "" for other words.
func mounted(words []string) string {
	if !isContainer(words) {
		return ""
	}
	for i, word := range words {
		if dir, is := strings.CutSuffix(word, ":"+containerDir); is && i > 0 && slices.Contains([]string{"-v", "--volume"}, words[i-1]) {
			return dir
		}
	}
	return ""
}

// shellLine is a command line for a POSIX shell.
func shellLine(words []string) string {
	return joined(words, shellword.Show)
}

// joined makes a line of words. Flags stay as they are, as far as a shell leaves them so.
func joined(words []string, quote func(string) string) string {
	var quoted []string
	for _, word := range words {
		if plain := "x" + strings.Replace(word, "=", "", 1); !strings.HasPrefix(word, "-") || quote(plain) != plain {
			word = quote(word)
		}
		quoted = append(quoted, word)
	}
	return strings.Join(quoted, " ")
}

// baseName is the last element of a path of any system.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
