package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const (
	ledgerFile = orchdir.Name + "/agent_trace.jsonl"
	// verifyTime bounds the check of the ledger; that is more than a million records.
	verifyTime = 5 * time.Second
	// shownProblems bounds how many damages are listed one by one.
	shownProblems = 5
	// overgrown is a length that rotation, on by default at 16 MiB, keeps a file from.
	overgrown = 256 << 20
	// ahead is how much later than now a record may be; clocks of several machines differ.
	ahead = 5 * time.Minute
)

// findLedger finds where the ledger stands, or will.
func (e *examination) findLedger() (leave func()) {
	e.home = e.root
	if e.beside = locate.WillBeBeside(e.root, e.carried != settings.Tree); !e.beside {
		return func() {}
	}
	beside, err := os.OpenRoot(locate.Beside(e.Dir))
	if err != nil {
		return func() {} // no record has made it yet
	}
	e.home = beside
	return func() { beside.Close() }
}

// kept is the path of a part of the ledger, as a person can use it in the workspace.
func (e *examination) kept(name string) string {
	if e.home == e.root {
		return path.Join(orchdir.Name, name)
	}
	return filepath.Join(e.home.Name(), orchdir.Name, name)
}

func (e *examination) checkLedger() {
	if e.home != e.root {
		for _, part := range []string{"state", "cache", "trace", "archive"} {
			e.isDirectory(e.home, path.Join(orchdir.Name, part), e.kept(part))
		}
	}
	e.checkLength()
	e.checkLastTime()
	ctx, cancel := context.WithTimeout(e.ctx, verifyTime)
	defer cancel()
	keys, err := seal.KnownKeys(e.UserDir)
	if err != nil {
		e.warn(fmt.Sprintf("The public keys that you trust cannot be read: %v.", err), "Mend or delete the file that is named.", "")
	}
	report, err := seal.Verify(ctx, e.root, seal.VerifyOptions{Trusted: keys, Elsewhere: history.Elsewhere(e.root)})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.warn(fmt.Sprintf("The ledger is long, and was not checked to its end within %s.", verifyTime), "Check it whole.", e.self("verify"))
	case errors.Is(err, ledger.ErrNotInitialized):
		e.ok("there is none yet")
	case err != nil:
		e.fail(fmt.Sprintf("The ledger cannot be read: %v.", err), "Mend what is named there.", "")
	case len(report.Problems) > 0:
		e.damages(report.Problems)
	case report.Records == 0:
		e.checkEmpty(ctx, report.Report)
	case report.Unsealed > 0 && e.hasKey():
		e.ok("%s, nothing missing; %d under no seal (%s)", number(report.Records, "record", "records"), report.Unsealed, e.self("seal"))
	default:
		e.ok("%s, nothing missing; %d under a seal that you trust", number(report.Records, "record", "records"), report.Sealed)
	}
}

// checkEmpty tells a ledger that nothing was written to from one that is gone.
func (e *examination) checkEmpty(ctx context.Context, report verify.Report) {
	if lost := history.CheckLost(ctx, e.root, report); len(lost) > 0 {
		e.damages(lost)
		return
	}
	e.ok("empty: nothing has been recorded here yet")
}

func (e *examination) hasKey() bool {
	_, err := seal.LoadKey(e.UserDir)
	return err == nil
}

func (e *examination) damages(problems []ledger.Problem) {
	for i, p := range problems {
		if i == shownProblems {
			e.fail(fmt.Sprintf("The ledger has %d more problems.", len(problems)-i), "See them all.", e.self("verify"))
			return
		}
		where := p.Segment
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, p.Line)
		}
		message := fmt.Sprintf("%s: %s: %s", where, p.Kind, sentence(p.Detail))
		remedy, command := e.remedyOfDamage(p)
		if p.Kind == ledger.ProblemTorn {
			e.warn(message, remedy, command)
			continue
		}
		e.fail(message, remedy, command)
	}
}

func (e *examination) remedyOfDamage(p ledger.Problem) (remedy, command string) {
	switch p.Kind {
	case ledger.ProblemTorn:
		return "The next record sets it aside, or do it now.", e.self("ledger repair")
	case ledger.ProblemMissing, ledger.ProblemSealed, history.ProblemLost:
		return "Bring it back from git, if a commit has it; else from a backup.", e.self("ledger restore")
	case ledger.ProblemIncomplete:
		return "Merge the branch that has it, or bring its records here: " + e.self("ledger restore --from REVISION") + ".", ""
	case ledger.ProblemMalformed:
		return "If it is a conflict marker of git, this takes it out; a line that was changed comes back from git or a backup.", e.self("ledger merge")
	case ledger.ProblemUnreadable:
		return "Make the file a regular one that you can read, or move it away.",
			"mv " + shellword.Show(e.kept(p.Segment)) + " " + shellword.Show(e.kept(p.Segment)+".moved")
	case ledger.ProblemArchive:
		if e.beside {
			return "An archive never changes: put any copy of it in its place, from another clone or a backup. Or move it away: " + e.self("sync") + " then brings the records that " + gitref.Ref + " has.",
				"mv " + shellword.Show(e.kept(p.Segment)) + " " + shellword.Show(e.kept(p.Segment)+".moved")
		}
		return "An archive never changes: take any copy of it, from git or a backup.", "git checkout -- " + shellword.Show(orchdir.Name+"/"+p.Segment)
	}
	return "See what can be done about it.", e.self("ledger repair")
}

func (e *examination) checkLength() {
	info, err := e.home.Lstat(ledgerFile)
	if err == nil && info.Mode().IsRegular() && info.Size() > overgrown {
		e.warn(fmt.Sprintf("%s has %d MiB: it was never rotated, and git has to keep it whole.", e.kept(path.Base(ledgerFile)), info.Size()>>20),
			"Set ledger.segment_size (default 16MiB); the next record then moves old lines into archive/.", "")
	}
}

// checkLastTime finds a clock that was put back: what is recorded now would stand before what was recorded then.
func (e *examination) checkLastTime() {
	line, err := lastLine(e.home, ledgerFile)
	if err != nil {
		return // the verification says what is wrong with the file
	}
	last, err := record.Parse(line)
	if err == nil && last.Time.After(e.Now().Add(ahead)) {
		e.warn(fmt.Sprintf("The last record is of %s, which is still to come: the clock was put back, or that of another machine is ahead.",
			last.Time.UTC().Format(time.RFC3339)), "Set the system's clock.", "timedatectl set-ntp true")
	}
}

// lastLine gives the last whole line of a file of the workspace, if it is not longer than 1 MiB.
func lastLine(root *os.Root, name string) ([]byte, error) {
	file, info, err := durable.OpenRegularIn(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tail := make([]byte, min(info.Size(), 1<<20))
	if _, err := file.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	tail = tail[:bytes.LastIndexByte(tail, '\n')+1]
	tail = bytes.TrimSuffix(tail, []byte("\n"))
	return tail[bytes.LastIndexByte(tail, '\n')+1:], nil
}
