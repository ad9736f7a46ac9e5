package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// errNoAnswer: the input ended before the questions did.
var errNoAnswer = errors.New("the input ended")

// questions asks a person, one line an answer. After the first failure it asks nothing more, and err says why.
type questions struct {
	in  *bufio.Reader
	out io.Writer
	err error
}

func newQuestions(in io.Reader, out io.Writer) *questions {
	return &questions{in: bufio.NewReader(in), out: out}
}

// line asks until check accepts the answer; an empty one takes the proposal.
func (q *questions) line(label, proposal string, check func(string) error) string {
	for q.err == nil {
		fmt.Fprint(q.out, label)
		if proposal != "" {
			fmt.Fprintf(q.out, " [%s]", printable(proposal))
		}
		fmt.Fprint(q.out, ": ")
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
		fmt.Fprintf(q.out, "  %v\n", err)
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
