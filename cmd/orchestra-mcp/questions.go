package main

import (
	"bufio"
	"errors"
	"strings"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// errNoAnswer: the input ended before the questions did.
var errNoAnswer = errors.New("the input ended")

// questions asks a person, one line an answer. After the first failure it asks nothing more, and err says why.
type questions struct {
	*printer.Printer
	in  *bufio.Reader
	err error
}

func (a *app) newQuestions() *questions {
	return &questions{Printer: a.Printer, in: bufio.NewReader(a.in)}
}

// line asks until check accepts the answer; an empty one takes the proposal.
func (q *questions) line(label, proposal string, check func(string) error) string {
	for q.err == nil {
		q.Printf("%s", label)
		if proposal != "" {
			q.Printf(" [%s]", proposal)
		}
		q.Printf("%s", ": ")
		answer, err := q.in.ReadString('\n')
		if err != nil && answer == "" {
			q.err = errNoAnswer
			break
		}
		if answer = strings.TrimSpace(answer); answer == "" {
			return proposal
		}
		if check == nil {
			return answer
		}
		err = check(answer)
		if err == nil {
			return answer
		}
		q.Printf("  %v\n", err)
	}
	return proposal
}

// needed asks until there is an answer.
func (q *questions) needed(label string) string {
	for q.err == nil {
		if answer := q.line(label, "", nil); answer != "" {
			return answer
		}
	}
	return ""
}

// globs asks for scope globs. Patterns with spaces go into the file, or behind --scope.
func (q *questions) globs(label string, proposal []string) []string {
	answer := q.line(label, strings.Join(proposal, " "), func(answer string) error {
		_, err := intent.CompileScope(strings.Fields(answer))
		return err
	})
	if answer == strings.Join(proposal, " ") {
		return proposal
	}
	return strings.Fields(answer)
}

// confirm asks for a yes; anything else, and no answer, is a no.
func (a *app) confirm(question string) bool {
	ask := a.newQuestions()
	answer := ask.line(question+" yes or no", "no", nil)
	return ask.err == nil && (answer == "yes" || answer == "y")
}

// agreed asks a yes or no question that --yes answers as well. Where nobody can be asked, the error tells to add it after a look
// at what the command names; a no ends the command with what otherwise says.
func (a *app) agreed(yes bool, command, look, question, otherwise string) error {
	switch {
	case yes:
		return nil
	case a.json:
		return usageErrorf("%s --json does not ask: add --yes if you have looked at %s", command, look)
	case !a.inTerminal:
		return usageErrorf("%s asks, and the input is not a terminal: add --yes if you have looked at %s", command, look)
	case !a.confirm(question):
		a.Println(otherwise)
		return foundSomething()
	}
	return nil
}
