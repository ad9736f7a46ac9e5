package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// maxUnsettled bounds the changes that are shown to people.
const maxUnsettled = 20

// printUnsettled tells of changes that have no record yet. They are no problem of the ledger: what stands in it holds, and
// the next server writes the rest.
func (a *app) printUnsettled(found []doctor.Interrupted) error {
	if len(found) == 0 {
		return nil
	}
	fmt.Fprintf(a.out, "\nNot settled: %s of servers that were killed, with no record yet. The next server that starts\n"+
		"writes it, or one that runs before its next change; nothing has to be done by hand.\n", numberOf(len(found), "change"))
	rows := [][]string{{"BEGAN", "INTENT", "WHAT"}}
	for _, i := range found[:min(len(found), maxUnsettled)] {
		rows = append(rows, []string{i.Began.UTC().Format(time.RFC3339), orNone(i.IntentID), clipped(i.What(), 100)})
	}
	if err := printTable(a.out, rows); err != nil {
		return err
	}
	if more := len(found) - maxUnsettled; more > 0 {
		fmt.Fprintf(a.out, "and %d more\n", more)
	}
	return nil
}

// untold are the notes of servers about calls and decisions without a record that no record tells of yet.
func untold(root *os.Root) (found []ledger.Problem) {
	const gaps = "state/gaps"
	entries, err := durable.ReadDirectoryIn(root, path.Join(".orchestration", gaps))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || path.Ext(e.Name()) != ".gap" {
			continue
		}
		p := ledger.Problem{Kind: ledger.ProblemUnrecorded, Segment: path.Join(gaps, e.Name()),
			Detail: "calls or decisions have no record; the next change through a server records how many"}
		if content, err := durable.ReadRegularIn(root, path.Join(".orchestration", p.Segment), 16<<20); err == nil {
			p.Detail = fmt.Sprintf("%d "+p.Detail, bytes.Count(content, []byte("\n")))
		}
		found = append(found, p)
	}
	return found
}
