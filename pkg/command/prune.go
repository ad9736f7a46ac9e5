package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

type stored struct {
	id   string
	size int64
	time time.Time
}

// prune removes the oldest outputs until the rest is within the limits. It touches nothing that is not named like an
// output, and nothing that this process is writing.
func (a *Artifacts) prune() error {
	dir, err := a.directory(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	outputs, err := a.list(dir)
	if err != nil {
		return fmt.Errorf("prune command output: %w", err)
	}
	var total int64
	for i, output := range outputs {
		total += output.size
		if total <= a.limit && i < maxArtifacts {
			continue
		}
		if err := dir.Remove(output.id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune command output: %w", err)
		}
	}
	return nil
}

// list returns the finished outputs, the newest first.
func (a *Artifacts) list(dir *os.Root) ([]stored, error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	var outputs []stored
	for _, entry := range entries {
		if !validID(entry.Name()) || a.isOpen(entry.Name()) {
			continue
		}
		// Another process may prune at the same time.
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			outputs = append(outputs, stored{entry.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(outputs, func(x, y stored) int { return y.time.Compare(x.time) })
	return outputs, nil
}

func (a *Artifacts) isOpen(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[id]
}
