package catalogue

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// Kind is a sort of finding.
type Kind string

// The kinds of findings.
const (
	Invisible    Kind = "invisible characters"
	LookAlike    Kind = "a word that looks like another"
	Instructions Kind = "instructions to the model"
	OtherTools   Kind = "another server's tool"
	Credentials  Kind = "a place of credentials"
	Encoded      Kind = "encoded text"
	TooMuch      Kind = "more text than is looked at"
	Secret       Kind = "a secret" // in arguments
)

// Finding is something suspicious in what a server says of itself, or in what goes out to it.
type Finding struct {
	Kind  Kind
	Where string // "description", "inputSchema.properties.path.description"; safe to print
	Text  string // an excerpt, never a secret; safe to print
}

// String is one line for people and logs.
func (f Finding) String() string { return string(f.Kind) + " in " + f.Where + ": " + f.Text }

// Limits of a look. A real definition has far less text; nobody reads more.
const (
	maxInspected         = 16 << 10 // bytes of text in one definition
	maxInspectedOfServer = 1 << 20  // and in all of one listing
	maxFindings          = 16       // of one definition
)

// budget is how much text is still looked at.
type budget struct{ left int }

// inspection is what a look at one definition found.
type inspection struct {
	findings []Finding
	mentions []string
	seen     map[string]bool
}

// inspect looks at every text of a definition of a tool, prompt, resource or template, names of properties too; with a nil budget at
// none.
func inspect(definition []byte, b *budget) inspection {
	var in inspection
	if b == nil {
		return in
	}
	left := min(maxInspected, b.left)
	d := jsontext.NewDecoder(strings.NewReader(string(definition)))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return in // at the end: the definition has been read before
		}
		if token.Kind() != '"' {
			continue
		}
		text := token.String()
		if left -= len(text); left < 0 {
			in.add(TooMuch, "the definition", "the rest of it is not looked at")
			return in
		}
		b.left -= len(text)
		in.text(text, d)
	}
}

// place says where a decoder is, for people.
func place(d *jsontext.Decoder) string {
	at := strings.ReplaceAll(strings.TrimPrefix(string(d.StackPointer()), "/"), "/", ".")
	at = printable.Text(strings.ReplaceAll(strings.ReplaceAll(at, "~1", "/"), "~0", "~"))
	if at == "" {
		return "the top"
	}
	if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
		return "the name " + excerpt(at, 0)
	}
	return excerpt(at, 0)
}

func (in *inspection) add(k Kind, where, text string) {
	if len(in.findings) < maxFindings {
		in.findings = append(in.findings, Finding{k, where, text})
	}
}

// text looks at one text, behind which the decoder stands.
func (in *inspection) text(text string, d *jsontext.Decoder) {
	if isWord(text) {
		in.mention(text)
		return
	}
	if what := hidden(text); what != "" {
		in.add(Invisible, place(d), what)
	}
	if what := mixedWord(text); what != "" {
		in.add(LookAlike, place(d), what)
	}
	plain := folded(text)
	for _, look := range []struct {
		kind Kind
		find func(text, plain string) string
	}{{Instructions, instruction}, {Credentials, credentials}, {Encoded, encoded}} {
		if what := look.find(text, plain); what != "" {
			in.add(look.kind, place(d), excerpt(printable.Text(what), 0))
		}
	}
	in.mention(text)
}

// isWord: most texts of a schema are the words of its language, and small names.
func isWord(text string) bool {
	if len(text) > 24 {
		return false
	}
	for i := range len(text) {
		if !isWordByte(text[i]) {
			return false
		}
	}
	return true
}

func isWordByte(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' }

func (in *inspection) mention(text string) {
	for _, name := range names(text) {
		if in.seen == nil {
			in.seen = map[string]bool{}
		}
		if !in.seen[name] {
			in.seen[name] = true
			in.mentions = append(in.mentions, name)
		}
	}
}
