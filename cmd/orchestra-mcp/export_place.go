package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// agentTraceFile is where Agent Trace's own reference implementation keeps its records.
const agentTraceFile = ".agent-trace/traces.jsonl"

// exportPlace is the file that an export replaces as a whole.
type exportPlace struct {
	dir   *durable.Dir
	name  string
	shown string // to a person
}

// exportPlace opens the directory of the file. In the workspace it must be a directory of its own and no link: a cloned
// repository could lead the export anywhere with one.
func (q *question) exportPlace(output string) (*exportPlace, error) {
	if output == "" {
		own, err := durable.OpenOwn(q.root, filepath.Dir(agentTraceFile), 0o755)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", agentTraceFile, err)
		}
		return openPlace(own, filepath.Base(agentTraceFile), agentTraceFile)
	}
	full := output
	if !filepath.IsAbs(full) {
		current, err := q.workDir()
		if err != nil {
			return nil, err
		}
		full = filepath.Join(current, full)
	}
	dir, err := os.OpenRoot(filepath.Dir(full))
	if err != nil {
		return nil, usageErrorf("--output %s: %w", printable(output), err)
	}
	return openPlace(dir, filepath.Base(full), output)
}

func openPlace(root *os.Root, name, shown string) (*exportPlace, error) {
	defer root.Close()
	dir, err := durable.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", shown, err)
	}
	return &exportPlace{dir, name, shown}, nil
}

func (p *exportPlace) close() { _ = p.dir.Close() }

// replace puts what write gives in the place of the file, or leaves all as it was.
func (p *exportPlace) replace(write func(io.Writer) error) error {
	if err := p.replaceable(); err != nil {
		return err
	}
	temp := ".orchestra-" + rand.Text() + ".tmp"
	file, err := p.dir.Create(temp, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.shown, err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = p.dir.Replace(temp, p.dir, p.name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; it is as it was before", p.shown, errors.Join(err, p.dir.Remove(temp)))
	}
	return p.dir.Sync()
}

// replaceable refuses links and other things that are no files, and what another tool wrote.
func (p *exportPlace) replaceable() error {
	named, err := p.dir.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("write %s: %w", p.shown, err)
	case !named.Mode.IsRegular():
		return fmt.Errorf("write %s: it is not a regular file; remove it, or give --output", p.shown)
	}
	file, err := p.dir.Open(p.name)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.shown, err)
	}
	defer file.Close()
	line, err := firstForeign(file)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.shown, err)
	}
	if line > 0 {
		return fmt.Errorf("write %s: its line %d was not written by orchestra-mcp and would be lost; move the file away, or give --output", p.shown, line)
	}
	return nil
}

// maxExported bounds a line of an earlier export: the ledger writes none that is longer.
const maxExported = 32 << 20

// firstForeign is the first line that no export of ours wrote; 0 if there is none.
func firstForeign(in io.Reader) (int, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 64<<10), maxExported)
	n := 0
	for scanner.Scan() {
		n++
		if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 && !isExported(line) {
			return n, nil
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return n + 1, nil
	}
	return 0, scanner.Err()
}

func isExported(line []byte) bool {
	var record struct {
		Tool struct {
			Name string `json:"name"`
		} `json:"tool"`
	}
	return json.Unmarshal(line, &record) == nil && record.Tool.Name == "orchestra-mcp"
}
