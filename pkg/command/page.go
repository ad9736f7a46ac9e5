package command

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
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

// Read returns lines of an output from the 1-based line offset on (0 is the first, one below that counts from the end), at most limit
// (0 is DefaultPageLines) and at most OutputLimit characters. With a search only lines that match are returned and counted: a regular
// expression in RE2 syntax that ignores letter case, or the text itself if it is no valid expression. What comes meanwhile is not read.
func (o Outputs) Read(id string, offset, limit int, search string) (Page, error) {
	b := newPage(offset, limit, search)
	err := o.read(id, func(file *os.File, size int64) error {
		if offset < 0 {
			whole := pageBuilder{from: math.MaxInt}
			if err := whole.scan(io.NewSectionReader(file, 0, size)); err != nil {
				return err
			}
			b.from = max(1, whole.page.TotalLines+offset+1)
		}
		return b.scan(io.NewSectionReader(file, 0, size))
	})
	return b.page, err
}

// ReadBytes returns at most limit bytes from offset on (0 is as many as fit in OutputLimit characters), cleaned.
func (o Outputs) ReadBytes(id string, offset int64, limit int) (Chunk, error) {
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
		b.pass(reader)
		c := candidate{Line: Line{Number: b.page.TotalLines + 1, Offset: b.page.TotalBytes}}
		size, err := b.line(reader, &c)
		if size > 0 {
			b.page.TotalLines++
			b.page.TotalBytes += size
			b.take(c)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pass goes beyond whole lines of which nobody asks more than how many they are.
func (b *pageBuilder) pass(reader *bufio.Reader) {
	for b.page.TotalLines+1 < b.from || b.page.Next != 0 && b.search == nil {
		_, _ = reader.Peek(1) // fills what is empty; an error comes again
		block, _ := reader.Peek(reader.Buffered())
		end := bytes.LastIndexByte(block, '\n') + 1
		lines := bytes.Count(block[:end], []byte("\n"))
		if before := b.from - 1 - b.page.TotalLines; before > 0 && lines > before {
			for end, lines = 0, before; before > 0; before-- {
				end += bytes.IndexByte(block[end:], '\n') + 1
			}
		}
		if end == 0 {
			return // the line goes on
		}
		_, _ = reader.Discard(end) // it is there
		b.page.TotalLines += lines
		b.page.TotalBytes += int64(end)
	}
}

// candidate is a line with the answer whether it is asked for.
type candidate struct {
	Line
	wanted bool
}

// line reads one line piece by piece, keeps its start or the surroundings of its match, and returns its size.
func (b *pageBuilder) line(reader *bufio.Reader, c *candidate) (size int64, err error) {
	begins := c.Offset
	var carry []byte
	for {
		piece, err := reader.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if c.Number >= b.from && !c.wanted {
			b.consider(c, size == 0, more, append(carry, piece...), begins+size-int64(len(carry)))
		}
		size += int64(len(piece))
		if !more {
			return size, err
		}
		carry = append([]byte(nil), piece[len(piece)-searchOverlap:]...)
	}
}

// consider looks at a piece of the line, which begins at the offset at.
func (b *pageBuilder) consider(c *candidate, first, more bool, piece []byte, at int64) {
	piece = bytes.TrimSuffix(bytes.TrimSuffix(piece, []byte("\n")), []byte("\r"))
	start := 0
	if b.search != nil {
		match := b.search.FindIndex(piece)
		if match == nil {
			return
		}
		if !first || match[0] > maxLineText-excerptBefore {
			start = max(0, match[0]-excerptBefore)
		}
	}
	shown := firstRunes(piece[start:], maxLineText)
	c.wanted, c.Text, c.Offset = true, Clean(shown), at+int64(start)
	c.Cut = !first || start > 0 || more || len(shown) < len(piece)
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
