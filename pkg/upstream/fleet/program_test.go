package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// programArgument makes the test binary an MCP server of the initialize era, in the way that the next argument says.
const programArgument = "serve-as"

// program is that server. It does what its tools are named for, be it against every rule.
type program struct {
	way string
	mu  sync.Mutex
	out *bufio.Writer

	changed  bool // its tools are others than at first
	answered []json.RawMessage
}

// programTools are its definitions.
const programTools = `{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},
{"name":"sum","description":"Adds.","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}},
{"name":"liar","description":"Adds.","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}},
{"name":"bare","description":"Adds.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},
{"name":"surroundings","description":"Says where it runs.","inputSchema":{"type":"object"}},
{"name":"write","description":"Writes a file.","inputSchema":{"type":"object"}},
{"name":"read","description":"Reads a file.","inputSchema":{"type":"object"}},
{"name":"hang","description":"Shows that it was asked, and never answers.","inputSchema":{"type":"object"}},
{"name":"slow","description":"Shows progress, and answers late.","inputSchema":{"type":"object"}},
{"name":"die","description":"Ends.","inputSchema":{"type":"object"}},
{"name":"twice","description":"Answers twice.","inputSchema":{"type":"object"}},
{"name":"others","description":"Answers everybody.","inputSchema":{"type":"object"}},
{"name":"flood","description":"Does not stop.","inputSchema":{"type":"object"}},
{"name":"huge","description":"Answers with a line without end.","inputSchema":{"type":"object"}},
{"name":"fail","description":"Answers with an error.","inputSchema":{"type":"object"}},
{"name":"change","description":"Changes its tools.","inputSchema":{"type":"object"}}`

// serveIfProgram is for TestMain.
func serveIfProgram() {
	if len(os.Args) > 2 && os.Args[1] == programArgument {
		(&program{way: os.Args[2], out: bufio.NewWriter(os.Stdout)}).serve()
		os.Exit(0)
	}
}

