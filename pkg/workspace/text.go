package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// Encoding names how a file's bytes stand for characters.
type Encoding string

// Encodings that Decode knows.
const (
	UTF8        Encoding = "utf-8"
	UTF16LE     Encoding = "utf-16le"
	UTF16BE     Encoding = "utf-16be"
	Latin1      Encoding = "latin-1"      // ISO 8859-1
	Windows1252 Encoding = "windows-1252" // Latin-1 with printable characters at 0x80 to 0x9F
)

// LineEnding says how a file's lines end.
type LineEnding string

// Line endings. NoLineEnding is a file of at most one line without an end.
const (
	NoLineEnding LineEnding = "none"
	LF           LineEnding = "lf"
	CRLF         LineEnding = "crlf"
	CR           LineEnding = "cr"
	MixedLines   LineEnding = "mixed"
)

// Text is a decoded file and what its author chose. The zero value describes a new file: UTF-8, no byte order mark.
type Text struct {
	String   string // line endings as they are in the file, without the byte order mark
	Encoding Encoding
	BOM      bool
	// Broken is how many bytes of a UTF-8 file are not UTF-8. In String a
	// character of a private range stands for each, which Shown makes readable.
	Broken       int
	LineEnding   LineEnding
	FinalNewline bool
}

// Decode detects the encoding of b and decodes it. For every b that it accepts, Encode of the result's String
// is b again. The order: a byte order mark; UTF-8 without NUL; UTF-16 without a mark, if half of its bytes are
// NUL on one side as in Western text; binary if there is a NUL or too many other control characters; UTF-8 with
// broken bytes, if at least as many characters are sound and not ASCII; else Windows-1252 if a byte from 0x80 to
// 0x9F occurs, else Latin-1. It returns ErrBinary for what is not text.
func Decode(b []byte) (Text, error) {
	for _, detect := range []func([]byte) (Text, bool){markedUTF8, markedUTF16, plainUTF8, unmarkedUTF16, brokenUTF8, singleByte} {
		t, ok := detect(b)
		if !ok {
			continue
		}
		if !t.leadsBack(b) {
			continue
		}
		t.LineEnding, t.FinalNewline = lineEndings(t.String)
		return t, nil
	}
	return Text{}, ErrBinary
}

// leadsBack reports whether Encode of the decoded text is b. UTF-8 stands in it as it is, and is not encoded for that.
func (t Text) leadsBack(b []byte) bool {
	if t.Encoding == UTF8 && t.Broken == 0 {
		rest, marked := b, false
		if t.BOM {
			rest, marked = bytes.CutPrefix(b, []byte("\ufeff"))
		}
		return marked == t.BOM && string(rest) == t.String && utf8.Valid(rest)
	}
	again, err := t.Encode(t.String)
	return err == nil && bytes.Equal(again, b)
}

// Encode turns s into bytes as t's file has them: encoding and byte order mark. Line endings are taken as they
// are in s. ErrUnencodable names the first character that the encoding cannot hold.
func (t Text) Encode(s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%w: the text is not valid UTF-8", ErrUnencodable)
	}
	mark := ""
	if t.BOM {
		mark = "\ufeff"
	}
	codec, err := t.Encoding.codec()
	if err != nil {
		return nil, err
	}
	if codec == nil {
		if t.Broken > 0 {
			s = restoreBroken(s)
		}
		return []byte(mark + s), nil
	}
	b, err := codec.NewEncoder().Bytes([]byte(mark + s))
	if err != nil {
		return nil, t.Encoding.firstUnencodable(s, codec)
	}
	return b, nil
}

func (e Encoding) codec() (encoding.Encoding, error) {
	switch e {
	case UTF8, "":
		return nil, nil
	case UTF16LE:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case UTF16BE:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), nil
	case Latin1:
		return charmap.ISO8859_1, nil
	case Windows1252:
		return charmap.Windows1252, nil
	}
	return nil, fmt.Errorf("%w: unknown encoding %q", ErrUnencodable, string(e))
}

