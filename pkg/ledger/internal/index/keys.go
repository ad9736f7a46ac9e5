package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// What a key is of.
const (
	ofID      = 'r'
	ofIntent  = 'i'
	ofChange  = 'c' // an intent, where the kind changes files: an intent has many records that only say it was selected
	ofPath    = 'p'
	ofDir     = 'd' // a path up to one of its slashes
	ofName    = 'n' // what stands behind a path's last slash
	ofSession = 's'
	ofAny     = 'a' // lines that every query has to look at: unreadable ones, and such with too many keys
)

// maxKeys bounds what one line adds to the index.
const maxKeys = 1 << 16

const fnvPrime = 1099511628211

func hashStart(of byte) uint64 { return (14695981039346656037 ^ uint64(of)) * fnvPrime }

// finish spreads the bits of an FNV-1a hash, of which the upper ones count.
func finish(h uint64) postings.Key {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return postings.KeyOf(h ^ h>>33)
}

func keyOf[T ~string | ~[]byte](of byte, text T) postings.Key { return finish(hashOf(of, text)) }

func hashOf[T ~string | ~[]byte](of byte, text T) uint64 {
	h := hashStart(of)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

func KeyOfLine(id record.Hash) postings.Key { return postings.KeyOf(binary.LittleEndian.Uint64(id[:])) }

// LineKeys is what the index says of one line. It may have keys too many, never too few.
type LineKeys struct {
	At    int64 // Unix milliseconds
	kinds uint32
	class uint32
	talk  uint32
	Keys  []postings.Key
	// changing is what the line's intents hash to under ofChange. It is for keys only where the kind is known.
	changing []uint64
}

// The bits of a row's marks.
const (
	classShift = 12 // above the kinds
	talkShift  = 16 // above the classes
)

// Marks are 0 only where kinds and class are: of an unreadable line.
func (k *LineKeys) Marks() uint32 { return k.talk<<talkShift | k.class<<classShift | k.kinds }

// addPath adds the keys of a path, of the directories above it, and of its last name.
func addPath[T ~string | ~[]byte](k *LineKeys, text T) {
	path, dir, name := hashStart(ofPath), hashStart(ofDir), hashStart(ofName)
	for i := range len(text) {
		c := uint64(text[i])
		path, dir, name = (path^c)*fnvPrime, (dir^c)*fnvPrime, (name^c)*fnvPrime
		if c == '/' {
			name = hashStart(ofName)
		}
		if c == '/' && len(k.Keys) <= maxKeys {
			k.Keys = append(k.Keys, finish(dir))
		}
	}
	k.Keys = append(k.Keys, finish(path), finish(name))
}

func addIntent[T ~string | ~[]byte](k *LineKeys, id T) {
	k.Keys = append(k.Keys, keyOf(ofIntent, id))
	k.changing = append(k.changing, hashOf(ofChange, id))
}

// kindMark is a bit for each kind, and one for all others.
func kindMark[T ~string | ~[]byte](kind T) uint32 {
	known := record.Kinds()
	if i := slices.Index(known, record.Kind(kind)); i >= 0 {
		return 1 << i
	}
	return 1 << len(known)
}

func kindMarks(kinds []record.Kind) (marks uint32) {
	for _, kind := range kinds {
		marks |= kindMark(kind)
	}
	return marks
}

func classMark[T ~string | ~[]byte](class T) uint32 {
	switch string(class) {
	case "":
		return 1
	case "AST_REFACTOR":
		return 2
	case "INTENT_EVOLUTION":
		return 4
	}
	return 8
}

// sessionMark is 0 for none.
func sessionMark[T ~string | ~[]byte](session T) uint32 {
	if len(session) == 0 {
		return 0
	}
	return uint32(keyOf(ofSession, session)>>48) | 1
}

// IndexLine gives the keys of a line; ok is false for one that is not to be in the index: a blank one. k is used again
// for each line.
func IndexLine(k *LineKeys, line segment.Line, id record.Hash) (ok bool) {
	*k = LineKeys{Keys: k.Keys[:0], changing: k.changing[:0]}
	blank := !line.TooLong && len(bytes.TrimSpace(line.Data)) == 0
	if blank {
		return false
	}
	if line.TooLong || !skim(k, line.Data) && !k.parse(line.Data) {
		*k = LineKeys{Keys: append(k.Keys[:0], finish(hashStart(ofAny)))}
		return true
	}
	if k.kinds&kindMarks(record.ChangeKinds()) != 0 {
		for _, h := range k.changing {
			k.Keys = append(k.Keys, finish(h))
		}
	}
	k.Keys = append(k.Keys, KeyOfLine(id))
	if len(k.Keys) > maxKeys {
		k.Keys = append(k.Keys[:0], KeyOfLine(id), finish(hashStart(ofAny)))
	}
	return true
}

// parse takes the keys from the record as every reader sees it.
func (k *LineKeys) parse(line []byte) bool {
	e, err := record.Parse(line)
	if err != nil {
		return false
	}
	*k = LineKeys{
		At: e.Time.UnixMilli(), kinds: kindMark(e.Kind), class: classMark(e.MutationClass), talk: sessionMark(e.Session),
		Keys: append(k.Keys[:0], keyOf(ofID, e.ID)), changing: k.changing[:0],
	}
	addIntent(k, e.IntentID)
	for _, id := range e.Related {
		addIntent(k, id)
	}
	for _, c := range e.Changes {
		addPath(k, c.Path)
		addPath(k, c.From)
	}
	if e.Decision != nil {
		for _, p := range e.Decision.Paths {
			addPath(k, p)
		}
	}
	for _, p := range e.Files {
		addPath(k, p)
	}
	return true
}

// Wanted is a filter in terms of the index.
type Wanted struct {
	groups       [][]postings.Key // of each group, a line has one of the keys
	kinds, class uint32           // a line has one of the bits; 0 is any
	talk         uint32
	since, until int64
}

// WantedBy is false where the index is of no use: the filter takes every line.
func WantedBy(f record.Filter, paths []string) (w Wanted, selective bool) {
	w.since, w.until = minTime, maxTime
	if f.ID != "" {
		group := []postings.Key{keyOf(ofID, f.ID)}
		if hash, err := record.ParseHash(f.ID); err == nil {
			group = append(group, KeyOfLine(hash))
		}
		w.groups = append(w.groups, group)
	}
	if f.IntentID != "" {
		w.groups = append(w.groups, []postings.Key{keyOf(intentKey(f.Kinds), f.IntentID)})
	}
	if f.Path != "" {
		w.groups = append(w.groups, pathKeys(f.Path))
	}
	if f.Name != "" {
		w.groups = append(w.groups, []postings.Key{keyOf(ofName, f.Name)})
	}
	if len(paths) > 0 {
		var group []postings.Key
		for _, p := range paths {
			group = append(group, pathKeys(p)...)
		}
		w.groups = append(w.groups, group)
	}
	w.kinds = kindMarks(f.Kinds)
	if w.kinds&kindMark("") != 0 {
		w.kinds = 0 // a kind that is not ours: the marks know too little of those
	}
	if f.Class != "" {
		w.class = classMark(f.Class)
	}
	w.talk = sessionMark(f.Session)
	if !f.Since.IsZero() {
		w.since = clampTime(f.Since)
	}
	if !f.Until.IsZero() {
		w.until = clampTime(f.Until)
	}
	return w, len(w.groups) > 0 || w.kinds|w.class != 0 || w.talk != 0 || w.since != minTime || w.until != maxTime
}

// intentKey is what an intent's records of some kinds are found by.
func intentKey(kinds []record.Kind) byte {
	changes := record.ChangeKinds()
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(k record.Kind) bool { return !slices.Contains(changes, k) }) {
		return ofIntent
	}
	return ofChange
}

