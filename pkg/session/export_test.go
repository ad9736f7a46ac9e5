package session

import (
	"encoding/json"
	"time"
)

// Bounds and parts that tests look at.
const (
	MaxRanges     = maxRanges
	MaxSeenFiles  = maxSeenFiles
	MaxLoaded     = maxLoaded
	MaxSelections = maxSelections

	PrincipalsHeld = principalsHeld
)

// MakeRoom keeps at most limit of one principal's, by the times at which they were last used.
func MakeRoom(used map[string]int64, principalOf func(string) string, principal string, limit int) {
	makeRoom(used, limit, func(key string, at int64) (int64, bool) { return at, principalOf(key) == principal })
}

// ReencodeSelection and ReencodeViews are encode(parse(data)).
func ReencodeSelection(data []byte) ([]byte, error) {
	sel, err := parseSelection(data)
	if err != nil {
		return nil, err
	}
	data, err = json.Marshal(sel)
	return append(data, '\n'), err
}

func ReencodeViews(data []byte) ([]byte, error) {
	files, err := parseViews(data)
	if err != nil {
		return nil, err
	}
	return encodeViews(files)
}

func AddLines(lines [][2]int, from, to int) [][2]int { return addLines(lines, from, to) }

// Flush saves what was seen, as the background does.
func (s *Store) Flush() error { return s.background.flush() }

// Tidy drops what has expired, as the background does.
func (s *Store) Tidy() { s.tidy() }

// Loaded is how many sessions are in memory.
func (s *Store) Loaded() int { return len(s.all()) }

// FileOf is the name of a handle's selection file; ViewsFileOf of what it has seen.
func FileOf(handle string) string {
	key, _ := digestOf(handle)
	return key.selectionFile()
}

func ViewsFileOf(handle string) string {
	key, _ := digestOf(handle)
	return key.viewsFile()
}

const RenewEvery = renewEvery + time.Second
