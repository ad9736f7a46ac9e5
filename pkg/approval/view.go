package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// bounds say how much is shown: of one value and of one line of a diff, in characters, and how many paths.
type bounds struct{ value, line, paths int }

var (
	// brief is for a form in a client; whole for a terminal, where everything that was kept can be scrolled to.
	brief = bounds{value: 1000, line: 400, paths: 20}
	whole = bounds{value: maxFile, line: maxFile, paths: maxFile}
)

// View is a request as a person is shown it, whatever shows it. Every text in it is safe to print: characters that act
// on a terminal, turn the direction of writing or cannot be seen are written as escapes, line ends among them, so that
// no text of an agent can pose as a line of ours. What is cut says so.
type View struct {
	// Title says in one line what the call would do.
	Title string
	// Rows are what is known of it, in order.
	Rows []Row
	// Diff is what it would change, line by line, as the server computed it.
	Diff []DiffLine
	// DiffCut says what of the change is not in Diff; "" if all of it is.
	DiffCut string
	// Answers say what each answer that can be given would allow, in order.
	Answers []AnswerView

	bounds bounds
}

// Row is a label and a value of one line.
type Row struct{ Label, Text string }

// DiffLine is one line of a unified diff; Kind is its first character: ' ', '+', '-', '@' or '\\', or 'f' for what we say of a
// file.
type DiffLine struct {
	Kind byte
	Text string
}

// AnswerView is an answer that can be given.
type AnswerView struct {
	Decision Decision
	Title    string
	Means    string
}

// ViewOf makes the view of a request, with what is long cut.
func ViewOf(r Request) View { return viewOf(r, brief) }

// FullViewOf is ViewOf with nothing cut but what the request itself does not have.
func FullViewOf(r Request) View { return viewOf(r, whole) }

func viewOf(r Request, b bounds) View {
	v := View{Title: title(r), Answers: answers(r, b), bounds: b}
	v.row("why", why(r)...)
	if r.Asked != nil {
		v.row("edited", "it is "+r.Asked.ID+" as you have edited it")
	}
	if r.IntentID != "" {
		v.row("intent", strings.TrimSpace(r.IntentID+" "+r.IntentName))
	}
	var reads, changes, contents []string
	uncovered := 0
	for _, e := range r.Effects {
		switch {
		case e.Kind == KindUpstream:
			v.row("server", e.Server)
			v.row("its tool", e.Tool)
			v.row("arguments", sent(r))
		case e.Line != "":
			v.row("command", e.Line)
			v.row("directory", e.Cwd)
			v.row("limits", limits(e))
		case e.Kind == KindContent:
			if e.Before != "" {
				contents = append(contents, quoted(e.Path))
			}
			uncovered += e.More
		case e.Kind == "read":
			reads = append(reads, e.Path)
		default:
			changes = append(changes, effectText(e))
		}
	}
	v.row("contents", contents...)
	if uncovered > 0 {
		v.row("not covered", fmt.Sprintf("the contents of %d more files that the line names: too many, too large, secret or not readable", uncovered))
	}
	v.row("changes", changes...)
	if r.CommandLine() == "" {
		v.row("reads", reads...)
	}
	v.row("asks for", r.Name)
	v.row("paths", r.Paths...)
	v.row("spelled out", lookAlikes(r)...)
	v.row("reason given", r.Reason)
	v.row("client", r.Client)
	v.row("request", r.ID)
	v.row("expires", r.ExpiresAt.UTC().Format(time.RFC3339))
	v.diff(r)
	return v
}

// lookAlikes are the texts that tell what would be touched, where characters of them can be taken for others.
func lookAlikes(r Request) []string {
	texts := append([]string{r.Name, r.Sent}, r.Paths...)
	for _, e := range r.Effects {
		if e.Line != "" || e.changes() {
			texts = append(texts, e.Line, e.Path, e.To)
		}
	}
	var found []string
	for _, text := range texts {
		if spelled := printable.SpelledOut(text); spelled != "" && !slices.Contains(found, spelled) {
			found = append(found, spelled)
		}
	}
	return found
}

// sent are the arguments for another server, as far as they were kept.
func sent(r Request) string {
	if more := r.SentSize - len(r.Sent); more > 0 {
		return fmt.Sprintf("%s …[%d of %d bytes are not kept]", r.Sent, more, r.SentSize)
	}
	return r.Sent
}

// row adds a value, or several of which the first are shown. Nothing is added for no text.
func (v *View) row(label string, values ...string) {
	values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	for i, value := range values {
		if i == v.bounds.paths {
			v.Rows = append(v.Rows, Row{label, fmt.Sprintf("… and %d more", len(values)-i)})
			return
		}
		v.Rows = append(v.Rows, Row{label, shown(value, v.bounds.value)})
	}
}

// shown makes a text safe and bounds it; what is cut is counted, so that a long beginning cannot hide the end. The end
// is shown too: that is where a command line has what matters as often as at its beginning.
func shown(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return printable.Text(text)
	}
	runes := []rune(text)
	head, tail := string(runes[:limit*3/4]), string(runes[n-limit/4:])
	return fmt.Sprintf("%s …[%d characters not shown]… %s", printable.Text(head), n-limit*3/4-limit/4, printable.Text(tail))
}

