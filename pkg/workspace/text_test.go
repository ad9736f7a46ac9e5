package workspace_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     workspace.Text
	}{
		{"empty", "", workspace.Text{Encoding: workspace.UTF8, LineEnding: workspace.NoLineEnding}},
		{"ascii", "a\nb\n", workspace.Text{String: "a\nb\n", Encoding: workspace.UTF8, LineEnding: workspace.LF, FinalNewline: true}},
		{"utf-8", "ä\r\nö", workspace.Text{String: "ä\r\nö", Encoding: workspace.UTF8, LineEnding: workspace.CRLF}},
		{"utf-8 mark", "\ufeffx\r", workspace.Text{String: "x\r", Encoding: workspace.UTF8, BOM: true, LineEnding: workspace.CR, FinalNewline: true}},
		{"mixed", "a\r\nb\nc", workspace.Text{String: "a\r\nb\nc", Encoding: workspace.UTF8, LineEnding: workspace.MixedLines}},
		{"utf-16le mark", "\xff\xfea\x00\n\x00", workspace.Text{String: "a\n", Encoding: workspace.UTF16LE, BOM: true, LineEnding: workspace.LF, FinalNewline: true}},
		{"utf-16be mark", "\xfe\xff\x20\xac", workspace.Text{String: "€", Encoding: workspace.UTF16BE, BOM: true, LineEnding: workspace.NoLineEnding}},
		{"utf-16le", "h\x00i\x00\n\x00", workspace.Text{String: "hi\n", Encoding: workspace.UTF16LE, LineEnding: workspace.LF, FinalNewline: true}},
		{"utf-16be", "\x00h\x00i", workspace.Text{String: "hi", Encoding: workspace.UTF16BE, LineEnding: workspace.NoLineEnding}},
		{"latin-1", "caf\xe9\n", workspace.Text{String: "café\n", Encoding: workspace.Latin1, LineEnding: workspace.LF, FinalNewline: true}},
		{"windows-1252", "10 \x80\n", workspace.Text{String: "10 €\n", Encoding: workspace.Windows1252, LineEnding: workspace.LF, FinalNewline: true}},
		{"mark, then not utf-8", "\xef\xbb\xbf\xe9", workspace.Text{String: "\U0010fee9", Encoding: workspace.UTF8, BOM: true, Broken: 1, LineEnding: workspace.NoLineEnding}},
		{"utf-8 with a broken byte", "één \xff\n", workspace.Text{String: "één \U0010feff\n", Encoding: workspace.UTF8, Broken: 1, LineEnding: workspace.LF, FinalNewline: true}},
		{"utf-8 with a cut character", "één €\xe2\x82", workspace.Text{String: "één €\U0010fee2\U0010fe82", Encoding: workspace.UTF8, Broken: 2, LineEnding: workspace.NoLineEnding}},
		{"more broken than sound", "é \xe9\xe9\n", workspace.Text{String: "Ã© éé\n", Encoding: workspace.Latin1, LineEnding: workspace.LF, FinalNewline: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := workspace.Decode([]byte(c.in))
			must(t, err)
			check.That(t, got == c.want, "got %+v, want %+v", got, c.want)
		})
	}
}

func TestDecodeRefusesBinary(t *testing.T) {
	for name, in := range map[string]string{
		"nul in text":        "abc\x00def",
		"elf":                "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"png":                "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"utf-16 odd length":  "\xff\xfea\x00b",
		"lone surrogate":     "\xff\xfe\x00\xd8a\x00",
		"utf-32le":           "\xff\xfe\x00\x00a\x00\x00\x00",
		"zeros":              strings.Repeat("\x00", 64),
		"compressed":         "\x1f\x8b\x08\x04\x05\x06\x01\x02\x03\xff\xfe\xfd\x01\x02\x03",
		"few zeros, 16 bits": "\x01\x00\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b",
	} {
		got, err := workspace.Decode([]byte(in))
		check.That(t, errors.Is(err, workspace.ErrBinary), "%s: %+v, %v", name, got, err)
	}
}

func TestEncodeNamesTheCharacter(t *testing.T) {
	text, err := workspace.Decode([]byte("caf\xe9\n"))
	must(t, err)
	_, err = text.Encode("café\n10 €\n")
	if !errors.Is(err, workspace.ErrUnencodable) || !strings.Contains(err.Error(), "U+20AC") || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
	if _, err := text.Encode("\xff"); !errors.Is(err, workspace.ErrUnencodable) {
		t.Errorf("got %v", err)
	}
	var fresh workspace.Text
	if b, err := fresh.Encode("€"); err != nil || string(b) != "€" {
		t.Errorf("%q, %v", b, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "a\r\n", "\ufeffx", "\xff\xfea\x00", "\xfe\xff\xd8\x00\xdc\x00", "h\x00i\x00", "\x80\x81\xe9", "\xff\xfe\xff\xfe", "\ufeff\ufeff", "a\x00", "é\xff\xfe", "\ufeff\xe9", "éé\xf4\x8f\xba\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := workspace.Decode(b)
		if err != nil {
			return
		}
		again, err := text.Encode(text.String)
		check.That(t, err == nil && bytes.Equal(again, b), "%+v encodes to %q, %v", text, again, err)
	})
}
