package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
)

// LineMark recognises one line without its text: the first five bytes of the SHA-256 of the line without white space, then
// seven bits of the SHA-256 of the line as it is, without its terminator, and a bit that says that the line had a twin. So a
// line is known again wherever it stands and however it is indented, and mostly (127 of 128 times) it is known whether its
// white space is the same. A mark hides nothing from who can guess the line.
type LineMark [6]byte

// MarkOf gives the mark of a line that has no twin.
func MarkOf(line string) (m LineMark) {
	whole := sha256.Sum256([]byte(line))
	bare := whole
	if squeezed := Squeeze(line); squeezed != line {
		bare = sha256.Sum256([]byte(squeezed))
	}
	copy(m[:5], bare[:])
	m[5] = whole[0] &^ twin
	return m
}

// twin is the bit of the last byte for a line that stood in the file more than once, but for its indentation.
const twin = 1

// Twin reports whether the line stood in the file more than once when it was written. What is left of it later can then be
// the other one.
func (m LineMark) Twin() bool { return m[5]&twin != 0 }

// Line is the mark without what it says of a twin.
func (m LineMark) Line() LineMark {
	m[5] &^= twin
	return m
}

// Bare is what lines have in common that differ in white space alone.
func (m LineMark) Bare() [5]byte { return [5]byte(m[:5]) }

// Squeeze drops the white space of a line.
func Squeeze(line string) string {
	if strings.IndexFunc(line, unicode.IsSpace) < 0 {
		return line
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, line)
}

// LineMarks are those of the lines that a change's hunks added, in their order: eight characters each, base64url.
type LineMarks []LineMark

// MarksOf marks the lines that hunks added to become lines.
func MarksOf(lines []string, hunks [][4]int) LineMarks {
	marks := make(LineMarks, 0, added(hunks))
	stands := make(map[string]int, cap(marks))
	for _, h := range hunks {
		for _, line := range lines[h[2]-min(h[3], 1):][:h[3]] {
			marks = append(marks, MarkOf(line))
			stands[strings.TrimSpace(line)] = 0
		}
	}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if n, marked := stands[line]; marked {
			stands[line] = n + 1
		}
	}
	i := 0
	for _, h := range hunks {
		for _, line := range lines[h[2]-min(h[3], 1):][:h[3]] {
			if stands[strings.TrimSpace(line)] > 1 {
				marks[i][5] |= twin
			}
			i++
		}
	}
	return marks
}

// MarshalText implements encoding.TextMarshaler.
func (m LineMarks) MarshalText() ([]byte, error) {
	plain := make([]byte, 0, len(m)*len(LineMark{}))
	for _, mark := range m {
		plain = append(plain, mark[:]...)
	}
	return base64.RawURLEncoding.AppendEncode(nil, plain), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *LineMarks) UnmarshalText(text []byte) error {
	plain, err := base64.RawURLEncoding.Strict().AppendDecode(nil, text)
	if err != nil || len(plain)%len(LineMark{}) != 0 {
		return fmt.Errorf("%w: %d characters are no marks of lines", ErrMalformed, len(text))
	}
	*m = make(LineMarks, len(plain)/len(LineMark{}))
	for i := range *m {
		copy((*m)[i][:], plain[i*len(LineMark{}):])
	}
	return nil
}

// added is how many lines hunks added.
func added(hunks [][4]int) (n int) {
	for _, h := range hunks {
		n += h[3]
	}
	return n
}
