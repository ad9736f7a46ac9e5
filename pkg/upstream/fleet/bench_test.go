package fleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// BenchmarkTools lists 400 tools of 20 servers by their pins: in a process that has not read them, and in one that has.
func BenchmarkTools(b *testing.B) {
	var definitions []definition
	for i := range 20 {
		definitions = append(definitions, is(fmt.Sprintf("server-%d", i), "plain"))
	}
	y := newYard(b, definitions...)
	for _, d := range definitions {
		var tools []json.RawMessage
		for i := range 20 {
			properties := strings.Repeat(`"a_property_of_some_length":{"type":"string","description":"What it is for, in a sentence or two of the usual length."},`, 1)
			tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{%s"path":{"type":"string"}}}}`,
				i, strings.Repeat("What this tool does and when to use it. ", 10), properties)))
		}
		check.Value(catalogue.Open(fleet.FilesOf(y.options.UserDir, y.workspace, d).Pins).Observe(d, catalogue.Listing{Tools: tools}))(b)
	}
	b.Run("unread", func(b *testing.B) {
		for range b.N {
			f := fleet.Open(y.options)
			check.Equal(b, len(f.Tools(context.Background())), 400)
			check.OK(b, f.Close())
		}
	})
	f := fleet.Open(y.options)
	defer f.Close()
	b.Run("read", func(b *testing.B) {
		for range b.N {
			check.Equal(b, len(f.Tools(context.Background())), 400)
		}
	})
	for _, state := range f.States() {
		check.Equal(b, state.Status, fleet.Idle)
	}
}

// BenchmarkCall compares a call with one of the bare client, over pipes in this process and with a program.
func BenchmarkCall(b *testing.B) {
	ctx, arguments := context.Background(), json.RawMessage(`{"text":"hello"}`)
	compare := func(b *testing.B, f *fleet.Fleet, client *mcpclient.Client) {
		echo, ok := f.Tool("one_echo")
		check.Must(b, ok, "there is no tool")
		b.Run("bare", func(b *testing.B) {
			for range b.N {
				check.Value(client.Request(ctx, "tools/call", json.RawMessage(`{"name":"echo","arguments":{"text":"hello"}}`), mcpclient.Handlers{}))(b)
			}
		})
		b.Run("fleet", func(b *testing.B) {
			for range b.N {
				check.Value(f.Call(ctx, echo, arguments, mcpclient.Handlers{}))(b)
			}
		})
	}
	b.Run("pipes", func(b *testing.B) {
		y := newYard(b, is("one", "plain")).open()
		compare(b, y.Fleet, check.Value(y.Adopt(ctx, "one", inProcess()))(b))
	})
	b.Run("program", func(b *testing.B) {
		y := newYard(b, is("one", "plain")).open()
		y.tool("one_echo")
		compare(b, y.Fleet, y.Client("one"))
	})
}

// streams are both of a connection.
type streams struct {
	io.Reader
	io.Writer
	ends []io.Closer
}

func (s streams) Close() (err error) {
	for _, end := range s.ends {
		err = errors.Join(err, end.Close())
	}
	return err
}

// inProcess is a server in this process.
func inProcess() io.ReadWriteCloser {
	toServer, fromUs := io.Pipe()
	toUs, fromServer := io.Pipe()
	p := &program{way: "plain", out: bufio.NewWriter(fromServer)}
	go p.hear(toServer)
	return streams{toUs, fromUs, []io.Closer{fromUs, toUs, fromServer}}
}
