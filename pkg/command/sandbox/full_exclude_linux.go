package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// maxExclude bounds what is read of a repository's list of excluded files.
const maxExclude = 256 << 10

// exclude keeps git inside the profile from adding the placeholder of a file: the repository's own list of what it
// leaves out has it as well, in there. Where there is no such list, git adds an empty file.
func (l *layout) exclude(path string) error {
	top, list := excludeList(path)
	if list == "" {
		return nil
	}
	if l.kinds[list] == helper.Hidden {
		return nil
	}
	if l.kinds[list] != helper.Content {
		content, err := durable.ReadRegular(list, maxExclude)
		if err != nil {
			return fmt.Errorf("read the list of what git leaves out: %w", err)
		}
		l.kinds[list], l.contents[list] = helper.Content, string(content)
	}
	relative, err := filepath.Rel(top, path)
	if err != nil {
		return err
	}
	l.contents[list] += "\n/" + gitignoreQuote.Replace(filepath.ToSlash(relative)) + "\n"
	return nil
}

var gitignoreQuote = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)

// excludeList finds the work tree that a path is in, and the list; "" if there is none that can be relied on.
func excludeList(path string) (top, list string) {
	for top := range upward(path) {
		if dir := gitDirectory(filepath.Join(top, ".git")); dir != "" {
			list = filepath.Join(dir, "info", "exclude")
			info, err := os.Lstat(list)
			if err != nil || !info.Mode().IsRegular() || isPlaceholder(info) || !isPlain(list) {
				return top, ""
			}
			return top, list
		}
	}
	return "", ""
}

// gitDirectory is the directory that all work trees of the repository share.
func gitDirectory(dot string) string {
	dir := dot
	info, err := os.Lstat(dot)
	switch {
	case err != nil:
		return ""
	case info.Mode().IsRegular():
		dir = gitdir.Pointed(dot, "gitdir: ")
	case !info.IsDir():
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); dir == "" || err != nil {
		return ""
	}
	return gitdir.CommonDir(dir)
}
