// Package complaint finds, in what a command printed, that the system refused
// something to it, and the names that the message may be about.
//
// It goes by the texts of the errors of the C library, Go, Rust, Java, Python and Node.js, in English: tools print
// these whatever they do. It knows nothing of why: whoever asks compares the names with what the command could reach. A
// text that a program prints for another reason is found too.
package complaint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// Kind is what the system said.
type Kind string

// The kinds, by the name of the error.
const (
	ReadOnly   Kind = "EROFS"
	Permission Kind = "EACCES"
	Rights     Kind = "EPERM"
	Busy       Kind = "EBUSY"
	Missing    Kind = "ENOENT"
	CrossDisk  Kind = "EXDEV"
	Network    Kind = "network"
)

// Complaint is one message.
type Complaint struct {
	Kind Kind
	// Line is the message, cut, and Program what it begins with, if that is a word: mostly the program that says it.
	Line, Program string
	// Names are what it can be about, the likeliest first: paths, absolute or relative to where the program ran. There may be none.
	Names []string
}

const (
	// maxComplaints bounds how many are found, maxLine how much of a line is looked at, in bytes, and around how many
	// lines beside it are searched for names.
	maxComplaints = 50
	maxLine       = 2000
	around        = 3
)

var texts = []struct {
	kind Kind
	is   func() *regexp.Regexp
}{
	{ReadOnly, lazy.Regexp(`(?i)(?:^|[\s(])read-only file ?system|\bEROFS\b`)},
	{CrossDisk, lazy.Regexp(`(?i)cross-device link|\bEXDEV\b`)},
	{Busy, lazy.Regexp(`(?i)device or resource busy|resource busy or locked|\bEBUSY\b`)},
	{Network, lazy.Regexp(`(?i)network is unreachable|name resolution|could not resolve host|name or service not known|no such host|` +
		`\b(ENETUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\b|failed to establish a new connection|couldn't connect to server|dial (tcp|udp)|socket: (operation not permitted|permission denied)`)},
	{Permission, lazy.Regexp(`(?i)permission denied|\bEACCES\b`)},
	{Rights, lazy.Regexp(`(?i)operation not permitted|\bEPERM\b`)},
	{Missing, lazy.Regexp(`(?i)no such file or directory|\bENOENT\b`)},
}

// Find returns the complaints in an output, in its order.
func Find(output string) []Complaint {
	lines := strings.Split(output, "\n")
	var found []Complaint
	for i, line := range lines {
		line = line[:min(len(line), maxLine)]
		for _, t := range texts {
			at := t.is().FindStringIndex(line)
			if at == nil {
				continue
			}
			program, before := speaker(line[:at[0]])
			c := Complaint{Kind: t.kind, Line: line, Program: program, Names: names(before, line[at[1]:])}
			for j := max(0, i-around); j < min(len(lines), i+around+1); j++ {
				if j != i {
					c.add(certain(lines[j][:min(len(lines[j]), maxLine)])...) // npm and cargo say the path beside the error
				}
			}
			found = append(found, c)
			break
		}
		if len(found) == maxComplaints {
			break
		}
	}
	return found
}

func (c *Complaint) add(names ...string) {
	for _, name := range names {
		if name != "" && !slices.Contains(c.Names, name) {
			c.Names = append(c.Names, name)
		}
	}
}

var (
	quoted   = lazy.Regexp("'([^']+)'|\"([^\"]+)\"|`([^`']+)['`]|‘([^’]+)’")
	absolute = lazy.Regexp(`(?:^|[\s(=:'"])(/[^\s:'"(),]+)`)
)

var speaking = lazy.Regexp(`^(\S+): (?:line \d+: )?(.*\S.*)$`)

// speaker takes the program from the beginning of a message, if something is
// left then.
func speaker(before string) (program, rest string) {
	if m := speaking().FindStringSubmatch(before); m != nil {
		return path.Base(m[1]), m[2]
	}
	return "", before
}

// certain are the names of a line that are quoted or absolute.
func certain(line string) []string {
	var found []string
	for _, m := range quoted().FindAllStringSubmatch(line, -1) {
		found = append(found, strings.Join(m[1:], "")) // one of them is not empty
	}
	for _, m := range absolute().FindAllStringSubmatch(line, -1) {
		found = append(found, m[1])
	}
	return found
}

// names are those before and behind the text of an error: what is quoted or
// absolute, then what looks like a path, then the words right before the text.
func names(before, behind string) []string {
	var c Complaint
	c.add(certain(before)...)
	c.add(certain(behind)...)
	segments := strings.Split(strings.TrimRight(before, " :("), ": ")
	slices.Reverse(segments)
	for _, s := range segments {
		words := strings.Fields(s)
		if len(words) > 0 {
			if last := strings.TrimPrefix(words[len(words)-1], "fopen("); strings.ContainsAny(last, "/.") {
				c.add(strings.TrimRight(last, "):"))
			}
		}
	}
	for _, word := range strings.Fields(behind) {
		if strings.Contains(word, "/") {
			c.add(path.Clean(word))
		}
	}
	if !strings.Contains(segments[0], " ") { // what stands alone behind the program
		c.add(segments[0])
	}
	return c.Names
}
