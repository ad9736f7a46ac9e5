package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// Where things stand, by components: below the workspace, and for reports below .orchestration.
const (
	homeDir  = ".orchestration"
	stateDir = "state"
	sealsDir = "seals"
	keysDir  = "keys"
	suffix   = ".note"

	maxSealFile = 1_000_000 // what the note format allows
)

// openAt opens a directory below the workspace without following a link, which a hostile checkout could bring.
func openAt(root *os.Root, names ...string) (*durable.Dir, error) {
	dir, err := durable.OpenRoot(root)
	for i := 0; err == nil && i < len(names); i++ {
		dir, err = descend(dir, names[i])
	}
	return dir, err
}

func descend(dir *durable.Dir, name string) (*durable.Dir, error) {
	defer dir.Close()
	return dir.OpenDir(name)
}

// makeAt is openAt and creates what is missing below .orchestration, each flushed in the directory above it.
func makeAt(root *os.Root, mode fs.FileMode, names ...string) (*durable.Dir, error) {
	dir, err := openAt(root, homeDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; run `orchestra-mcp init`", ledger.ErrNotInitialized)
	}
	for i := 0; err == nil && i < len(names); i++ {
		if err = dir.Mkdir(names[i], mode); err == nil {
			err = dir.Sync()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			dir.Close()
			return nil, err
		}
		dir, err = descend(dir, names[i])
	}
	return dir, err
}

// readEach gives the regular files of a directory whose names end with the suffix; what cannot be read is a problem.
func readEach(root *os.Root, end string, visit func(segment string, content []byte), names ...string) []ledger.Problem {
	place := path.Join(names...)
	var problems []ledger.Problem
	unreadable := func(what string, err error) {
		problems = append(problems, ledger.Problem{Kind: ledger.ProblemUnreadable, Segment: what, Detail: err.Error()})
	}
	dir, err := openAt(root, append([]string{homeDir}, names...)...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var entries []fs.DirEntry
	if err == nil {
		defer dir.Close()
		entries, err = dir.ReadDir()
	}
	if err != nil {
		unreadable(place, err)
		return problems
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, end) || entry.IsDir() {
			continue
		}
		if content, err := readFile(dir, name); err != nil {
			unreadable(path.Join(place, name), err)
		} else {
			visit(path.Join(place, name), content)
		}
	}
	return problems
}

func readFile(dir *durable.Dir, name string) ([]byte, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSealFile {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", name, maxSealFile)
	}
	return io.ReadAll(io.LimitReader(file, maxSealFile))
}

// publishFile makes a file appear under its name whole and on disk. One that is already there must have the same content.
func publishFile(root *os.Root, content []byte, name string, dirs ...string) error {
	dir, err := makeAt(root, 0o755, dirs...)
	if err != nil {
		return err
	}
	defer dir.Close()
	if old, err := readFile(dir, name); !errors.Is(err, fs.ErrNotExist) {
		return sameContent(old, content, err)
	}
	state, err := makeAt(root, 0o700, stateDir)
	if err != nil {
		return err
	}
	defer state.Close()
	temp := ".orchestra-" + name + ".tmp"
	if err := writeTemp(state, temp, content); err != nil {
		return err
	}
	if err := state.Move(temp, dir, name); err != nil {
		state.Remove(temp)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		old, err := readFile(dir, name)
		return sameContent(old, content, err)
	}
	return dir.Sync()
}

func sameContent(old, content []byte, err error) error {
	if err == nil && string(old) != string(content) {
		err = errors.New("a file with other content has that name; look at it, and move it away if it is not yours")
	}
	return err
}

func writeTemp(dir *durable.Dir, name string, content []byte) error {
	dir.Remove(name) // of a process that died here
	file, err := dir.Create(name, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		dir.Remove(name)
		return err
	}
	return nil
}
