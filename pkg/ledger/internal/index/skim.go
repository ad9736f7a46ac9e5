package index

import (
	"bytes"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	afterPrev  = `"version":"` + record.TraceVersion + `","id":"`
	beforeTime = `,"timestamp":"`
)

// skim takes the keys from a line in the form in which this package writes them, without parsing it: from the members
// of certain names wherever they stand, which are those that count and perhaps some more. It is false for anything
// that it cannot be sure of: whitespace between tokens, escapes where they matter, values of other types.
func skim(k *LineKeys, line []byte) bool {
	at := bytes.Index(line, []byte("],"))
	if at < 0 || !bytes.HasPrefix(line, []byte(record.PrevKey)) || line[len(line)-1] != '}' {
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
	if k.At, ok = milliseconds(stamp); !ok {
		return false
	}
	k.Keys = append(k.Keys, keyOf(ofID, id))
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

func (s *skimmer) members(k *LineKeys) bool {
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
func (s *skimmer) member(k *LineKeys, name []byte) bool {
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
		addIntent(k, value)
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

func (s *skimmer) paths(k *LineKeys) bool {
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