func pathKeys(path string) []postings.Key {
	if strings.HasSuffix(path, "/") {
		return []postings.Key{keyOf(ofDir, path)}
	}
	return []postings.Key{keyOf(ofPath, path)}
}

const (
	minTime = -1 << 62
	maxTime = 1 << 62
)

// clampTime keeps the order of times that are too far away for milliseconds.
func clampTime(t time.Time) int64 {
	switch y := t.Year(); {
	case y < -9999:
		return minTime
	case y > 9999:
		return maxTime
	}
	return t.UnixMilli()
}

// passes is false for a row that cannot match.
func (w *Wanted) passes(row postings.Row) bool {
	if row.Marks == 0 { // unreadable: to be reported
		return true
	}
	kinds, class, talk := row.Marks&(1<<classShift-1), row.Marks>>classShift&(1<<(talkShift-classShift)-1), row.Marks>>talkShift
	switch {
	case w.kinds != 0 && w.kinds&kinds == 0, w.class != 0 && w.class&class == 0, w.talk != 0 && w.talk != talk,
		row.Time < w.since, row.Time > w.until:
		return false
	}
	return true
}

// candidates gives the numbers of the rows of a run that the filter may take, in order, or all where it has no keys.
func (w *Wanted) candidates(run Covered) (rows []uint32, all bool, err error) {
	for i, group := range w.groups {
		var of []uint32
		for _, k := range group {
			found, err := run.Find(k)
			if err != nil {
				return nil, false, err
			}
			of = merged(of, found)
		}
		if i == 0 {
			rows = of
		} else {
			rows = slices.DeleteFunc(slices.Clone(rows), func(n uint32) bool { _, in := slices.BinarySearch(of, n); return !in })
		}
	}
	if len(w.groups) == 0 {
		return nil, true, nil
	}
	always, err := run.Find(finish(hashStart(ofAny)))
	return merged(rows, always), false, err
}

func merged(a, b []uint32) []uint32 {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Rows gives the number and the row of each line that the filter may take, and where it ends at the latest.
func (w *Wanted) Rows(run Covered, newest bool, yield func(n int, row postings.Row, end int64) error) error {
	numbers, all, err := w.candidates(run)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	count := len(numbers)
	if all {
		count = run.Len()
	}
	var page []postings.Row
	var first int
	get := func(n int) (postings.Row, error) {
		if n < first || n >= first+len(page) {
			if page, first, err = run.Page(n); err != nil {
				return postings.Row{}, fmt.Errorf("%w: %w", ErrStale, err)
			}
		}
		return page[n-first], nil
	}
	for i := range count {
		if newest {
			i = count - 1 - i
		}
		n := i
		if !all {
			n = int(numbers[i])
		}
		row, err := get(n)
		if err != nil {
			return err
		}
		if !w.passes(row) {
			continue
		}
		end := run.To
		if n+1 < run.Len() {
			if n+1 < first+len(page) {
				end = run.From + int64(page[n+1-first].Offset)
			} else if next, _, err := run.Page(n + 1); err == nil {
				end = run.From + int64(next[0].Offset)
			}
		}
		if err := yield(n, row, end); err != nil {
			return err
		}
	}
	return nil
}
