package command

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// DefaultPageLines is how many lines Read returns if it is not told.
	DefaultPageLines = 500
	// maxLineText is how many characters of one line Read returns; ReadBytes gets at the rest.
	maxLineText = 2_000
	// pieceSize is how much of a line is held at once.
	pieceSize = 64 << 10
	// searchOverlap is how much of a piece is searched again with the next: a match that is longer than this and lies
	// across two pieces of an over-long line is not found.
	searchOverlap = 4 << 10
	// excerptBefore is how much of an over-long line is shown before the match, in bytes.
	excerptBefore = 200
)

// Line is a line of kept output.
type Line struct {
	// Number counts from 1.
	Number int
	// Offset is where Text begins in the output, in bytes, for ReadBytes.
	Offset int64
	// Text is the line as Clean returns it, without its end.
	Text string
	// Cut: the line is longer than Text, before or after it.
	Cut bool
}

// Page is an excerpt of kept output by lines.
type Page struct {
	Lines      []Line
	TotalLines int
	TotalBytes int64
	// Matches counts the lines that a search has found from the offset on, also those that are not in Lines.
	Matches int
	// Literal: the search is not a valid regular expression and was taken word for word.
	Literal bool
	// Next is the line number to go on with, 0 if nothing is left.
	Next int
}

// Chunk is an excerpt of kept output by bytes.
type Chunk struct {
	Offset     int64
	Text       string
	TotalBytes int64
	// Next is the offset to go on with, 0 if nothing is left.
	Next int64
}

// Read returns lines of an output from the 1-based line offset on (0 is the first), at most limit (0 is
// DefaultPageLines) and at most OutputLimit characters. With a search only lines that match are returned and counted:
// a regular expression in RE2 syntax that ignores letter case, or the text itself if it is no valid expression.
func (o Outputs) Read(id string, offset, limit int, search string) (Page, error) {
	if offset < 0 || limit < 0 {
		return Page{}, fmt.Errorf("read command output: offset %d and limit %d must not be negative", offset, limit)
	}
	b := newPage(offset, limit, search)
	err := o.read(id, func(file *os.File, _ int64) error { return b.scan(file) })
	return b.page, err
}

// Tail is Read from the last lines on. The output may grow meanwhile: what comes behind the end that it found at first is
// not read.
func (o Outputs) Tail(id string, lines, limit int, search string) (Page, error) {
	if lines < 1 || limit < 0 {
		return Page{}, fmt.Errorf("read command output: the last %d lines and limit %d must be positive", lines, limit)
	}
	b := newPage(0, limit, search)
	err := o.read(id, func(file *os.File, size int64) error {
		whole := pageBuilder{from: math.MaxInt}
		if err := whole.scan(io.NewSectionReader(file, 0, size)); err != nil {
			return err
		}
		b.from = max(1, whole.page.TotalLines-lines+1)
		return b.scan(io.NewSectionReader(file, 0, size))
	})
	return b.page, err
}

// ReadBytes returns at most limit bytes from offset on (0 is as many as fit in OutputLimit characters), cleaned.
func (o Outputs) ReadBytes(id string, offset int64, limit int) (Chunk, error) {
	if offset < 0 || limit < 0 {
		return Chunk{}, fmt.Errorf("read command output: offset %d and limit %d must not be negative", offset, limit)
	}
	if limit == 0 || limit > OutputLimit {
		limit = OutputLimit
	}
	var chunk Chunk
	err := o.read(id, func(file *os.File, size int64) error {
		text := make([]byte, limit)
		n, err := file.ReadAt(text, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text = wholeRunes(text[:n], offset+int64(n) < size)
		chunk = Chunk{Offset: offset, Text: Clean(text), TotalBytes: size}
		if next := offset + int64(len(text)); next < size {
			chunk.Next = next
		}
		return nil
	})
	return chunk, err
}

// wholeRunes leaves a rune that the end of text cuts in two to the next chunk.
func wholeRunes(text []byte, more bool) []byte {
	for back := 1; more && back < utf8.UTFMax && back < len(text); back++ {
		if tail := text[len(text)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return text[:len(text)-back]
			}
			break
		}
	}
	return text
}

// pageBuilder reads an output once, whatever its lines look like, and keeps what belongs on the page.
type pageBuilder struct {
	page   Page
	from   int
	limit  int
	room   int // characters
	search *regexp.Regexp
}

func newPage(offset, limit int, search string) *pageBuilder {
	b := &pageBuilder{from: max(offset, 1), limit: cmp.Or(limit, DefaultPageLines), room: OutputLimit}
	if search == "" {
		return b
	}
	var err error
	if b.search, err = regexp.Compile("(?i)" + search); err != nil {
		b.page.Literal = true
		b.search = regexp.MustCompile("(?i)" + regexp.QuoteMeta(strings.ToValidUTF8(search, "\ufffd")))
	}
	return b
}

func (b *pageBuilder) scan(file io.Reader) error {
	reader := bufio.NewReaderSize(file, pieceSize)
	for {
		line, size, err := b.line(reader, b.page.TotalLines+1, b.page.TotalBytes)
		if size > 0 {
			b.page.TotalLines++
			b.page.TotalBytes += size
			b.take(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// candidate is a line with the answer whether it is asked for.
type candidate struct {
	Line
	wanted bool
}

// line reads one line piece by piece, keeps its start or the surroundings of its match, and returns its size.
func (b *pageBuilder) line(reader *bufio.Reader, number int, offset int64) (candidate, int64, error) {
	considered := number >= b.from
	c := candidate{Line: Line{Number: number, Offset: offset}, wanted: considered && b.search == nil}
	var size int64
	var carry []byte
	for {
		piece, err := reader.ReadSlice('\n')
		at := offset + size - int64(len(carry))
		first := size == 0
		size += int64(len(piece))
		unfinished := errors.Is(err, bufio.ErrBufferFull)
		if considered {
			b.consider(&c, first, unfinished, append(carry, piece...), at)
		}
		if !unfinished {
			return c, size, err
		}
		carry = append([]byte(nil), piece[len(piece)-searchOverlap:]...)
	}
}

// consider looks at a piece of the line, which begins at the offset at.
func (b *pageBuilder) consider(c *candidate, first, unfinished bool, piece []byte, at int64) {
	piece = trimLineEnd(piece)
	if b.search == nil && first {
		c.set(piece, at, unfinished)
	}
	if c.wanted {
		return
	}
	if match := b.search.FindIndex(piece); match != nil {
		c.wanted = true
		start := 0
		if !first || match[0] > maxLineText-excerptBefore {
			start = max(0, match[0]-excerptBefore)
		}
		c.set(piece[start:], at+int64(start), !first || start > 0 || unfinished)
	}
}

func (c *candidate) set(text []byte, offset int64, cut bool) {
	shown := firstRunes(text, maxLineText)
	c.Text, c.Offset = Clean(shown), offset
	c.Cut = cut || len(shown) < len(text)
}

// take puts a wanted line on the page if there is room.
func (b *pageBuilder) take(c candidate) {
	if !c.wanted {
		return
	}
	if b.search != nil {
		b.page.Matches++
	}
	if b.page.Next != 0 {
		return
	}
	length := utf8.RuneCountInString(c.Text) + 1
	if len(b.page.Lines) == b.limit || (length > b.room && len(b.page.Lines) > 0) {
		b.page.Next = c.Number
		return
	}
	b.room -= length
	b.page.Lines = append(b.page.Lines, c.Line)
}

func trimLineEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
