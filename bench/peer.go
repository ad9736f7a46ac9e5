package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// peer is a client of the initialize era on a pair of streams. It writes and reads raw lines, so that every server is
// driven by the same few instructions. It is for one goroutine; see mux.
type peer struct {
	in     io.WriteCloser
	out    *bufio.Reader
	cmd    *exec.Cmd // nil for a server in this process
	stderr bytes.Buffer
	last   int
	ended  func() error
}

const protocolVersion = "2025-06-18"

func newPeer(in io.WriteCloser, out io.Reader) *peer {
	return &peer{in: in, out: bufio.NewReaderSize(out, 64<<10)}
}

// startPeer starts a server as a process.
func startPeer(cmd *exec.Cmd) *peer {
	p := newPeer(must(cmd.StdinPipe()), must(cmd.StdoutPipe()))
	p.cmd = cmd
	cmd.Stderr = &limited{to: &p.stderr, left: 4 << 10}
	check(cmd.Start())
	return p
}

// close ends the input, and the process if it does not end by itself.
func (p *peer) close() error {
	err := p.in.Close()
	if p.ended != nil {
		err = errors.Join(err, p.ended())
	}
	if p.cmd == nil {
		return err
	}
	stop(p.cmd, nil)
	return err
}

// stop waits for a server to end, asked or not; after three seconds it is killed. The exit status of one that is no longer
// needed says nothing about what was measured.
func stop(cmd *exec.Cmd, ask os.Signal) {
	if ask != nil && cmd.Process.Signal(ask) != nil { // as on Windows
		_ = cmd.Process.Kill()
	}
	kill := time.AfterFunc(3*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait()
}

func encodeRequest(id int, method string, params any) []byte {
	return append(must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})), '\n')
}

func encodeCall(id int, tool string, a args) []byte {
	return encodeRequest(id, "tools/call", map[string]any{"name": tool, "arguments": a})
}

// request sends a request and reads its answer. The time is from before the write until the answer's last byte is
// there, without encoding and decoding.
func (p *peer) request(method string, params any) (time.Duration, []byte) {
	p.last++
	line := encodeRequest(p.last, method, params)
	start := time.Now()
	_, err := p.in.Write(line)
	for {
		p.alive(err)
		var answer []byte
		answer, err = p.out.ReadBytes('\n')
		took := time.Since(start)
		if id, ok := answerID(answer); err == nil && ok && id == p.last {
			check(failure(answer))
			return took, answer
		}
	}
}

// alive is check with what the server said before it went away.
func (p *peer) alive(err error) {
	if err != nil && p.cmd != nil {
		err = fmt.Errorf("the server is gone: %w %s", err, bytes.TrimSpace(p.stderr.Bytes()))
	}
	check(err)
}

func (p *peer) initialize() {
	p.request("initialize", initializeParams())
	must(io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"))
}

func initializeParams() any {
	return map[string]any{
		"protocolVersion": protocolVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	}
}

// args are a tool's arguments.
type args map[string]any

func (p *peer) call(tool string, a args) (time.Duration, []byte) {
	return p.request("tools/call", map[string]any{"name": tool, "arguments": a})
}

// caller makes an action of a call.
func (p *peer) caller(tool string, a args) action {
	return func() time.Duration {
		took, _ := p.call(tool, a)
		return took
	}
}

// selects returns the session's handle.
func (p *peer) selects(intent string) string {
	_, answer := p.call("select_active_intent", args{"intent_id": intent})
	return handleOf(answer)
}

func handleOf(answer []byte) string {
	var a struct {
		Result struct{ StructuredContent struct{ Session string } }
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.Result.StructuredContent.Session == "" {
		check(fmt.Errorf("no session in %.200s", answer))
	}
	return a.Result.StructuredContent.Session
}

// answerID reads the id of an answer without decoding it: servers put it first or last.
func answerID(line []byte) (int, bool) {
	line = bytes.TrimSpace(line)
	if rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)); ok {
		digits, _, _ := bytes.Cut(rest, []byte(","))
		id, err := strconv.Atoi(string(digits))
		return id, err == nil
	}
	at := bytes.LastIndex(line, []byte(`"id":`))
	if at < 0 {
		return 0, false
	}
	id, err := strconv.Atoi(string(bytes.TrimSuffix(line[at+len(`"id":`):], []byte("}"))))
	return id, err == nil
}

// failure is the error that an answer is, if it is one. Inside a result's texts these keys would stand with escaped
// quotation marks.
func failure(answer []byte) error {
	if bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer, []byte(`"error":{"code"`)) {
		return fmt.Errorf("the server refused: %.600s", answer)
	}
	return nil
}

// limited keeps the first bytes of what a process says.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.to.Write(b[:n])
	l.left -= n
	return len(b), nil
}