func title(r Request) string {
	tool := shown(r.Tool, 60)
	if u, is := r.upstream(); is {
		return fmt.Sprintf("%s wants the server %s to do %s with %s", tool, shown(u.Server, 60), shown(u.Tool, 80), shown(sent(r), 300))
	}
	switch {
	case r.CommandLine() != "":
		return fmt.Sprintf("%s wants to run: %s", tool, shown(r.CommandLine(), 160))
	case r.Tool == "propose_intent":
		return "the agent proposes a new intent: " + shown(r.Subject(), 300)
	case r.Tool == "request_scope_expansion":
		return fmt.Sprintf("the agent asks that %s own more: %s", shown(r.IntentID, 80), shown(r.Subject(), 300))
	}
	var changes []Effect
	for _, e := range r.Effects {
		if e.Kind != "read" {
			changes = append(changes, e)
		}
	}
	switch len(changes) {
	case 0:
		return strings.TrimSpace(fmt.Sprintf("%s wants to go on under %s", tool, shown(r.IntentID, 80)))
	case 1:
		return fmt.Sprintf("%s wants to %s", tool, shown(effectText(changes[0]), 300))
	}
	return fmt.Sprintf("%s wants to change %d files: %s, …", tool, len(changes), shown(effectText(changes[0]), 300))
}

// effectText quotes a path that has blanks or what cannot be seen.
func effectText(e Effect) string {
	text := e.Kind + " " + quoted(e.Path)
	if e.To != "" {
		text += " to " + quoted(e.To)
	}
	return text
}

func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n\"'") {
		return "\"" + strings.ReplaceAll(path, "\"", "\\\"") + "\""
	}
	return path
}

func limits(e Effect) string {
	text := "in the foreground"
	if e.Background {
		text = "in the background"
	}
	if e.Timeout > 0 {
		text += ", at most " + e.Timeout.String()
	}
	if e.Shell != "" {
		text += ", by " + e.Shell
	}
	return text
}

func why(r Request) []string {
	var texts []string
	for _, c := range r.Checks {
		texts = append(texts, c.ErrorType+": "+c.Reason)
	}
	return texts
}

// answers: a person has to know exactly what a yes allows.
func answers(r Request, b bounds) []AnswerView {
	once, whatever := "exactly this, one time, if nothing about it has changed by then", ", with any content"
	if r.CommandLine() != "" {
		once = "exactly this line, one time, if the files under contents hold by then what they hold now; other files that it uses, and what those run in turn, do not count"
		whatever = ", whatever the files hold that it names"
	}
	if _, is := r.upstream(); is {
		once, whatever = "exactly this call with these arguments, one time, if the server says of its tool by then what it says now; what the server does with it, it does", ""
	}
	found := []AnswerView{{Once, "Approve once", once}}
	if !r.Once && r.IntentID != "" {
		var covered []string
		for _, g := range grantsOf(r, Answer{}) {
			about := quoted(g.Path)
			if g.Line != "" {
				about = "the command " + g.Line
			}
			if g.Call != "" {
				about = "this call with these very arguments"
			}
			if text := g.ErrorType + " at " + about; !slices.Contains(covered, text) {
				covered = append(covered, text)
			}
		}
		more := ""
		if len(covered) > b.paths {
			more = fmt.Sprintf(", and %d more", len(covered)-b.paths)
			covered = covered[:b.paths]
		}
		found = append(found, AnswerView{ForIntent, "Approve for this intent",
			fmt.Sprintf("whatever %s stops as %s%s%s, until the intent ends", shown(r.IntentID, 80), shown(strings.Join(covered, ", "), 2*b.value), more, whatever)})
	}
	return append(found, AnswerView{Deny, "Deny", "nothing; your reason reaches the agent"})
}

// diff splits the kept parts of the diffs. The header of a file is ours alone: lines of content begin with a mark.
func (v *View) diff(r Request) {
	left, size, lines := 0, 0, 0
	for _, d := range r.Diffs {
		v.Diff = append(v.Diff, DiffLine{'f', "=== " + shown(quoted(d.Path), v.bounds.line)})
		if d.Note != "" {
			v.Diff = append(v.Diff, DiffLine{'f', "=== " + shown(d.Note, v.bounds.line)})
		}
		for line := range strings.Lines(d.Hunks) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				continue // no line of a hunk is empty: each begins with its mark
			}
			v.Diff = append(v.Diff, DiffLine{line[0], shown(line, v.bounds.line)})
		}
		left, size, lines = left+d.Size-len(d.Hunks), size+d.Size, lines+d.Lines
	}
	if left > 0 {
		v.DiffCut = fmt.Sprintf("%d more bytes of this change are not shown (%d lines, %d bytes in all)", left, lines, size)
	}
}

// Message is the view as a text of at most about limit bytes, for a client's form: the rows are always whole, the diff
// is cut from its end, and what is cut is counted.
func (v View) Message(limit int) string {
	var b strings.Builder
	b.WriteString(v.Title + "\n\n")
	for _, row := range v.Rows {
		fmt.Fprintf(&b, "%s: %s\n", row.Label, row.Text)
	}
	for _, a := range v.Answers {
		fmt.Fprintf(&b, "%s allows: %s\n", a.Decision, a.Means)
	}
	if len(v.Diff) == 0 {
		return b.String()
	}
	b.WriteString("\n")
	for i, line := range v.Diff {
		if b.Len()+len(line.Text) > limit {
			fmt.Fprintf(&b, "… %d of %d lines of the diff are not shown here; orchestra-mcp approvals show has them\n", len(v.Diff)-i, len(v.Diff))
			break
		}
		b.WriteString(line.Text + "\n")
	}
	if v.DiffCut != "" {
		b.WriteString("… " + v.DiffCut + "\n")
	}
	return b.String()
}
