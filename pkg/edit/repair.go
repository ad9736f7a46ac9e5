package edit

import (
	"slices"
	"strings"
)

// repair gives another reading of a change; ok is false where it does not apply.
type repair struct {
	note string
	read func(change) (repaired change, ok bool)
}

func repairs() []repair {
	return []repair{
		{"a byte order mark in front of the text was left out", withoutMark},
		{"blank lines around the searched text were left out", withoutOuterBlanks},
		{"line numbers in front of the lines were removed", withoutNumbers},
		{"HTML entities were decoded", withoutEntities},
		{"code fences around the text were removed", withoutFences},
	}
}

// variants lists the readings of ch in the order in which they are tried: as it
// is written, each repair alone, then all that apply together.
func variants(ch change) []change {
	list := []change{ch}
	all := ch
	for _, r := range repairs() {
		for i, from := range []change{ch, all} {
			repaired, ok := r.read(from)
			if !ok {
				continue
			}
			repaired.repairs = append(slices.Clone(from.repairs), r.note)
			if i == 0 {
				list = append(list, repaired)
			} else {
				all = repaired
			}
		}
	}
	if len(all.repairs) > 1 {
		list = append(list, all)
	}
	return list
}

// byteOrderMark begins some files, and is no part of their text.
const byteOrderMark = "\ufeff"

func withoutMark(ch change) (change, bool) {
	if len(ch.old) == 0 || !strings.HasPrefix(ch.old[0], byteOrderMark) {
		return ch, false
	}
	unmark := func(lines []string) []string {
		lines = slices.Clone(lines)
		if len(lines) > 0 {
			lines[0] = strings.TrimPrefix(lines[0], byteOrderMark)
		}
		return lines
	}
	ch.old, ch.new = unmark(ch.old), unmark(ch.new)
	return ch, true
}

// withoutOuterBlanks drops blank lines at both ends of the search, and as many
// from the replacement where it has them too.
func withoutOuterBlanks(ch change) (change, bool) {
	before := len(ch.old)
	for len(ch.old) > 1 && isBlank(ch.old[0]) {
		ch.old = ch.old[1:]
		if len(ch.new) > 0 && isBlank(ch.new[0]) {
			ch.new = ch.new[1:]
		}
	}
	for len(ch.old) > 1 && isBlank(ch.old[len(ch.old)-1]) {
		ch.old = ch.old[:len(ch.old)-1]
		if len(ch.new) > 0 && isBlank(ch.new[len(ch.new)-1]) {
			ch.new = ch.new[:len(ch.new)-1]
		}
	}
	return ch, len(ch.old) < before
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&",
	"&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&#x27;", "'", "&apos;", "'")

func withoutEntities(ch change) (change, bool) {
	decoded := decodeAll(ch.old)
	if slices.Equal(decoded, ch.old) {
		return ch, false
	}
	ch.old, ch.new = decoded, decodeAll(ch.new)
	return ch, true
}

func decodeAll(lines []string) []string { return each(lines, entities.Replace) }

func withoutFences(ch change) (change, bool) {
	old, ok := unfence(ch.old)
	if !ok || len(old) == 0 {
		return ch, false
	}
	ch.old = old
	if replacement, fenced := unfence(ch.new); fenced {
		ch.new = replacement
	}
	return ch, true
}

// unfence takes off a Markdown code fence that encloses all lines.
func unfence(lines []string) ([]string, bool) {
	if len(lines) < 2 {
		return lines, false
	}
	open := strings.TrimSpace(lines[0])
	mark := open[:len(open)-len(strings.TrimLeft(open, "`"))]
	if len(mark) < 3 || strings.TrimSpace(lines[len(lines)-1]) != mark {
		return lines, false
	}
	return lines[1 : len(lines)-1], true
}
