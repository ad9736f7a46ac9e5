package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// longIntents is how many intents share the long ledger. One more has no
// record there.
const longIntents = 20

// measureLedger is about a server on a long ledger.
func measureLedger(ctx context.Context, s *suite) ([]Row, error) {
	dir, err := s.workspace(longIntents + 1)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, ".orchestration")
	defer os.RemoveAll(home)
	if err := writeLedger(ctx, dir, s.records); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, "file.txt"), content(fileSize, 0)); err != nil {
		return nil, err
	}
	l := longLedger{suite: s, dir: dir, length: thousands(int64(s.records)) + " records"}
	var rows []Row
	for _, measure := range []func(context.Context) ([]Row, error){l.start, l.selects, l.questions, l.verify} {
		more, err := measure(ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// writeLedger writes a ledger of n records into a workspace.
func writeLedger(ctx context.Context, dir string, n int) error {
	if err := os.MkdirAll(filepath.Join(dir, ".orchestration"), 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return ledgertest.Write(ctx, root, ledgertest.Shape{Records: n, Intents: longIntents})
}

// longLedger is a workspace with one.
type longLedger struct {
	*suite
	dir    string
	length string
}

// start measures what a new server does first. The first record, which is
// that of the selection, has to know the heads of the file that it goes to,
// and the first question what no server has indexed yet; that has no bound of
// its own.
func (l longLedger) start(ctx context.Context) ([]Row, error) {
	first, _, err := l.starts(ctx, l.dir, pick(l.short, 3, 20))
	if err != nil {
		return nil, err
	}
	rows := []Row{atMost("process start to the answer of initialize, "+l.length, ms(first.p50()), 60, milliseconds, first.String())}
	for _, index := range []string{"without an index", "with an index"} {
		more, err := l.firstCalls(ctx, index)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	size, err := sizeBelow(filepath.Join(l.dir, ".orchestration", "cache", "index"))
	if err != nil {
		return rows, err
	}
	lines, err := sizeBelow(filepath.Join(l.dir, ".orchestration"))
	return append(rows, inform("size of the index, "+l.length, float64(size)/(1<<20), mebibytes,
		fmt.Sprintf("the ledger itself, mostly compressed, has %.1f MiB", float64(lines-size)/(1<<20)))), err
}

func (l longLedger) firstCalls(ctx context.Context, index string) ([]Row, error) {
	p, err := l.served(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	rows := []Row{memoryRowOf(p)("memory (VmRSS) of an idle server " + index + ", " + l.length)}
	selected, answer, err := p.call("select_active_intent", args{"intent_id": intentID(0)})
	if err != nil {
		return rows, err
	}
	session, err := handleOf(answer)
	if err != nil {
		return rows, err
	}
	wrote, err := governedWrite(p, session, strings.ReplaceAll(index, " ", "-")+".txt")()
	if err != nil {
		return rows, err
	}
	rows = append(rows, inform("first selection of a server "+index+", "+l.length, ms(selected), milliseconds,
		fmt.Sprintf("the first write_to_file behind it took %s", short(wrote))))
	return append(rows, memoryRowOf(p)("memory (VmRSS) after a first write, "+index+", "+l.length)), nil
}

func sizeBelow(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

func (l longLedger) selects(ctx context.Context) ([]Row, error) {
	settleDisk()
	p, err := l.served(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	bare, err := newBareWrite(filepath.Join(l.dir, "bare"), recordSize)
	if err != nil {
		return nil, err
	}
	defer bare.close()
	taken, err := interleave(ctx, pick(l.short, 30, 400), selecting(p), timed(bare.append))
	if err != nil {
		return nil, err
	}
	rare, err := interleave(ctx, pick(l.short, 30, 400), p.caller("select_active_intent", args{"intent_id": intentID(longIntents)}))
	if err != nil {
		return nil, err
	}
	flush := fmt.Sprintf("; one bare ledger flush, which each selection waits for: %s", taken[1])
	return []Row{
		atMost("select_active_intent with recent trace, p99, "+l.length, ms(taken[0].p99()), 5, milliseconds, taken[0].String()+flush),
		atMost("the same for an intent without changes, p99, "+l.length, ms(rare[0].p99()), 5, milliseconds, rare[0].String()),
		memoryRowOf(p)("memory (VmRSS) after all these selections, " + l.length),
	}, nil
}

// questions are about one file that was changed rarely, and of which the
// records stand in many segments.
func (l longLedger) questions(ctx context.Context) ([]Row, error) {
	p, err := l.served(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	rare := ledgertest.Path(1900)
	asked, err := interleave(ctx, pick(l.short, 5, 100), p.caller("query_trace", args{"path": rare, "limit": 5}))
	if err != nil {
		return nil, err
	}
	listed, err := interleave(ctx, pick(l.short, 2, 10), timed(func() error {
		cmd := exec.CommandContext(ctx, l.program, "log", "--workspace", l.dir, "--path", rare, "--json")
		cmd.Dir, cmd.Env = l.dir, l.environment()
		out, err := cmd.Output()
		if err == nil && len(out) == 0 && !l.short {
			err = errors.New("log finds no record of " + rare)
		}
		return err
	}))
	if err != nil {
		return nil, err
	}
	return []Row{
		inform("query_trace, the last 5 records of a file, p50, "+l.length, ms(asked[0].p50()), milliseconds, asked[0].String()),
		inform("`log --path`, start to end, p50, "+l.length, ms(listed[0].p50()), milliseconds, listed[0].String()),
	}, nil
}

// selecting selects one intent after the other: each selection is a record of
// its intent, and those of a single one would soon be all that is recent.
func selecting(p *peer) action {
	next := 0
	return func() (time.Duration, error) {
		next++
		took, _, err := p.call("select_active_intent", args{"intent_id": intentID(next % longIntents)})
		return took, err
	}
}

// append is the ledger's part of a bare write.
func (b *bareWrite) append() error {
	if _, err := b.ledger.Write(b.record); err != nil {
		return err
	}
	return flushData(b.ledger)
}

func (l longLedger) verify(ctx context.Context) ([]Row, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	records := 0
	taken, err := interleave(ctx, pick(l.short, 1, 3), timed(func() error {
		report, err := ledger.Verify(ctx, root)
		if err == nil && len(report.Problems) > 0 {
			err = fmt.Errorf("the generated ledger does not verify: %+v", report.Problems[0])
		}
		records = report.Records
		return err
	}))
	if err != nil {
		return nil, err
	}
	perSecond := float64(records) / taken[0].p50().Seconds()
	return []Row{atLeast("verify, "+l.length, perSecond, 200_000, recordsSecond, taken[0].String())}, nil
}
