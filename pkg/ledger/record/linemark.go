package record

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
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
	var b strings.Builder
	for field := range strings.FieldsSeq(line) {
		if b.Len() == 0 {
			if len(field) == len(line) {
				return line
			}
			b.Grow(len(line))
		}
		b.WriteString(field)
	}
	return b.String()
}

// LineMarks are those of the lines that a change's hunks added, in their order: eight characters each, base64url.
type LineMarks []LineMark

// Anchor is a line near one of the hunks that stood in the file once, where of the hunk's own lines none does.
type Anchor struct {
	Line int      `json:"line"` // 1-based, after the change
	Mark LineMark `json:"mark"`
}

// Mark sets the marks and the anchors of a change: of the lines that its hunks added to become lines, the whole file.
func (c *Change) Mark(lines []string) {
	stands := make(map[string]int, len(lines))
	for _, line := range lines {
		stands[strings.TrimSpace(line)]++
	}
	once := func(line string) bool { return stands[strings.TrimSpace(line)] == 1 }
	tells := func(line string) bool { return once(line) && IsStrong(line) }
	c.Marks, c.Anchors = make(LineMarks, 0, added(c.Hunks)), nil
	for _, h := range c.Hunks {
		begin, anchored := h[2]-min(h[3], 1), h[3] == 0
		for _, line := range lines[begin:][:h[3]] {
			m := MarkOf(line)
			if !once(line) {
				m[5] |= twin
			}
			c.Marks = append(c.Marks, m)
			anchored = anchored || tells(line)
		}
		if !anchored {
			c.anchor(lines, begin, -1, tells)
			c.anchor(lines, begin+h[3]-1, 1, tells)
		}
	}
}

// maxAnchor is how many lines from a hunk an anchor is looked for.
const maxAnchor = 32

// anchor adds the line nearest to one that tells where it stands, in a direction.
func (c *Change) anchor(lines []string, from, direction int, tells func(string) bool) {
	for n := 1; n <= maxAnchor; n++ {
		i := from + n*direction
		if i < 0 || i >= len(lines) {
			return
		}
		if tells(lines[i]) {
			// Hunks ascend: one that stands there already is of the hunk before.
			if a := (Anchor{i + 1, MarkOf(lines[i])}); !slices.Contains(c.Anchors[max(0, len(c.Anchors)-2):], a) {
				c.Anchors = append(c.Anchors, a)
			}
			return
		}
	}
}

// StrongWeight is the weight from which a line is no longer one of many alike.
const StrongWeight = 8

// IsStrong reports whether a line has that weight.
func IsStrong(line string) bool { return Weight(line) >= StrongWeight }

// Weight counts the letters and digits of a line, as git does to tell a line worth following from a brace.
func Weight(line string) (n int) {
	for _, r := range line {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// MarshalText implements encoding.TextMarshaler.
func (m LineMarks) MarshalText() ([]byte, error) {
	plain := make([]byte, 0, len(m)*len(LineMark{}))
	for _, mark := range m {
		plain = append(plain, mark[:]...)
	}
	return base64.RawURLEncoding.AppendEncode(nil, plain), nil
}

// MarshalText implements encoding.TextMarshaler.
func (m LineMark) MarshalText() ([]byte, error) { return LineMarks{m}.MarshalText() }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *LineMark) UnmarshalText(text []byte) error {
	var one LineMarks
	if err := one.UnmarshalText(text); err != nil {
		return err
	}
	if len(one) != 1 {
		return fmt.Errorf("%w: %d characters are no mark of a line", ErrMalformed, len(text))
	}
	*m = one[0]
	return nil
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
