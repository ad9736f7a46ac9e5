package ledger

import (
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"time"
)

// clockSlack is by how much the times of a file system may be behind the system's clock.
const clockSlack = time.Minute

// notCarried are the requests of a share that was written before whose lines did not come along into the file that has
// taken the other one's place, nor into an archive. What cannot be read counts as not there: a record that stands twice
// is better than one that is lost.
func (l *Ledger) notCarried(s *share) []*request {
	wanted := map[record.Hash]bool{}
	for _, r := range s.requests {
		for _, id := range r.ids {
			wanted[id] = true
		}
	}
	_ = segment.TakeOut(s.segment.File, s.segment.End, wanted)
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
func (l *Ledger) takeOutArchived(begun time.Time, wanted map[record.Hash]bool) {
	at, err := l.here()
	if err != nil {
		return
	}
	names, err := segment.ArchiveNames(at.root)
	if err != nil {
		return
	}
	places, _ := segment.Look(at.root, names)
	for _, place := range places {
		if place.Info.ModTime().Before(begun.Add(-clockSlack)) {
			continue
		}
		file, size, err := place.Open(at.root)
		if err != nil {
			continue
		}
		_ = segment.TakeOut(file, size, wanted)
		file.Close()
		if len(wanted) == 0 {
			return
		}
	}
}