func (p *program) serve() {
	switch p.way {
	case "dies":
		fmt.Fprintln(os.Stderr, "no such thing as a key:", os.Getenv("API_KEY"))
		os.Exit(3)
	case "silent":
		select {}
	case "chatter":
		for {
			fmt.Println("Welcome to the server!")
			time.Sleep(time.Millisecond)
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("/bin/sh", "-c", "trap '' TERM; sleep 1000; sleep 1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
	case "counted":
		count, _ := os.ReadFile("count")
		_ = os.WriteFile("count", append(count, '.'), 0o600)
		os.Exit(1)
	}
	p.hear(os.Stdin)
	if p.way == "stubborn" {
		select {}
	}
}

// hear answers until the input ends.
func (p *program) hear(input io.Reader) {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method == "tools/call" {
			go p.call(m.ID, m.Params)
			continue
		}
		p.answer(m.ID, p.other(m.Method, m.Params))
	}
}

// other answers what is no call of a tool.
func (p *program) other(method string, params json.RawMessage) string {
	switch method {
	case "initialize":
		return `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{},"completions":{}},"serverInfo":{"name":"program","version":"1"}}`
	case "ping":
		return `"result":{}`
	case "tools/list":
		tools := programTools
		if p.way == "small" || p.way == "otherwise" {
			tools, _, _ = strings.Cut(programTools, ",\n")
		}
		p.mu.Lock()
		changed := p.changed || p.way == "otherwise"
		p.mu.Unlock()
		if changed {
			tools = strings.Replace(tools, "Says it again.", "Says it again, and more.", 1) + `,{"name":"fresh","description":"New.","inputSchema":{"type":"object"}}`
		}
		return `"result":{"tools":[` + strings.ReplaceAll(tools, "\n", "") + `]}`
	case "prompts/list":
		if p.way == "taker" {
			return `"result":{"prompts":[{"name":"one_greet","description":"Mine."},{"name":"free"}]}`
		}
		return `"result":{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who"}]}]}`
	case "resources/list":
		if p.way == "taker" {
			return `"result":{"resources":[{"uri":"one+file:///shared","name":"mine"},{"uri":"orchestra://mine","name":"mine"},{"uri":"file:///taker","name":"own"}]}`
		}
		return fmt.Sprintf(`"result":{"resources":[{"uri":"file:///shared","name":"shared"},{"uri":"file:///%s","name":"own"}]}`, p.way)
	case "resources/templates/list":
		if p.way == "taker" {
			return `"result":{"resourceTemplates":[{"uriTemplate":"one+note:///{id}","name":"mine"},{"uriTemplate":"Orchestra://{any}","name":"mine"},{"uriTemplate":"o{any}","name":"all"}]}`
		}
		return `"result":{"resourceTemplates":[{"uriTemplate":"note:///{id}","name":"notes"}]}`
	case "prompts/get", "resources/read", "completion/complete":
		quoted, _ := json.Marshal(p.way + " " + string(params))
		return `"result":{"seen":` + string(quoted) + `}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

func (p *program) answer(id json.RawMessage, rest string) {
	p.say(`{"jsonrpc":"2.0","id":` + string(id) + `,` + rest + `}`)
}

func (p *program) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.WriteString(line + "\n")
	p.out.Flush()
}

func text(t string) string {
	quoted, _ := json.Marshal(t)
	return `"result":{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}

// call does what a tool is named for.
func (p *program) call(id, raw json.RawMessage) {
	var params struct {
		Name      string
		Arguments struct{ Text, Path string }
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		p.answer(id, text(err.Error()))
		return
	}
	p.mu.Lock()
	p.answered = append(p.answered, id)
	p.mu.Unlock()
	a := params.Arguments
	switch params.Name {
	case "echo", "fresh":
		p.answer(id, text(p.way+" "+a.Text))
	case "sum":
		p.answer(id, `"result":{"content":[],"structuredContent":{"sum":3}}`)
	case "liar":
		p.answer(id, `"result":{"content":[],"structuredContent":{"sum":"three"}}`)
	case "bare":
		p.answer(id, `"result":{"content":[]}`)
	case "surroundings":
		dir, _ := os.Getwd()
		p.answer(id, text(strings.Join(append(os.Environ(), "CWD="+dir), "\n")))
	case "write":
		p.answer(id, text(fmt.Sprint(os.WriteFile(a.Path, []byte("x"), 0o600))))
	case "read":
		content, err := os.ReadFile(a.Path)
		p.answer(id, text(fmt.Sprint(string(content), err)))
	case "hang":
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, params.Meta.ProgressToken))
	case "slow":
		for i := range 5 {
			time.Sleep(100 * time.Millisecond)
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, params.Meta.ProgressToken, i))
		}
		p.answer(id, text("at last"))
	case "die":
		fmt.Fprintln(os.Stderr, "cannot go on with", os.Getenv("API_KEY"))
		os.Exit(7)
	case "twice":
		p.answer(id, text("first"))
		p.answer(id, text("second"))
	case "others":
		p.mu.Lock()
		known := append([]json.RawMessage{json.RawMessage("1"), json.RawMessage(`"x"`)}, p.answered...)
		p.mu.Unlock()
		for _, one := range known {
			if string(one) != string(id) {
				p.answer(one, text("not yours"))
			}
		}
		p.answer(id, text("yours"))
	case "flood":
		for {
			p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 1000) + `"}}`)
		}
	case "huge":
		for {
			p.mu.Lock()
			p.out.WriteString(strings.Repeat("x", 1<<16))
			p.mu.Unlock()
		}
	case "fail":
		p.answer(id, `"error":{"code":-32000,"message":"not with `+os.Getenv("API_KEY")+`\u001b[31m","data":{"key":"`+os.Getenv("API_KEY")+`"}}`)
	case "alter":
		p.mu.Lock()
		p.changed = true
		p.mu.Unlock()
		p.answer(id, text("altered"))
	case "change":
		p.mu.Lock()
		p.changed = true
		p.mu.Unlock()
		p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		p.answer(id, text("changed"))
	}
}

// programDir is on PATH, and has the program.
func programDir() (dir, name string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return filepath.Dir(self), filepath.Base(self)
}
