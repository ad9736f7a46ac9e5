package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/intent/intentmap"
)

// mapRecord is an intent of the map as programs read it.
type mapRecord struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Status string    `json:"status"`
	Files  []mapFile `json:"files"`
}

type mapFile struct {
	Path    string    `json:"path"`
	Changed time.Time `json:"changed"`
}

func (a *app) newIntentsMapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "map",
		Short: "Make intent_map.md anew from the ledger",
		Long: "Write which files were changed under which intent between the markers of .orchestration/intent_map.md, from the\n" +
			"ledger. What stands around the markers stays. Servers keep the map too; this makes it whole again.",
		Args: cobra.NoArgs,
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, _ []string) error { return a.writeMap(cmd.Context(), *asJSON) })
	return cmd
}

func (a *app) writeMap(ctx context.Context, asJSON bool) error {
	srv, err := a.openServer()
	if err != nil {
		return err
	}
	entries, err := srv.WriteIntentMap(ctx)
	if err = errors.Join(err, srv.Close()); err != nil {
		return fmt.Errorf("intents map: %w", err)
	}
	if asJSON {
		return printJSON(a.out, mapRecords(entries))
	}
	files := 0
	for _, e := range entries {
		files += len(e.Files)
	}
	_, err = fmt.Fprintf(a.out, "Wrote .orchestration/intent_map.md: %d intents, %d files\n", len(entries), files)
	return err
}

func mapRecords(entries []intentmap.Entry) []mapRecord {
	records := []mapRecord{}
	for _, e := range entries {
		record := mapRecord{e.IntentID, e.Name, e.Status, []mapFile{}}
		for _, f := range e.Files {
			record.Files = append(record.Files, mapFile{f.Path, f.Changed})
		}
		records = append(records, record)
	}
	return records
}