func (e Encoding) firstUnencodable(s string, codec encoding.Encoding) error {
	line := 1
	for _, r := range s {
		if _, err := codec.NewEncoder().String(string(r)); err != nil {
			return fmt.Errorf("%w: %s has no %q (%U, line %d); write it another way, or convert the file to UTF-8 first", ErrUnencodable, e, r, r, line)
		}
		if r == '\n' {
			line++
		}
	}
	return errors.Join(ErrUnencodable, fmt.Errorf("as %s", e))
}

func (e Encoding) decode(b []byte) (string, bool) {
	codec, err := e.codec()
	if err != nil || codec == nil {
		return string(b), err == nil && utf8.Valid(b)
	}
	s, err := codec.NewDecoder().Bytes(b)
	return string(s), err == nil
}

func markedUTF8(b []byte) (Text, bool) {
	rest, found := bytes.CutPrefix(b, []byte("\ufeff"))
	if !found || !isText(rest) {
		return Text{}, false
	}
	return Text{String: string(rest), Encoding: UTF8, BOM: true}, true
}

func markedUTF16(b []byte) (Text, bool) {
	for _, mark := range []struct {
		bytes    string
		encoding Encoding
	}{{"\xff\xfe", UTF16LE}, {"\xfe\xff", UTF16BE}} {
		if rest, found := bytes.CutPrefix(b, []byte(mark.bytes)); found {
			s, ok := mark.encoding.decode(rest)
			return Text{String: s, Encoding: mark.encoding, BOM: true}, ok && !strings.ContainsRune(s, 0)
		}
	}
	return Text{}, false
}

func plainUTF8(b []byte) (Text, bool) {
	if !isText(b) {
		return Text{}, false
	}
	return Text{String: string(b), Encoding: UTF8}, true
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// unmarkedUTF16 is conservative: taking a binary file for text would let an edit destroy it.
func unmarkedUTF16(b []byte) (Text, bool) {
	if len(b) < 4 || len(b)%2 != 0 || bytes.IndexByte(b, 0) < 0 {
		return Text{}, false
	}
	var zero [2]int
	for i, c := range b {
		if c == 0 {
			zero[i%2]++
		}
	}
	guess, lonely := UTF16LE, zero[0]
	if zero[0] > zero[1] {
		guess, lonely = UTF16BE, zero[1]
	}
	if lonely > 0 || max(zero[0], zero[1])*2 < len(b)/2 {
		return Text{}, false
	}
	s, ok := guess.decode(b)
	return Text{String: s, Encoding: guess}, ok && controls([]byte(s)) == 0
}

func singleByte(b []byte) (Text, bool) {
	if !mayBeText(b) {
		return Text{}, false
	}
	guess := Latin1
	for _, c := range b {
		if c >= 0x80 && c <= 0x9f {
			guess = Windows1252
		}
	}
	s, ok := guess.decode(b)
	return Text{String: s, Encoding: guess}, ok
}

func mayBeText(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && controls(b)*20 <= len(b) }

// controls counts control characters that texts do not have.
func controls(b []byte) (n int) {
	for _, c := range b {
		if c < 0x20 && !strings.ContainsRune("\t\n\r\f\b\x1b", rune(c)) || c == 0x7f {
			n++
		}
	}
	return n
}

func lineEndings(s string) (LineEnding, bool) {
	crlf := strings.Count(s, "\r\n")
	lf := strings.Count(s, "\n") - crlf
	cr := strings.Count(s, "\r") - crlf
	final := strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r")
	switch {
	case crlf+lf+cr == 0:
		return NoLineEnding, false
	case crlf == 0 && cr == 0:
		return LF, final
	case lf == 0 && cr == 0:
		return CRLF, final
	case lf == 0 && crlf == 0:
		return CR, final
	}
	return MixedLines, final
}
