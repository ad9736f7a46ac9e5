package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/intent/intentmap"
	"github.com/intentgov/orchestra-mcp/pkg/server"
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
	return a.operatorCommand(&cobra.Command{
		Use:   "map",
		Short: "Make intent_map.md anew from the ledger",
		Long: `Write which files were changed under which intent between the markers of .orchestration/intent_map.md, from the
ledger. What stands around the markers stays. Servers keep the map too; this makes it whole again.`,
	}, a.writeMap)
}

func (a *app) writeMap(ctx context.Context, _ []string) error {
	var entries []intentmap.Entry
	if err := a.withServer(ctx, func(srv *server.Server) (err error) {
		entries, err = srv.WriteIntentMap(ctx)
		return err
	}); err != nil {
		return fmt.Errorf("intents map: %w", err)
	}
	files := 0
	written := records(entries, func(e intentmap.Entry) mapRecord {
		files += len(e.Files)
		return mapRecord{e.IntentID, e.Name, e.Status, records(e.Files, func(f intentmap.File) mapFile { return mapFile{f.Path, f.Changed} })}
	})
	a.answer(written, func() { a.Printf("Wrote .orchestration/intent_map.md: %d intents, %d files\n", len(written), files) })
	return nil
}
