package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// echoServer is the first argument with which this program is a server, in the place of its measurements. The second is the number of
// its tools.
const echoServer = "echo-server"

const (
	upstreamSafe     = "a safe call through to another server, stdio, p50, less the bare call"
	upstreamRecorded = "a recorded call through to another server, stdio, p50, less the bare call and the bare cost of its flushes"
	upstreamListed   = "tools/list with 20 other servers of 20 tools each, warm, p50"
)

// measureUpstreams lets calls of a server, bare and through ours, take turns.
func measureUpstreams(s *suite) {
	dir := s.workspace(1)
	echo := s.echoServer(dir)
	s.declare(dir, 1, echo, "safe: [echo0]")
	p := s.served(dir)
	p.request("tools/list", args{}) // pins
	session := p.selects(intentID(0))
	bare := startPeer(s.command(dir, nil, echo, echoServer, "20"))
	s.atEnd(bare.close)
	bare.initialize()
	a := args{"text": content(200, 0)}
	p.call("s0_echo0", a) // starts it
	s.awaitFiles()
	taken := s.interleave(pick(s.short, 200, 5000), p.caller("s0_echo0", a), bare.caller("echo0", a))
	through, direct := taken[0], taken[1]
	s.add(atMost(upstreamSafe, float64(through.p50()-direct.p50())/1000, 150, microseconds, fmt.Sprintf("through %s; bare %s", through, direct)))

	p.call("s0_echo1", args{"text": "x", "session": session})
	record := lastLine(filepath.Join(dir, ".orchestration", "agent_trace.jsonl"))
	flushes := s.newBareWrite(filepath.Join(dir, "bare"), len(record))
	s.awaitFiles()
	taken = s.interleave(pick(s.short, 60, 1000), p.caller("s0_echo1", args{"text": a["text"], "session": session}), bare.caller("echo1", a), flushes.records)
	added := taken[0].p50() - taken[1].p50() - taken[2].p50()
	s.add(atMost(upstreamRecorded, float64(added)/1000, 150, microseconds,
		fmt.Sprintf("through %s; bare %s; its flushes %s (journal and ledger, %d bytes each)", taken[0], taken[1], taken[2], len(record))))
	measureUpstreamList(s)
}

func measureUpstreamList(s *suite) {
	dir := s.workspace(1)
	s.declare(dir, 20, s.echoServer(dir), `safe: ["*"]`)
	first := s.served(dir)
	listed := func(p *peer) (time.Duration, int) {
		took, answer := p.request("tools/list", args{})
		return took, strings.Count(string(answer), `_echo`)
	}
	for tries := 0; ; tries++ {
		if _, n := listed(first); n == 400 {
			break
		}
		if tries == 50 {
			check(fmt.Errorf("400 tools are not listed"))
		}
		time.Sleep(200 * time.Millisecond)
	}
	var cold, warm samples
	for range pick(s.short, 3, 20) {
		p := s.served(dir)
		took, n := listed(p)
		if n != 400 {
			check(fmt.Errorf("%d of 400 tools are listed", n))
		}
		cold = append(cold, took)
		for range 5 {
			took, _ := listed(p)
			warm = append(warm, took)
		}
		check(p.close())
	}
	s.add(atMost(upstreamListed, ms(cold.p50()), 50, milliseconds, fmt.Sprintf("the first of a process %s; later ones %s", cold, warm)))
}

// records is the disk work of a call that changes no file: the journal's entry and the record, each flushed.
func (b *bareWrite) records() time.Duration {
	return timed(func() {
		must(b.journal.WriteAt(b.record, 0))
		check(flushData(b.journal))
		check(b.append())
	})()
}

// echoServer is this program at a place that servers see.
func (s *suite) echoServer(dir string) string {
	at := filepath.Join(filepath.Dir(dir), "home", "bench-echo")
	if _, err := os.Stat(at); err == nil {
		return at
	}
	check(os.MkdirAll(filepath.Dir(at), 0o755))
	check(os.WriteFile(at, must(os.ReadFile(must(os.Executable()))), 0o755))
	return at
}

// declare puts servers into the user's settings.
func (s *suite) declare(dir string, servers int, program, more string) {
	var b strings.Builder
	b.WriteString("servers:\n")
	for i := range servers {
		fmt.Fprintf(&b, "  - {name: s%d, command: %q, args: [%s, \"20\"], %s}\n", i, program, echoServer, more)
	}
	config := ""
	for _, variable := range s.environment() {
		if at, ok := strings.CutPrefix(variable, "XDG_CONFIG_HOME="); ok {
			config = at
		}
	}
	writeFile(filepath.Join(config, "orchestra-mcp", "config.yaml"), b.String())
}

// echoTool is a tool with as much text as others' tools have.
func echoTool(i int) map[string]any {
	text := map[string]any{"type": "string", "description": "What it is to say, in a sentence or two of the usual length."}
	return map[string]any{
		"name": fmt.Sprintf("echo%d", i), "description": strings.Repeat("What this tool does and when to use it. ", 10),
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": text, "path": map[string]any{"type": "string"}}, "required": []string{"text"}},
	}
}

// echoAnswer is an answer with its members in the order that other servers have them in.
type echoAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// serveEcho answers calls with what they were told.
func serveEcho(tools int, in io.Reader, out io.Writer) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Arguments struct{ Text string }
			}
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		answer := echoAnswer{Version: "2.0", ID: m.ID}
		switch m.Method {
		case "initialize":
			answer.Result = map[string]any{
				"protocolVersion": protocolVersion, "capabilities": map[string]any{"tools": struct{}{}}, "serverInfo": map[string]any{"name": "echo", "version": "1"},
			}
		case "tools/list":
			list := []map[string]any{}
			for i := range tools {
				list = append(list, echoTool(i))
			}
			answer.Result = map[string]any{"tools": list}
		case "tools/call":
			answer.Result = map[string]any{"content": []map[string]any{{"type": "text", "text": m.Params.Arguments.Text}}}
		default:
			answer.Error = map[string]any{"code": -32601, "message": "no such method"}
		}
		var b bytes.Buffer
		check(json.NewEncoder(&b).Encode(answer))
		if _, err := out.Write(b.Bytes()); err != nil {
			return
		}
	}
}
