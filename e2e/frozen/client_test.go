//go:build frozen

package frozen_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// client speaks to a server on pipes, in one era of the protocol.
type client struct {
	w      *world
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	log    bytes.Buffer
	modern bool
	forms  bool              // it can show forms
	reply  []json.RawMessage // what its user does with the next forms
	ids    int
	result json.RawMessage // of the last answer
}

// serve starts the server. The words are variables of its environment, flags, and what the client is: modern (revision
// 2026-07-28, else that of 2025-11-25), forms (it can be asked), bare (it does not begin as it should), shown (what it is
// told at the beginning is in the transcript).
func (w *world) serve(words ...string) {
	w.t.Helper()
	c := &client{w: w, lines: make(chan string, 1000)}
	args := []string{"serve"}
	var env []string
	var bare, shown bool
	for _, word := range words {
		switch {
		case word == "modern", word == "legacy":
			c.modern = word == "modern"
		case word == "bare":
			bare = true
		case word == "shown":
			shown = true
		case word == "forms":
			c.forms = true
		case strings.HasPrefix(word, "-"):
			args = append(args, word)
		default:
			env = append(env, word)
		}
	}
	c.cmd = w.command(context.Background(), w.bin+"/orchestra-mcp", args...)
	c.cmd.Env, c.cmd.Stderr = append(c.cmd.Env, env...), &c.log
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.client = c
	w.t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // if it has not ended by itself
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	if c.modern || bare {
		return
	}
	w.last = c.request("initialize", fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":%s}`, c.capabilities(), clientInfo))
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if shown {
		w.say("%s", w.last)
	}
}

const clientInfo = `{"name":"frozen","version":"1"}`

func (c *client) capabilities() string {
	if c.forms {
		return `{"elicitation":{}}`
	}
	return `{}`
}

func (c *client) send(line string) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.w.say("cannot send: the server has ended\n")
	}
}

// request sends a request and is the whole answer in lines, after what the server asked for meanwhile.
func (c *client) request(method, params string) string {
	c.w.t.Helper()
	c.ids++
	if c.modern {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(params), &fields); err != nil {
			c.w.t.Fatalf("%s: %v", params, err)
		}
		const prefix = `"io.modelcontextprotocol/`
		fields["_meta"] = json.RawMessage(`{` + prefix + `protocolVersion":"2026-07-28",` + prefix + `clientCapabilities":` + c.capabilities() + `,` +
			prefix + `clientInfo":` + clientInfo + `}`)
		text, err := json.Marshal(fields)
		if err != nil {
			c.w.t.Fatal(err)
		}
		params = string(text)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.ids, method, params))
	return c.answer(method + " " + params)
}

// answer is the next answer, which nothing but the last request can have.
func (c *client) answer(to string) string {
	c.w.t.Helper()
	var asked strings.Builder
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return asked.String() + "the server has ended\n"
			}
			if done, text := c.take(line); done {
				return asked.String() + text
			} else {
				asked.WriteString(text)
			}
		case <-time.After(patience):
			c.w.t.Errorf("no answer to %s\n%s", to, c.log.String())
			return "no answer\n"
		}
	}
}

// take is what a line of the server says. A form is answered as was said before; progress comes at any time, and is
// left out.
func (c *client) take(line string) (done bool, text string) {
	var m struct {
		ID             any
		Method         string
		Params, Result json.RawMessage
		Error          json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return true, "not a message: " + line
	}
	switch {
	case m.Method == "notifications/progress":
		return false, ""
	case m.Method != "":
		if m.ID != nil {
			answer := json.RawMessage(`{"action":"cancel"}`)
			if len(c.reply) > 0 {
				answer, c.reply = c.reply[0], c.reply[1:]
			}
			id, _ := json.Marshal(m.ID)
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, answer))
		}
		return false, m.Method + " " + pretty(m.Params)
	case m.Error != nil:
		return true, "error " + pretty(m.Error)
	}
	c.result = m.Result
	return true, pretty(m.Result)
}

// end closes the server's input, and is what it said on standard error and how it ended.
func (c *client) end() string {
	c.in.Close()
	for range c.lines { // until it has ended
	}
	kill := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	_ = c.cmd.Wait()
	return quoted("stderr: ", c.log.String()) + fmt.Sprintf("exit %d\n", c.cmd.ProcessState.ExitCode())
}

func (c *client) kill() {
	_ = c.cmd.Process.Kill()
	for range c.lines { // until it has ended
	}
	_ = c.cmd.Wait()
}

// pretty is a JSON text in lines, its keys in their order and its values as they are. A text of several lines, or of
// JSON, stands in several.
func pretty(raw []byte) string {
	var indented, b bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return string(raw) + "\n"
	}
	for line := range strings.Lines(indented.String() + "\n") {
		key, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), `": "`)
		var text string
		if !found || json.Unmarshal([]byte(`"`+strings.TrimSuffix(value, ",")), &text) != nil {
			b.WriteString(line)
			continue
		}
		if strings.HasPrefix(text, "{") {
			text = pretty([]byte(text))
		}
		if !strings.Contains(text, "\n") {
			b.WriteString(line)
			continue
		}
		b.WriteString(key + "\":\n" + quoted(strings.Repeat(" ", len(key)-len(strings.TrimLeft(key, " ")))+"| ", text))
	}
	return b.String()
}
