package clientrules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Verdict is what rules come to. Of two that hold, the greater one wins.
type Verdict int

// The verdicts.
const (
	// Unknown: there are rules that cannot be read, or a client whose rules nobody can read. The caller denies.
	Unknown Verdict = iota
	// None: no rule names the line, and the client does what it does by default.
	None
	// Allow: the client runs the line without asking.
	Allow
	// Ask: the client asks its user.
	Ask
	// Deny: the client denies.
	Deny
)

func (v Verdict) String() string { return [...]string{"unknown", "none", "allow", "ask", "deny"}[v] }

// Question is a line that an agent wants to run in its client's shell.
type Question struct {
	Client clienthook.Client
	// Mode is the permission mode in the client's words.
	Mode string
	// Home, Workspace and Cwd are absolute; Cwd is where the line starts.
	Home, Workspace, Cwd string
	// SystemRoot is what the administrator's files stand below: "/".
	SystemRoot string
	Line       string
	// Reading is of the line; nil has it read.
	Reading *shell.Reading
	// Lookup finds variables of the environment that move a client's files; nil finds none.
	Lookup func(string) (string, bool)
}

func (q Question) env(name string) string {
	if q.Lookup == nil {
		return ""
	}
	value, _ := q.Lookup(name)
	return value
}

// Answer is what the rules say.
type Answer struct {
	Verdict Verdict
	// Rule decided, as it is written in File; both "" if it was none.
	Rule, File string
	// Why is for people, where no rule says it.
	Why string
}

// Judge reads the client's files and says what their rules come to for a line.
func Judge(q Question) (answer Answer) {
	defer func() {
		if p := recover(); p != nil {
			answer = Answer{Why: fmt.Sprintf("the rules of %s cannot be read: %v", q.Client, p)}
		}
	}()
	judges := map[clienthook.Client]func(Question, *line) (Answer, error){
		clienthook.ClaudeCode: judgeClaude, clienthook.Codex: judgeCodex, clienthook.Gemini: judgeGemini,
		clienthook.OpenCode: judgeOpenCode, clienthook.Cursor: judgeCursor,
	}
	judge, known := judges[q.Client]
	if !known {
		return Answer{Why: fmt.Sprintf("%s keeps its rules about commands where they cannot be read", q.Client)}
	}
	q.SystemRoot, q.Cwd = cmp.Or(q.SystemRoot, "/"), cmp.Or(q.Cwd, q.Workspace)
	l := readLine(q)
	answer, err := judge(q, l)
	switch {
	case err != nil:
		return Answer{Why: err.Error() + "; repair the file, or ask a person to run the command"}
	case l.work > maxWork:
		return Answer{Why: fmt.Sprintf("the rules of %s are too many to compare with this line; shorten it", q.Client)}
	case answer.Verdict == Allow && len(l.reading.Unjudged) > 0:
		return Answer{Verdict: None, Why: l.reading.Unjudged[0]}
	}
	return answer
}

// strictest is the answer that wins.
func strictest(answers ...Answer) Answer {
	return slices.MaxFunc(append(answers, Answer{Verdict: None}), func(a, b Answer) int { return cmp.Compare(a.Verdict, b.Verdict) })
}
