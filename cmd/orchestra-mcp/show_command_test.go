package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// What show prints of a command: its programs, that a secret was left out, and what is known of one in the background.
func TestShowCommand(t *testing.T) {
	for _, c := range []struct {
		command record.Command
		want    []string
		not     string
	}{
		{record.Command{Command: "API_TOKEN=[redacted] make", Redacted: true, Programs: []string{"make", "sh"}, ExitCode: 2, DurationMS: 1500},
			[]string{"API_TOKEN=[redacted] make", "what looked like a secret", "2 after 1.5s", "programs  make, sh\n"}, "background"},
		{record.Command{Command: "$X", Unjudged: true, Background: true, Job: "cmd_1", Started: true, ExitCode: -1},
			[]string{"not known: this record is of the start", "cmd_1 in the background", "others that the line does not tell"}, "-1"},
		{record.Command{Command: "npm start", Background: true, Job: "cmd_1", ExitCode: 143, EndedBy: "ended with the server"},
			[]string{"143 after 0s, ended with the server", "cmd_1"}, "secret"},
	} {
		var out bytes.Buffer
		v := &recordView{question: &question{app: newApp(streams{out: &out}, environment{})}}
		v.fields(record.Entry{Record: record.Record{Command: &c.command}})
		for _, want := range c.want {
			check.That(t, strings.Contains(out.String(), want), "no %q in\n%s", want, out.String())
		}
		check.That(t, !strings.Contains(out.String(), c.not), "%q in\n%s", c.not, out.String())
	}
}
