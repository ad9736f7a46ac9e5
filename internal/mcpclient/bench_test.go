package mcpclient_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

// pipes are the streams of a server, through the kernel as those of a process are.
func pipes(b *testing.B) (client io.ReadWriteCloser, in *os.File, out *os.File) {
	in, toServer, err := os.Pipe()
	check.OK(b, err)
	fromServer, out, err := os.Pipe()
	check.OK(b, err)
	return &streams{Reader: fromServer, Writer: toServer, ends: []io.Closer{fromServer, toServer, in, out}, shut: make(chan struct{})}, in, out
}

// serveEcho answers each line that has an id with a result of that size, and the opening, with the least work that it takes.
func serveEcho(in io.Reader, out io.Writer, opening string, size int) {
	lines := bufio.NewReaderSize(in, 1<<20)
	result := `,"result":{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}` + "\n"
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		_, after, has := bytes.Cut(line, []byte(`"id":`))
		if !has {
			continue
		}
		id, _, _ := bytes.Cut(after, []byte(","))
		answer := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
		if bytes.Contains(line, []byte(`"tools/call"`)) || bytes.Contains(line, []byte(`"bare"`)) {
			answer = append(answer, result...)
		} else {
			answer = append(answer, opening...)
		}
		if _, err := out.Write(answer); err != nil {
			return
		}
	}
}

// BenchmarkRequest is a call and its answer, beside the same bytes through the same pipes without a client (bare).
func BenchmarkRequest(b *testing.B) {
	params := json.RawMessage(`{"name":"echo","arguments":{"text":"` + strings.Repeat("y", 200) + `"}}`)
	for _, size := range []int{100, 4 << 10, 64 << 10} {
		b.Run("bare/"+bytesText(size), func(b *testing.B) {
			client, in, out := pipes(b)
			defer client.Close()
			go serveEcho(in, out, "", size)
			lines := bufio.NewReaderSize(client, 1<<20)
			request := []byte(`{"jsonrpc":"2.0","id":123456789,"method":"bare","params":` + string(params) + "}\n")
			for b.Loop() {
				_, err := client.Write(request)
				check.OK(b, err)
				_, err = lines.ReadSlice('\n')
				check.OK(b, err)
			}
		})
		for era, opening := range map[string]string{"initialize": `,"result":` + begun + "}\n", "modern": `,"result":` + discovered + "}\n"} {
			b.Run(era+"/"+bytesText(size), func(b *testing.B) {
				client, in, out := pipes(b)
				go serveEcho(in, out, opening, size)
				o := options
				o.Initialize = era == "initialize"
				c, err := mcpclient.Connect(b.Context(), client, o)
				check.OK(b, err)
				defer c.Close()
				b.ReportAllocs()
				for b.Loop() {
					_, err := c.Request(b.Context(), "tools/call", params, mcpclient.Handlers{})
					check.OK(b, err)
				}
			})
		}
	}
}

func bytesText(n int) string {
	if n < 1024 {
		return "100B"
	}
	return map[bool]string{true: "4KiB", false: "64KiB"}[n == 4<<10]
}
