package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// goreleaser is the newest version whose dependencies can all be had from the Go module proxy with this Go.
const goreleaser = "github.com/goreleaser/goreleaser/v2@v2.14.0"

// runGoreleaser makes binaries, archives, deb and rpm. It is always a "snapshot" of its: the version comes from the program,
// not from a tag that must exist, and nothing is published.
func (r *release) runGoreleaser(ctx context.Context) error {
	defer os.RemoveAll(generated)
	defer os.RemoveAll(goreleaserDist)
	if err := r.generate(ctx); err != nil {
		return err
	}
	env := []string{"VERSION=" + r.version, "SOURCE_DATE_EPOCH=" + r.epoch(), "MODIFIED=" + r.time.Format(time.RFC3339)}
	if err := command(ctx, env, "go", "run", goreleaser, "release", "--snapshot", "--clean"); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(goreleaserDist, "artifacts.json"))
	if err != nil {
		return err
	}
	var made []struct{ Name, Path, Goos, Goarch, Type string }
	if err := json.Unmarshal(raw, &made); err != nil {
		return err
	}
	for _, one := range made {
		switch one.Type {
		case "Binary":
			b := binary{one.Goos, one.Goarch, filepath.Join(r.work, one.Goos+"-"+one.Goarch)}
			if err := os.Rename(one.Path, b.path); err != nil {
				return err
			}
			r.binaries = append(r.binaries, b)
		case "Archive", "Linux Package":
			if err := os.Rename(one.Path, filepath.Join(r.out, one.Name)); err != nil {
				return err
			}
		}
	}
	// They are listed as they were finished.
	slices.SortFunc(r.binaries, func(a, b binary) int { return strings.Compare(a.platform(), b.platform()) })
	return nil
}

// goreleaserDist is as .goreleaser.yaml has it.
const goreleaserDist = ".goreleaser"
