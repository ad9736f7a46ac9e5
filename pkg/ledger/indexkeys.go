package ledger

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/postings"
)

// What a key is of.
const (
	ofID      = 'r'
	ofIntent  = 'i'
	ofPath    = 'p'
	ofDir     = 'd' // a path up to one of its slashes
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

func keyOf[T ~string | ~[]byte](of byte, text T) postings.Key {
	h := hashStart(of)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return finish(h)
}

func keyOfLine(id digest) postings.Key { return postings.KeyOf(binary.LittleEndian.Uint64(id[:])) }

// lineKeys is what the index says of one line. It may have keys too many, never too few.
type lineKeys struct {
	at    int64 // Unix milliseconds
	kinds uint32
	class uint32
	talk  uint32
	keys  []postings.Key
}

// The bits of a row's marks.
const (
	classShift = 12 // above the kinds
	talkShift  = 16 // above the classes
)

// marks are 0 only where kinds and class are: of an unreadable line.
func (k *lineKeys) marks() uint32 { return k.talk<<talkShift | k.class<<classShift | k.kinds }

// addPath adds the keys of a path and of the directories above it.
func addPath[T ~string | ~[]byte](k *lineKeys, text T) {
	path, dir := hashStart(ofPath), hashStart(ofDir)
	for i := range len(text) {
		c := uint64(text[i])
		path, dir = (path^c)*fnvPrime, (dir^c)*fnvPrime
		if c == '/' && len(k.keys) <= maxKeys {
			k.keys = append(k.keys, finish(dir))
		}
	}
	k.keys = append(k.keys, finish(path))
}

// kindMark is a bit for each kind, and one for all others.
func kindMark[T ~string | ~[]byte](kind T) uint32 {
	known := Kinds()
	if i := slices.Index(known, Kind(kind)); i >= 0 {
		return 1 << i
	}
	return 1 << len(known)
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

// indexLine gives the keys of a line; ok is false for one that is not to be in the index: a blank one. k is used again
// for each line.
func indexLine(k *lineKeys, line rawLine, id digest) (ok bool) {
	*k = lineKeys{keys: k.keys[:0]}
	blank := !line.tooLong && len(bytes.TrimSpace(line.data)) == 0
	if blank {
		return false
	}
	if line.tooLong || !skim(k, line.data) && !k.parse(line.data) {
		*k = lineKeys{keys: append(k.keys[:0], finish(hashStart(ofAny)))}
		return true
	}
	k.keys = append(k.keys, keyOfLine(id))
	if len(k.keys) > maxKeys {
		k.keys = append(k.keys[:0], keyOfLine(id), finish(hashStart(ofAny)))
	}
	return true
}

// parse takes the keys from the record as every reader sees it.
func (k *lineKeys) parse(line []byte) bool {
	e, err := Parse(line)
	if err != nil {
		return false
	}
	*k = lineKeys{
		at: e.Time.UnixMilli(), kinds: kindMark(e.Kind), class: classMark(e.MutationClass), talk: sessionMark(e.Session),
		keys: append(k.keys[:0], keyOf(ofID, e.ID), keyOf(ofIntent, e.IntentID)),
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

const (
	afterPrev  = `"version":"` + traceVersion + `","id":"`
	beforeTime = `,"timestamp":"`
	timeLength = len("2006-01-02T15:04:05.000Z")
)

// skim takes the keys from a line in the form in which this package writes them, without parsing it: from the members
// of certain names wherever they stand, which are those that count and perhaps some more. It is false for anything
// that it cannot be sure of: whitespace between tokens, escapes where they matter, values of other types.
func skim(k *lineKeys, line []byte) bool {
	at := bytes.Index(line, []byte("],"))
	if at < 0 || !bytes.HasPrefix(line, []byte(prevKey)) || line[len(line)-1] != '}' {
		return false
	}
	s := skimmer{line: line, at: at + len("],")}
	id, ok := s.fixed(afterPrev)
	if !ok {
		return false
	}
	stamp, ok := s.fixed(beforeTime)
	if !ok {
		return false
	}
	if k.at, ok = milliseconds(stamp); !ok {
		return false
	}
	k.keys = append(k.keys, keyOf(ofID, id))
	k.class = classMark("")
	if !s.members(k) {
		return false
	}
	if k.kinds == 0 {
		k.kinds = kindMark("")
	}
	return true
}

// skimmer goes from string to string.
type skimmer struct {
	line    []byte
	at      int
	talking bool // a session was named
}

// fixed takes a text that must stand here, which ends in a string's first quote, and returns that string.
func (s *skimmer) fixed(text string) ([]byte, bool) {
	if !bytes.HasPrefix(s.line[s.at:], []byte(text)) {
		return nil, false
	}
	s.at += len(text) - 1
	value, escaped := s.text()
	return value, value != nil && !escaped
}

// text takes the string that begins at the next byte, which is a quote. It is nil if the string does not end.
func (s *skimmer) text() (value []byte, escaped bool) {
	begin := s.at + 1
	for from := begin; ; {
		n := bytes.IndexByte(s.line[from:], '"')
		if n < 0 {
			return nil, false
		}
		end := from + n
		slashes := 0
		for end-slashes > begin && s.line[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			from = end + 1
			continue
		}
		s.at = end + 1
		value = s.line[begin:end]
		return value, bytes.IndexByte(value, '\\') >= 0
	}
}

func (s *skimmer) members(k *lineKeys) bool {
	for {
		n := bytes.IndexByte(s.line[s.at:], '"')
		if n < 0 {
			return true
		}
		s.at += n
		name, escaped := s.text()
		if name == nil || s.at >= len(s.line) {
			return false
		}
		switch s.line[s.at] {
		case ',', '}', ']':
			continue // a value
		case ':':
		default:
			return false
		}
		if escaped {
			return false
		}
		s.at++
		if !s.member(k, name) {
			return false
		}
	}
}

// member takes the value of a member that counts.
func (s *skimmer) member(k *lineKeys, name []byte) bool {
	switch string(name) {
	case "paths":
		return s.paths(k)
	case "path", "from", "intent_id", "kind", "mutation_class", "session":
	default:
		return true
	}
	if s.at >= len(s.line) || s.line[s.at] != '"' {
		return false
	}
	value, escaped := s.text()
	if value == nil || escaped {
		return false
	}
	switch string(name) {
	case "path", "from":
		addPath(k, value)
	case "intent_id":
		k.keys = append(k.keys, keyOf(ofIntent, value))
	case "kind":
		k.kinds |= kindMark(value)
	case "mutation_class":
		k.class |= classMark(value)
	case "session":
		talk := sessionMark(value)
		if s.talking && talk != k.talk {
			return false
		}
		k.talk, s.talking = talk, true
	}
	return true
}

func (s *skimmer) paths(k *lineKeys) bool {
	for first := true; ; first = false {
		if s.at >= len(s.line) {
			return false
		}
		switch c := s.line[s.at]; {
		case first && c == '[', !first && c == ',':
			s.at++
		case !first && c == ']':
			return true
		default:
			return false
		}
		if s.at >= len(s.line) || s.line[s.at] != '"' {
			return false
		}
		value, escaped := s.text()
		if value == nil || escaped {
			return false
		}
		addPath(k, value)
	}
}

// milliseconds reads a timestamp in the one form in which they are written.
func milliseconds(text []byte) (int64, bool) {
	const form = "0000-00-00T00:00:00.000Z"
	if len(text) != len(form) {
		return 0, false
	}
	var n [7]int
	field := 0
	for i, c := range text {
		switch {
		case form[i] == '0' && c >= '0' && c <= '9':
			n[field] = 10*n[field] + int(c-'0')
		case form[i] != '0' && form[i] == c:
			field++
		default:
			return 0, false
		}
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC)
	if int(t.Month()) != n[1] || t.Day() != n[2] || t.Hour() != n[3] || t.Minute() != n[4] || t.Second() != n[5] {
		return 0, false
	}
	return t.UnixMilli(), true
}

// wanted is a filter in terms of the index.
type wanted struct {
	groups       [][]postings.Key // of each group, a line has one of the keys
	kinds, class uint32           // a line has one of the bits; 0 is any
	talk         uint32
	since, until int64
}

// wantedBy is false where the index is of no use: the filter takes every line.
func wantedBy(f Filter, paths []string) (w wanted, selective bool) {
	w.since, w.until = minTime, maxTime
	if f.ID != "" {
		group := []postings.Key{keyOf(ofID, f.ID)}
		if hash, err := ParseHash(f.ID); err == nil {
			group = append(group, keyOfLine(hash))
		}
		w.groups = append(w.groups, group)
	}
	if f.IntentID != "" {
		w.groups = append(w.groups, []postings.Key{keyOf(ofIntent, f.IntentID)})
	}
	if f.Path != "" {
		w.groups = append(w.groups, pathKeys(f.Path))
	}
	if len(paths) > 0 {
		var group []postings.Key
		for _, p := range paths {
			group = append(group, pathKeys(p)...)
		}
		w.groups = append(w.groups, group)
	}
	for _, kind := range f.Kinds {
		w.kinds |= kindMark(kind)
	}
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
func (w *wanted) passes(row postings.Row) bool {
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
