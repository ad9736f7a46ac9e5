package seatbelt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Policy is what a command may do. All paths are absolute, clean, free of links, and exist, in the letter case of the disk.
type Policy struct {
	// Trees may be written, each but for its exceptions.
	Trees []Tree
	// Files may be changed, and neither removed nor replaced.
	Files []string
	// Hidden cannot be read, nor what is below them. Those in a Tree have to be Closed there too.
	Hidden []string
	// Temp is the one place in which the command makes Unix sockets, and connects to them.
	Temp string
	// Network: it may connect, and listen.
	Network bool
}

// Tree is a directory that may be written with everything in it.
type Tree struct {
	Path string
	// Closed are below it, and stay as they are with everything in them.
	Closed []string
	// Pinned are directories, at or below it, that stay where they are and as they are, while what is in them may change.
	Pinned []string
	// Absent may not come into being.
	Absent []Absent
}

// Absent are names in a directory that has none of them.
type Absent struct {
	Dir   string
	Names []string
}

// Errors of Profile.
var (
	// ErrTooMuch: the profile would be larger than what one program can be started with.
	ErrTooMuch = errors.New("the scope is in too many pieces for one Seatbelt profile; a narrower scope needs fewer")
	// ErrName: a path or a name cannot be expressed.
	ErrName = errors.New("this name cannot be held by a Seatbelt profile")
)

const (
	// maxProfile bounds text and parameters, in bytes: half of what macOS lets arguments and environment have together.
	maxProfile = 512 << 10
	// maxPattern bounds a regular expression, in bytes: the reader of profiles may have room for no more than 256.
	maxPattern = 250
)

// Profile is the text, and the values of its parameters as KEY=value.
func (p Policy) Profile() (text string, parameters []string, err error) {
	w := &writer{}
	w.line(base)
	w.reading(p.Hidden)
	for _, tree := range p.Trees {
		w.tree(tree)
	}
	if len(p.Files) > 0 {
		w.rule("allow file-write-data file-write-mode file-write-times file-write-xattr file-write-flags", w.each("literal", p.Files)...)
	}
	w.sockets(p.Temp)
	if p.Network {
		w.line(network)
	}
	if w.size > maxProfile {
		w.fail(ErrTooMuch)
	}
	if w.err != nil {
		return "", nil, w.err
	}
	return w.text.String(), w.parameters, nil
}

// writer makes the text. Its first error stays.
type writer struct {
	text       strings.Builder
	parameters []string
	known      map[string]string // the parameter of a path
	size       int
	err        error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) line(text string) {
	w.text.WriteString(text)
	w.text.WriteByte('\n')
	w.size += len(text) + 1
}

// rule writes one rule with its filters, of which one has to match.
func (w *writer) rule(head string, filters ...string) {
	w.line("(" + head + "\n  " + strings.Join(filters, "\n  ") + ")")
}

// path is a path as it stands in the text: the name of a parameter.
func (w *writer) path(path string) string {
	if !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsRune(path, 0) || slices.ContainsFunc(strings.Split(path[1:], "/"), isNoName) {
		w.fail(fmt.Errorf("%w: %q", ErrName, path))
	}
	if name, is := w.known[path]; is {
		return name
	}
	if w.known == nil {
		w.known = map[string]string{}
	}
	key := fmt.Sprintf("P%d", len(w.parameters))
	w.parameters = append(w.parameters, key+"="+path)
	w.size += len(key) + len(path) + len("-D=\x00")
	w.known[path] = `(param "` + key + `")`
	return w.known[path]
}

func isNoName(name string) bool { return name == "" || name == "." || name == ".." }

func (w *writer) filter(kind, path string) string { return "(" + kind + " " + w.path(path) + ")" }

func (w *writer) each(kind string, paths []string) (filters []string) {
	for _, path := range paths {
		filters = append(filters, w.filter(kind, path))
	}
	return filters
}

// reading allows it of all but what is hidden, and of the devices of which it is safe: among the others are terminals.
func (w *writer) reading(hidden []string) {
	w.line("(allow file-read*)\n(deny file-read* (subpath \"/dev\"))")
	w.line(devices)
	// Whether subpath is also the path itself where that is a file, nothing says.
	if filters := append(w.each("literal", hidden), w.each("subpath", hidden)...); len(filters) > 0 {
		w.rule("deny file-read*", filters...)
	}
}

// tree allows a directory to be written but for its exceptions.
func (w *writer) tree(t Tree) {
	all := []string{w.filter("subpath", t.Path)}
	except := func(filter string) { all = append(all, "(require-not "+filter+")") }
	for _, path := range t.Pinned {
		except(w.filter("literal", path))
	}
	for _, path := range t.Closed {
		except(w.filter("literal", path))
		except(w.filter("subpath", path))
	}
	for _, absent := range t.Absent {
		for _, pattern := range w.patterns(absent) {
			except("(require-all " + w.filter("subpath", absent.Dir) + ` (regex #"` + pattern + `"))`)
		}
	}
	w.rule("allow file-write*", "(require-all\n    "+strings.Join(all, "\n    ")+")")
}

// patterns are regular expressions for the names in the directory, and for what could be another form of one.
func (w *writer) patterns(a Absent) (patterns []string) {
	above := "^" + strings.Repeat("/[^/]+", strings.Count(a.Dir, "/")) + "/"
	lead := "[.]"
	for _, name := range a.Names {
		if !strings.HasPrefix(name, ".") {
			lead = ""
		}
		patterns = append(patterns, above+w.anyCase(name)+"(/|$)")
	}
	patterns = append(patterns, above+lead+"[^/]*[^ -~/]")
	if strings.ContainsFunc(a.Dir, unicode.IsControl) { // of a line's end each dialect of patterns has its own opinion
		w.fail(fmt.Errorf("%w: in %q nothing can be kept absent", ErrName, a.Dir))
	}
	for _, pattern := range patterns {
		if len(pattern) > maxPattern {
			w.fail(fmt.Errorf("%w: %q lies too deep for a name in it to be kept absent", ErrName, a.Dir))
		}
	}
	return patterns
}

// anyCase is a regular expression for a name in any letter case.
func (w *writer) anyCase(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			b.WriteString("[" + strings.ToLower(string(c)) + strings.ToUpper(string(c)) + "]")
		case '0' <= c && c <= '9', c == '.', c == '_', c == '-':
			b.WriteString("[" + string(c) + "]")
		default: // what it is in a regular expression, or to a file system, nobody should have to know
			w.fail(fmt.Errorf("%w: %q is to stay absent", ErrName, name))
		}
	}
	if isNoName(name) {
		w.fail(fmt.Errorf("%w: %q is to stay absent", ErrName, name))
	}
	return b.String()
}

func (w *writer) sockets(dir string) {
	w.line("(allow system-socket (socket-domain AF_UNIX))")
	own := w.filter("subpath", dir)
	w.line("(allow network-bind (local unix-socket " + own + "))")
	w.line("(allow network-inbound (local unix-socket " + own + "))")
	w.line("(allow network-outbound (remote unix-socket " + own + "))")
}
