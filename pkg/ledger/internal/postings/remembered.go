package postings

import "sync"

const (
	maxRemembered     = 64 // keys of a run
	maxRememberedRows = 64 // of a key: what many lines have is found in few runs
)

// remembered has what was found last, so that a question that is asked again reads nothing. Keys that no row has count
// most: they are looked for in every run.
type remembered struct {
	mu   sync.Mutex
	rows map[Key][]uint32
}

func (r *remembered) get(k Key) (rows []uint32, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, known = r.rows[k]
	return rows, known
}

func (r *remembered) put(k Key, rows []uint32) {
	if len(rows) > maxRememberedRows {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil || len(r.rows) >= maxRemembered {
		r.rows = map[Key][]uint32{}
	}
	r.rows[k] = rows
}
