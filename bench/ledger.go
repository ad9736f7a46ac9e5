package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/backtest"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// longIntents is how many intents share the long ledger. One more has no record there.
const longIntents = 20

// measureLedger is about a server on a long ledger.
func measureLedger(s *suite) {
	dir := s.workspace(longIntents + 1)
	s.atEnd(func() error { return os.RemoveAll(filepath.Join(dir, ".orchestration")) })
	s.writeLedger(dir, s.records, s.keepPolicy(dir))
	writeFile(filepath.Join(dir, "file.txt"), content(fileSize, 0))
	l := longLedger{suite: s, dir: dir, length: thousands(int64(s.records)) + " records"}
	l.start()
	l.selects()
	l.verify()
	l.replay()
}

// writeLedger writes a ledger of n records into a workspace.
func (s *suite) writeLedger(dir string, n int, policy string) {
	root := must(os.OpenRoot(dir))
	defer root.Close()
	check(ledgertest.Write(s.ctx, root, ledgertest.Shape{Records: n, Intents: longIntents, Policy: policy}))
}

// keepPolicy keeps what the workspace's calls are judged by.
func (s *suite) keepPolicy(dir string) (digest string) {
	root := must(os.OpenRoot(dir))
	defer root.Close()
	return must(policies.Book{Root: root}.Put(policies.Policy{Intents: intent.Open(root).Texts(), Settings: policies.Of(settings.Defaults())}))
}

// replayedIntents have narrower scopes, rules and commands than those of the workspace.
func replayedIntents() []byte {
	text := "active_intents:\n"
	for i := range longIntents {
		text += fmt.Sprintf("  - {id: %s, name: Replayed, status: IN_PROGRESS, owned_scope: [\"src/{api,core,store}/**\", \"docs/**\"], "+
			"commands: {deny: [\"git push\", \"npm publish\"], ask: [\"npm install\"]}, "+
			"rules: [{name: no-lock, when: 'effect.path.endsWith(\".lock\")', action: ask}]}\n", ledgertest.Intent(i))
	}
	return []byte(text)
}

func (l longLedger) replay() {
	root := must(os.OpenRoot(l.dir))
	defer root.Close()
	records := must(ledger.Open(root, ledger.Options{}))
	defer records.Close(l.ctx)
	book := policies.Book{Root: root}
	policy := &policies.Policy{
		Intents:  intent.Open(root).Proposed(map[string][]byte{intent.FilePath: replayedIntents(), intent.IgnorePaths()[0]: []byte("secret:.env*\n/vendor/\n*.pem\n")}),
		Settings: policies.Of(settings.Defaults()),
	}
	detail := ""
	taken := l.interleave(pick(l.short, 1, 2), timed(func() {
		r := must(backtest.Run(l.ctx, backtest.Options{Dir: l.dir, Ledger: records, Book: book, Policy: policy}))
		if r.Changed() == 0 || len(r.Unknown) > 0 {
			check(fmt.Errorf("the calls are not judged: %+v, %+v", r.Counts, r.Unknown))
		}
		detail = fmt.Sprintf("; %s calls, %s decided otherwise", thousands(int64(r.Calls)), thousands(int64(r.Changed())))
	}))
	l.add(atMost("replay under other intents and rules, "+l.length, taken[0].p50().Seconds(), 30, seconds, taken[0].String()+detail))
}

// longLedger is a workspace with one.
type longLedger struct {
	*suite
	dir    string
	length string
}

// start measures what a new server does first. The first record, which is that of the selection, has to know the heads
// of the file that it goes to, and the first question what no server has indexed yet; that has no bound of its own.
func (l longLedger) start() {
	first, _ := l.starts(l.dir, pick(l.short, 3, 20))
	l.add(atMost("process start to the answer of initialize, "+l.length, ms(first.p50()), 60, milliseconds, first.String()))
	for _, index := range []string{"without an index", "with an index"} {
		p := l.started(l.dir)
		l.add(memoryOf(p, "memory (VmRSS) of an idle server "+index+", "+l.length))
		selected, answer := p.call("select_active_intent", args{"intent_id": intentID(0)})
		wrote := governedWrite(p, handleOf(answer), strings.ReplaceAll(index, " ", "-")+".txt")()
		l.add(inform("first selection of a server "+index+", "+l.length, ms(selected), milliseconds,
			fmt.Sprintf("the first write_to_file behind it took %s", short(wrote))))
		l.add(memoryOf(p, "memory (VmRSS) after a first write, "+index+", "+l.length))
		awaitIndex(p)
		check(p.close())
	}
}

// awaitIndex selects until the answer no longer says that the index is being made, as the server does behind it.
func awaitIndex(p *peer) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if _, answer := p.call("select_active_intent", args{"intent_id": intentID(0)}); !bytes.Contains(answer, []byte("index is still being made")) {
			return
		}
	}
	check(errors.New("no index was made in a minute"))
}

func (l longLedger) selects() {
	syncDisk()
	p := l.served(l.dir)
	bare := l.newBareWrite(filepath.Join(l.dir, "bare"), recordSize)
	n := pick(l.short, 30, 400)
	taken := l.interleave(n, selecting(p), timed(func() { check(bare.append()) }))
	rare := l.interleave(n, p.caller("select_active_intent", args{"intent_id": intentID(longIntents)}))
	flush := fmt.Sprintf("; one bare ledger flush, which each selection waits for: %s", taken[1])
	l.add(
		atMost("select_active_intent with recent trace, p99, "+l.length, ms(taken[0].p99()), 5, milliseconds, taken[0].String()+flush),
		atMost("the same for an intent without changes, p99, "+l.length, ms(rare[0].p99()), 5, milliseconds, rare[0].String()),
		memoryOf(p, "memory (VmRSS) after all these selections, "+l.length),
	)
	check(p.close())
}

// selecting selects one intent after the other: each selection is a record of its intent, and those of a single one
// would soon be all that is recent.
func selecting(p *peer) action {
	next := 0
	return func() time.Duration {
		next++
		took, _ := p.call("select_active_intent", args{"intent_id": intentID(next % longIntents)})
		return took
	}
}

func (l longLedger) verify() {
	root := must(os.OpenRoot(l.dir))
	defer root.Close()
	records := 0
	taken := l.interleave(pick(l.short, 1, 3), timed(func() {
		report := must(verify.Verify(l.ctx, root))
		if len(report.Problems) > 0 {
			check(fmt.Errorf("the generated ledger does not verify: %+v", report.Problems[0]))
		}
		records = report.Records
	}))
	l.add(atLeast("verify, "+l.length, float64(records)/taken[0].p50().Seconds(), 200_000, recordsSecond, taken[0].String()))
}
