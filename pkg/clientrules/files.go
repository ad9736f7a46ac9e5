package clientrules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/tailscale/hujson"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	maxFile  = 256 << 10
	maxFiles = 200 // of a directory
	maxDirs  = 64  // from the workspace to where a line starts
)

// read is a file's content, nil if there is none.
func read(file string) ([]byte, error) {
	content, err := durable.ReadRegular(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which can hold rules, cannot be read: %v", file, err)
	}
	return bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), nil
}

// document reads a file of JSON, in which comments may stand; nil if it is not there or empty.
func document(file string) (*hujson.Value, error) {
	content, err := read(file)
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, err
	}
	value, err := hujson.Parse(content)
	if err != nil {
		return nil, unclear(file, err)
	}
	return &value, nil
}

// readJSON reads the members of a file that a struct names. Their names are compared as they are, and none stands there
// twice: another reading than the client's could lose a rule.
func readJSON(file string, into any) error {
	value, err := document(file)
	if value == nil {
		return err
	}
	value.Standardize()
	if err := jsonv2.Unmarshal(value.Pack(), into); err != nil {
		return unclear(file, err)
	}
	return nil
}

func unclear(file string, err error) error {
	return fmt.Errorf("%s, which can hold rules, is not understood: %v", file, err)
}

// list are the files of a directory with an ending, or with none its directories, in the order of their names.
func list(dir, ending string) (files []string, err error) {
	entries, err := durable.ReadDirectory(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(entries) > maxFiles {
		err = fmt.Errorf("it has more than %d entries", maxFiles)
	}
	if err != nil {
		return nil, fmt.Errorf("the directory %s, which can hold rules, cannot be read: %v", dir, err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ending) && (ending != "" || entry.IsDir()) {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

// lists is list for several directories.
func lists(ending string, dirs ...string) (all []string, err error) {
	for _, dir := range dirs {
		files, err := list(dir, ending)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// places are the directories from the workspace down to where the line starts.
func (q Question) places() []string {
	dirs := []string{}
	for dir := filepath.Clean(q.Cwd); dir != filepath.Clean(q.Workspace) && within(q.Workspace, dir) && len(dirs) < maxDirs; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return append([]string{q.Workspace}, dirs...)
}

// below are some names below each of some directories.
func below(dirs []string, names ...string) (all []string) {
	for _, dir := range dirs {
		for _, name := range names {
			all = append(all, filepath.Join(dir, name))
		}
	}
	return all
}
