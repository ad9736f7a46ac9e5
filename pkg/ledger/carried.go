package ledger

import (
	"errors"
	"io"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// clockSlack is by how much the times of a file system may be behind the system's clock.
const clockSlack = time.Minute

// notCarried are the requests of a share that was written before whose lines did not come along into the file that has
// taken the other one's place, nor into an archive. What cannot be read counts as not there: a record that stands twice
// is better than one that is lost.
func (l *Ledger) notCarried(s *share) []*request {
	wanted := map[digest]bool{}
	for _, r := range s.requests {
		for _, id := range r.ids {
			wanted[id] = true
		}
	}
	_ = takeOut(s.segment.file, s.segment.end, wanted)
	if len(wanted) > 0 {
		l.takeOutArchived(s.begun, wanted)
	}
	var missing []*request
	for _, r := range s.requests {
		for _, id := range r.ids {
			if wanted[id] {
				missing = append(missing, r)
				break
			}
		}
		if len(r.ids) == 0 {
			missing = append(missing, r)
		}
	}
	return missing
}

// takeOutArchived looks into the archives that are younger than the lines.
func (l *Ledger) takeOutArchived(begun time.Time, wanted map[digest]bool) {
	at, err := l.here()
	if err != nil {
		return
	}
	names, err := archiveNames(at.root)
	if err != nil {
		return
	}
	places, _ := look(at.root, names)
	for _, place := range places {
		if place.info.ModTime().Before(begun.Add(-clockSlack)) {
			continue
		}
		file, size, err := place.open(at.root)
		if err != nil {
			continue
		}
		_ = takeOut(file, size, wanted)
		file.Close()
		if len(wanted) == 0 {
			return
		}
	}
}

// takeOut removes from wanted the lines that a file has.
func takeOut(file io.ReaderAt, size int64, wanted map[digest]bool) error {
	err := readLines(file, size, true, func(line rawLine) error {
		if !line.tooLong && !line.torn {
			delete(wanted, identity(line.data))
		}
		if len(wanted) == 0 {
			return errEnough
		}
		return nil
	}, func(*framed.Damage) {})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
