package mcpbridge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// BenchmarkStdioRoundTrip compares an echo call of 4 KiB over our stdio with
// one over mcp-go's own, in one run; "ratio" is ours over theirs at the median.
func BenchmarkStdioRoundTrip(b *testing.B) {
	text := strings.Repeat("x", 4<<10)
	ours := benchOurs(b)
	theirs := benchTheirs(b)
	var oursTook, theirsTook []time.Duration
	for i := range b.N {
		line := callLine(i, "echo", fmt.Sprintf(`{"text":%q}`, text))
		oursTook = append(oursTook, ours(line))
		theirsTook = append(theirsTook, theirs(line))
	}
	b.ReportMetric(float64(median(oursTook))/1000, "ours-p50-µs")
	b.ReportMetric(float64(median(theirsTook))/1000, "mcp-go-p50-µs")
	b.ReportMetric(float64(median(oursTook))/float64(median(theirsTook)), "ratio")
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

func benchOurs(b *testing.B) func(string) time.Duration {
	s := newServer(b, newHandler(b))
	return roundTrip(b, func(ctx context.Context, in io.Reader, out io.Writer) {
		_ = s.ServeStdio(ctx, in, out, mcpbridge.StdioOptions{})
	})
}

func benchTheirs(b *testing.B) func(string) time.Duration {
	s := server.NewMCPServer("theirs", "1")
	s.AddTool(mcp.NewToolWithRawSchema("echo", "", []byte(objectSchema)), func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(request.GetArguments(), fmt.Sprint(request.GetArguments())), nil
	})
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(io.Discard, "", 0))
	return roundTrip(b, func(ctx context.Context, in io.Reader, out io.Writer) {
		_ = stdio.Listen(ctx, in, out)
	})
}

func roundTrip(b *testing.B, serve func(context.Context, io.Reader, io.Writer)) func(string) time.Duration {
	inReader, in := io.Pipe()
	outReader, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	go serve(ctx, inReader, out)
	b.Cleanup(func() {
		cancel()
		in.Close()
		outReader.Close()
	})
	answers := bufio.NewReaderSize(outReader, 64<<10)
	send := func(line string) time.Duration {
		start := time.Now()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			b.Fatal(err)
		}
		answer, err := answers.ReadString('\n')
		check.Must(b, err == nil && !strings.Contains(answer, `"error"`), "%q, %v", answer, err)
		return time.Since(start)
	}
	send(initialize)
	return send
}
