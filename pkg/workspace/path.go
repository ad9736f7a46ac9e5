package workspace

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxPath bounds a path that tools take, in bytes.
	MaxPath = 4096
	// MaxDepth is how many directories deep what commands change is looked at.
	MaxDepth = 256

	maxName  = 255
	maxLinks = 40 // as the Linux kernel
)

// TooDeep reports whether a path is so long, or so deep, that commands may make nothing there.
func TooDeep(path string) bool { return len(path) > MaxPath || strings.Count(path, "/") > MaxDepth }

// validText refuses what no path may contain, before anything looks at the disk.
func validText(requested string) error {
	switch {
	case requested == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidPath)
	case len(requested) > MaxPath:
		return fmt.Errorf("%w: over %d bytes", ErrInvalidPath, MaxPath)
	case !utf8.ValidString(requested):
		return fmt.Errorf("%w: not UTF-8", ErrInvalidPath)
	}
	for _, r := range requested {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return fmt.Errorf("%w: control character %U", ErrInvalidPath, r)
		}
	}
	return nil
}

// relative cleans a requested path lexically and makes it relative to the workspace, "." for the workspace
// itself. Links have not been looked at.
func (w *Workspace) relative(requested string) (string, error) {
	if err := validText(requested); err != nil {
		return "", err
	}
	slashed := filepath.ToSlash(requested)
	if filepath.IsAbs(requested) {
		inside, ok := w.locate(path.Clean(slashed))
		if !ok {
			return "", ErrOutside
		}
		slashed = inside
	}
	clean := path.Clean(slashed)
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", ErrOutside
	}
	for name := range strings.SplitSeq(clean, "/") {
		if len(name) > maxName {
			return "", fmt.Errorf("%w: a name of %d bytes, at most %d are possible", ErrInvalidPath, len(name), maxName)
		}
	}
	return clean, nil
}

// components splits a path, leaving out what stands for nothing.
func components(p string) []string {
	var names []string
	for name := range strings.SplitSeq(p, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// namesDirectory reports whether the text can only mean a directory.
func namesDirectory(requested string) bool {
	slashed := filepath.ToSlash(requested)
	return strings.HasSuffix(slashed, "/") || slashed == "." || slashed == ".." ||
		strings.HasSuffix(slashed, "/.") || strings.HasSuffix(slashed, "/..")
}
