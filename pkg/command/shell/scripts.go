package shell

import (
	"regexp"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// A bracket expression hides the end of a regular expression. One that a reader could end elsewhere is none.
const (
	class   = `\[:[a-z]+:\]`
	bracket = `\[(?:\^(?:` + class + `|[^\[\n])|` + class + `|[^\^\[\n])(?:` + class + `|[^\[\]\n])*\]`
)

// awkQuiet finds what runs nothing in a text of awk, whatever it holds: strings, comments, "or", and regular expressions,
// which stand where nothing can be divided. awkRuns finds in the rest system, a pipe, @name(, and a slash that could be both.
var (
	awkQuiet = lazy.Regexp(`"(?:(?s:\\.)|[^"\\\n])*"?|#.*|` +
		`(?:^|\|\||[(,~!{};&=\n?:<>]|\b(?:return|in|print|printf|case)\b)[ \t]*/(?:\\.|` + bracket + `|[^\\\[/\n])*/|\|\|`)
	awkRuns = lazy.Regexp(`\bsystem\b|[|@]|[-+*/%^][ \t]*/`)
)

// awkOptions are those of gawk and mawk.
var awkOptions = options{
	flags: "bcCghIkMnNOPrsStV", values: "FvfEeilW", attached: "dDopL",
	longFlags: `--posix --traditional --re-interval --csv --sandbox --lint --optimize --no-optimize --bignum --characters-as-bytes
		--non-decimal-data --use-lc-numeric --gen-pot --dump-variables --debug --pretty-print --profile --version --help`,
	longValues: "--field-separator --assign --file --exec --source --include --load",
}

// awk judges the text of awk, which can run commands by system, by pipes and by names that are made. A text that is not
// literal is judged as far as it is. A script in a file is its own matter.
func (r *reader) awk(name string, args []Arg) {
	for _, g := range awkOptions.read(args) {
		switch {
		case g.name == "-f" || g.name == "--file" || g.name == "-E" || g.name == "--exec":
			return
		case !g.known || (g.name == "" || g.name == "-e" || g.name == "--source") && awkRuns().MatchString(awkQuiet().ReplaceAllString(g.value.Text, " ")):
			r.unjudged("the text of %s runs commands", name)
		}
		if g.name == "" {
			return
		}
	}
}

// sedQuiet are the scripts of sed that run nothing, as the command e and the flag e of s would: whole, and cut short. Both
// take a script only if each of its commands is known to its end, so that no text passes for another.
var sedQuiet = sync.OnceValues(func() (whole, begun *regexp.Regexp) {
	const end = `[ \t]*(?:#[^\n]*)?(?:[;}\n]|$)`
	address, cut := `[0-9$,+~ \t]`, `\\`
	command := `[{}=dDgGhHnNpPxzF]|[lLqQ][ 0-9]*|[#rRwWv][^\n]*(?:\n|$)|[:btT][^;}\n]*(?:}[ \t}]*)?(?:[;\n]|$)|` +
		`[aic](?:(?s:\\.)|[^\\\n])*(?:\n|\\?$)`
	for _, delimiter := range `/|,#@:!%;~+_=^-` {
		d := `\` + string(delimiter)
		pattern, text := `(?:(?s:\\.)|`+bracket+`|[^\\\[`+d+`])*`, `(?:(?s:\\.)|[^\\`+d+`])*`
		opened, s, y := `\\`+d, `s`+d+pattern+d+text, `y`+d+text+d+text
		if delimiter == '/' {
			opened = d
		}
		address += `|` + opened + pattern + d + `[IM]*`
		command += `|` + s + d + `[gpiImM0-9]*(?:` + end + `|w[^\n]*(?:\n|$))|` + y + d + end
		cut += `|(?:` + opened + `|s` + d + `)` + pattern + `(?:\\|\[\^?\]?[^\]\n]*)?|` + s + `(?:\\|` + d + `[gpiImM0-9]*)?|y` + d + text + `(?:` + d + text + d + `?)?\\?`
	}
	known := `^(?:[ \t\n;]*(?:` + address + `)*[ \t!]*(?:` + command + `))*[ \t\n;]*`
	return regexp.MustCompile(known + `$`), regexp.MustCompile(known + `(?:` + address + `)*[ \t!]*(?:[sy]|` + cut + `)?$`)
})

// sedOptions are those of the GNU and BSD tools.
var sedOptions = options{
	flags: "nErsuzb", values: "efl", attached: "i",
	longFlags: `--quiet --silent --regexp-extended --null-data --zero-terminated --separate --unbuffered --posix --debug --sandbox
		--follow-symlinks --in-place --binary --version --help`,
	longValues: "--expression --file --line-length",
}

// sed judges the scripts of sed. A file of them is its own matter.
func (r *reader) sed(name string, args []Arg) {
	var scripts, operands []Arg
	quiet, named := true, false
	for _, g := range sedOptions.read(args) {
		switch g.name {
		case "":
			operands = append(operands, g.value)
		case "--sandbox": // nothing runs
			return
		case "-e", "--expression":
			scripts, named = append(scripts, g.value), true
		case "-f", "--file":
			named = true
		}
		quiet = quiet && g.known
	}
	for len(operands) > 0 && operands[0].Exact && operands[0].Text == "" { // of BSD's -i '' the script is the second
		operands = operands[1:]
	}
	if !named {
		scripts = operands[:min(1, len(operands))]
	}
	whole, begun := sedQuiet()
	text := ""
	for i, s := range scripts {
		if text += s.Text; !s.Exact {
			quiet, text = quiet && begun.MatchString(text), "" // what follows is read for itself
		} else if i+1 < len(scripts) {
			text += "\n"
		}
	}
	if !quiet || !whole.MatchString(text) {
		r.unjudged("the script of %s runs commands, or cannot be read", name)
	}
}
