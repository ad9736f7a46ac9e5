package kept

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// firstRecount is after how many contents a process looks for the first time at what others have written.
	firstRecount = 64
	// laterRecount is after how many it looks again.
	laterRecount = 4096
	// block is what a small file takes on most disks, in bytes. Counting in it bounds the number of contents as well.
	block = 4 << 10
	// abandoned is the age at which a file that was never finished belongs to a process that died.
	abandoned = time.Hour
)

// stock is what a store believes to be on disk.
type stock struct {
	bytes   int64
	recount int
}

func (s *stock) add(size int64) {
	s.bytes += onDisk(size)
	s.recount--
}

func (s *stock) due(limit int64) bool { return s.recount <= 0 || s.bytes > limit }

func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// stored is one file of the store.
type stored struct {
	name string
	size int64
	time time.Time
}

// prune removes what is too old, and then the oldest until a tenth of the size is free again. It touches nothing that
// is not named like a file of the store.
func (s *Store) prune(dir *os.Root) error {
	files, err := list(dir)
	if err != nil {
		return err
	}
	now, o := s.options.Clock(), s.options
	left := stock{recount: laterRecount}
	for _, f := range files {
		left.bytes += f.size
	}
	room := o.Size
	if left.bytes > room {
		room -= o.Size / 10
	}
	var errs []error
	for _, f := range files {
		age := now.Sub(f.time)
		unfinished := strings.HasPrefix(f.name, newPrefix)
		old := unfinished && age > abandoned || o.Age > 0 && age > o.Age
		if !old && (left.bytes <= room || unfinished) {
			continue
		}
		if err := dir.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		delete(s.known, strings.TrimSuffix(f.name, suffix))
		left.bytes -= f.size
	}
	s.stock = left
	return errors.Join(errs...)
}

// list gives the files of the store, the oldest first.
func list(dir *os.Root) ([]stored, error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	var files []stored
	for _, e := range entries {
		id, isImage := strings.CutSuffix(e.Name(), suffix)
		if !(isImage && validID(id)) && !strings.HasPrefix(e.Name(), newPrefix) {
			continue
		}
		// What is gone by now was removed by another process.
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, stored{e.Name(), onDisk(info.Size()), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b stored) int { return a.time.Compare(b.time) })
	return files, nil
}
