package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
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
	trace := filepath.Join(dir, ".orchestration", "agent_trace.jsonl")
	if err := writeLedger(ctx, trace, s.records); err != nil {
		return nil, err
	}
	defer os.Remove(trace)
	defer os.RemoveAll(filepath.Join(filepath.Dir(trace), "archive"))
	if err := rotate(ctx, dir); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, "file.txt"), content(fileSize, 0)); err != nil {
		return nil, err
	}
	length := thousands(int64(s.records)) + " records"
	rows, err := s.longStart(ctx, dir, length)
	if err != nil {
		return rows, err
	}
	selects, err := s.longSelect(ctx, dir, length)
	rows = append(rows, selects...)
	if err != nil {
		return rows, err
	}
	row, err := s.verify(ctx, dir, length)
	return append(rows, row), err
}

// writeLedger writes a chained ledger of n small records. A ledger of that
// length through Append would take as many flushes.
func writeLedger(ctx context.Context, path string, n int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	at := time.Now().Add(-time.Duration(n) * time.Second)
	var prev []string
	for i := range n {
		line, err := ledger.Encode(ledger.Entry{Record: smallRecord(i), ID: uuid.NewString(), Time: at.Add(time.Duration(i) * time.Second), Prev: prev, ToolVersion: "bench"})
		if err != nil {
			return err
		}
		sum := sha256.Sum256(line)
		prev = []string{hex.EncodeToString(sum[:])}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
		if i%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(out.Flush(), file.Sync(), file.Close())
}

// rotate brings the ledger into the form that it would have grown to.
func rotate(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	records, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		return err
	}
	return errors.Join(records.Rotate(ctx), records.Close(ctx))
}

func smallRecord(i int) ledger.Record {
	return ledger.Record{
		Kind: ledger.KindMutation, IntentID: intentID(i % longIntents), Call: "edit_file",
		MutationClass: "INTENT_EVOLUTION", Contributor: ledger.Contributor{Type: ledger.ContributorAI},
		Changes: []ledger.Change{{Path: fmt.Sprintf("src/%d.go", i%500), Op: ledger.OpModified, Hunks: [][4]int{{i % 90, 1, i % 90, 2}}}},
	}
}

// longStart measures what a new server does first. The first record, which is
// that of the selection, has to know the heads of the whole ledger; it has no
// bound of its own.
func (s *suite) longStart(ctx context.Context, dir, length string) ([]Row, error) {
	first, _, err := s.starts(ctx, dir, pick(s.short, 3, 20))
	if err != nil {
		return nil, err
	}
	rows := []Row{atMost("process start to the answer of initialize, "+length, ms(first.p50()), 60, milliseconds, first.String())}
	p, err := s.served(ctx, dir)
	if err != nil {
		return rows, err
	}
	defer p.close()
	rows = append(rows, memoryRowOf(p)("memory (VmRSS) of an idle server, "+length))
	selected, answer, err := p.call("select_active_intent", args{"intent_id": intentID(0)})
	if err != nil {
		return rows, err
	}
	session, err := handleOf(answer)
	if err != nil {
		return rows, err
	}
	wrote, err := governedWrite(p, session, "first.txt")()
	if err != nil {
		return rows, err
	}
	rows = append(rows, inform("first selection of a server, "+length, ms(selected), milliseconds,
		fmt.Sprintf("it reads the file that is appended to for its heads; the first write_to_file behind it took %s", short(wrote))))
	return append(rows, memoryRowOf(p)("memory (VmRSS) after a first write, "+length)), nil
}

func (s *suite) longSelect(ctx context.Context, dir, length string) ([]Row, error) {
	p, err := s.served(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer p.close()
	bare, err := newBareWrite(filepath.Join(dir, "bare"), recordSize)
	if err != nil {
		return nil, err
	}
	defer bare.close()
	taken, err := interleave(ctx, pick(s.short, 30, 400), selecting(p), timed(bare.append))
	if err != nil {
		return nil, err
	}
	rare, err := interleave(ctx, pick(s.short, 5, 20), p.caller("select_active_intent", args{"intent_id": intentID(longIntents)}))
	if err != nil {
		return nil, err
	}
	return []Row{
		atMost("select_active_intent with recent trace, p99, "+length, ms(taken[0].p99()), 5, milliseconds,
			fmt.Sprintf("%s; one bare ledger flush, which each selection waits for: %s", taken[0], taken[1])),
		atMost("the same for an intent without records, p99, "+length, ms(rare[0].p99()), 5, milliseconds,
			rare[0].String()+"; without an index all is read"),
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

func (s *suite) verify(ctx context.Context, dir, length string) (Row, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Row{}, err
	}
	defer root.Close()
	records := 0
	taken, err := interleave(ctx, pick(s.short, 1, 5), timed(func() error {
		report, err := ledger.Verify(ctx, root)
		if err == nil && len(report.Problems) > 0 {
			err = fmt.Errorf("the generated ledger does not verify: %+v", report.Problems[0])
		}
		records = report.Records
		return err
	}))
	if err != nil {
		return Row{}, err
	}
	perSecond := float64(records) / taken[0].p50().Seconds()
	return atLeast("verify, "+length, perSecond, 200_000, recordsSecond, taken[0].String()), nil
}
