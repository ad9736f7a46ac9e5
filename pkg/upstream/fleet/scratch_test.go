package fleet_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

func TestScratch(t *testing.T) {
	line := os.Getenv("SCRATCH")
	if line == "" {
		t.Skip()
	}
	d := is("real", "x")
	d.Command = strings.Fields(line)
	_ = upstream.Definition{}
	y := newYard(t, d).held()
	y.options.Environ = append(y.options.Environ, "HOME=/root")
	y.options.Definitions[0].Env = append(strings.Fields(os.Getenv("SCRATCHENV")), "HOME=/root")
	y.open()
	fmt.Println(y.Start(context.Background(), "real"), y.logged())
	fmt.Printf("%+v\n", y.States())
	for _, r := range strings.Split(os.Getenv("REQUESTS"), "\n") {
		if m, p, ok := strings.Cut(r, " "); ok {
			res, err := y.Request(context.Background(), "real", m, p)
			fmt.Printf("%.3000s %v\n", res, err)
		}
	}
}
