// Command bench measures what the project promises in numbers, and prints a table of rows: what was measured, the
// bound, and whether it holds.
//
//	go run ./bench            # all rows, some minutes
//	go run ./bench -short     # the same rows with few samples, for CI
//	go run ./bench -run write # the groups whose name matches
//
// Where a row compares, both sides take turns in one run on one file system, so that the machine's other load weighs
// on both; the row is the ratio of their medians. A bound that does not hold is a row that says so, never a failure
// of the program: that ends with 1 only when something could not be measured at all. README.md explains each row.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == echoServer {
		if tools, err := strconv.Atoi(os.Args[2]); err == nil {
			serveEcho(tools, os.Stdin, os.Stdout)
			return
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errUsage: the flags are wrong, and what is wrong has been printed.
var errUsage = errors.New("usage")

// group is the rows that share a set-up.
type group struct {
	name    string
	measure func(*suite)
}

func groups() []group {
	return []group{
		{"read", measureRead},
		{"write", measureWrite},
		{"gate", measureGate},
		{"sessions", measureSessions},
		{"start", measureStart},
		{"ledger", measureLedger},
		{"blame", measureBlame},
		{"command", measureCommand},
		{"hooks", measureHooks},
		{"console", measureConsole},
		{"search", measureSearch},
		{"tokens", measureTokens},
		{"upstreams", measureUpstreams},
	}
}

type options struct {
	short   bool
	records int
	only    *regexp.Regexp
	dir     string
	binary  string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "few samples and small ledgers: seconds instead of minutes")
	flags.IntVar(&o.records, "records", 0, "`length` of the long ledger; 0 is 1000000, or 5000 with -short")
	pattern := flags.String("run", "", "measure the groups that match the `regexp`: read, write, gate, sessions, start, ledger, blame, command, hooks, console, search, tokens, upstreams")
	flags.StringVar(&o.dir, "dir", os.TempDir(), "where the workspaces are made; its file system is what is measured")
	flags.StringVar(&o.binary, "binary", "", "measure this `program` instead of building it")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, errUsage
	}
	only, err := regexp.Compile(*pattern)
	if err != nil || flags.NArg() > 0 || o.records < 0 {
		fmt.Fprintln(stderr, "bench: -run takes a regular expression, -records a length, and there are no other arguments")
		return o, errUsage
	}
	o.only = only
	if o.records == 0 {
		o.records = pick(o.short, 5_000, 1_000_000)
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	s, err := newSuite(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	var failures []error
	for _, g := range groups() {
		if !o.only.MatchString(g.name) {
			continue
		}
		fmt.Fprintf(stderr, "measuring %s…\n", g.name)
		err := s.measure(g.measure)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", g.name, err))
		}
	}
	_, err = io.WriteString(stdout, table(s.machine(), s.rows))
	return errors.Join(append(failures, err)...)
}

// pick chooses between the short and the full form of a measurement.
func pick[T any](short bool, few, many T) T {
	if short {
		return few
	}
	return many
}
