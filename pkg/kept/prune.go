package kept

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	// firstRecount is after how many contents a process looks for the first time at what others have written.
	firstRecount = 64
	// laterRecount is after how many it looks again.
	laterRecount = 4096
	// maxPacks bounds the number of packs: each counts as this part of the size at least.
	maxPacks = 64
	// abandoned is the age at which a file that was never finished belongs to a process that died.
	abandoned = time.Hour
)

// stock is what a store believes to be on disk.
type stock struct {
	bytes   int64
	recount int
}

func (s *stock) add(size int64) {
	s.bytes += size
	s.recount--
}

func (s *stock) due(limit int64) bool { return s.recount <= 0 || s.bytes > limit }

// stored is a pack as it stands.
type stored struct {
	name  string
	bytes int64
	last  time.Time // when its newest content was put
	table []slot    // empty in one that somebody begins
}

// prune removes what is too old, and then the oldest packs until a tenth of the size is free again.
func (s *Store) prune(dir *os.Root) error {
	packs, err := list(dir)
	if err != nil {
		return err
	}
	now, o := s.options.Clock(), s.options
	left := stock{recount: laterRecount}
	for i := range packs {
		packs[i].bytes = max(packs[i].bytes, o.Size/maxPacks)
		left.bytes += packs[i].bytes
	}
	room := o.Size
	if left.bytes > room {
		room -= o.Size / 10
	}
	err = removeLeft(dir, func(info fs.FileInfo) bool { return now.Sub(info.ModTime()) > abandoned })
	for _, p := range packs {
		if len(p.table) == 0 || left.bytes <= room && (o.Age <= 0 || now.Sub(p.last) <= o.Age) {
			continue
		}
		if failed := remove(dir, p.name); failed != nil {
			err = cmp.Or(err, failed)
			continue
		}
		left.bytes -= p.bytes
	}
	s.stock = left
	return err
}

// list gives the packs, the oldest first.
func list(dir *os.Root) ([]stored, error) {
	names, err := packsIn(dir)
	if err != nil {
		return nil, err
	}
	var packs []stored
	for _, name := range names {
		file, err := openPack(dir, name, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		if file == nil {
			continue
		}
		table, err := readTable(file, 0)
		file.Close()
		if err != nil {
			return nil, err
		}
		p := stored{name: name, bytes: int64(len(table))*slotSize + endOf(table) - tableSize, table: table}
		for _, one := range table {
			if one.put.After(p.last) {
				p.last = one.put
			}
		}
		packs = append(packs, p)
	}
	slices.SortFunc(packs, func(a, b stored) int { return a.last.Compare(b.last) })
	return packs, nil
}

// removeLeft removes what earlier versions of this program kept, a file for each content, and such of the files that were
// never finished as are old.
func removeLeft(dir *os.Root, old func(fs.FileInfo) bool) error {
	entries, err := durable.ReadDirectoryIn(dir, ".")
	for _, e := range entries {
		left := strings.HasSuffix(e.Name(), ".zst")
		if strings.HasPrefix(e.Name(), newPrefix) {
			info, err := e.Info()
			left = err == nil && old(info)
		}
		if left && e.Type().IsRegular() {
			err = cmp.Or(err, remove(dir, e.Name()))
		}
	}
	return err
}

func remove(dir *os.Root, name string) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
