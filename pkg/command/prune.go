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

// recountAfter is how many outputs are finished without looking at the directory, in which other processes write as well.
const recountAfter = 50

// stock is what is believed to be in the directory.
type stock struct {
	bytes   int64
	outputs int
	recount int // outputs left until the directory is looked at; it is at the beginning
}

// finished counts an output and reports whether it is time to prune.
func (a *Artifacts) finished(id string, size int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
	a.writing -= size
	a.stock.bytes += size
	a.stock.outputs++
	a.stock.recount--
	return a.stock.recount < 0 || a.stock.bytes > a.limit || a.stock.outputs > maxArtifacts
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
	left, full := stock{recount: recountAfter}, false
	room := maxArtifacts
	if len(outputs) > maxArtifacts {
		room = maxArtifacts * 9 / 10 // so that not every output from now on prunes
	}
	for _, output := range outputs {
		if full = full || left.outputs == room || left.bytes+output.size > a.limit; !full {
			left.bytes += output.size
			left.outputs++
			continue
		}
		if err := dir.Remove(output.id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune command output: %w", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stock = left
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
