// Command packaging makes every package of orchestra-mcp from the commit that is checked out, into one directory:
//
//	go run ./packaging
//
// Binaries, archives, deb and rpm are goreleaser's work (.goreleaser.yaml); the npm packages, the MCPB bundle, the OCI image,
// the registry's server.json, the Homebrew formula, the bill of materials and the checksums are made here.
//
// It promises that the same commit, the same SOURCE_DATE_EPOCH (in seconds; default: the commit's time) and the same Go give the
// same bytes. Of the image that holds as long as Debian's archive gives the same packages. It signs and publishes nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	out := flag.String("out", "dist", "the `directory` that is made; what is in it goes")
	binary := flag.String("binary", "", "pack only this `file`, a program for this machine, without what takes goreleaser: for tests")
	image := flag.Bool("image", true, "make the image too, which takes mmdebstrap")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *binary, *image); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, binary string, image bool) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	r, err := newRelease(ctx, out, work, binary)
	if err != nil {
		return err
	}
	steps := []func(context.Context) error{r.makeNPM, r.makeBundle, r.makeServerJSON, r.makeMaterials}
	if image {
		steps = append(steps, r.makeImage)
	}
	if binary == "" {
		steps = append([]func(context.Context) error{r.runGoreleaser}, append(steps, r.makeFormula)...)
	}
	for _, step := range append(steps, r.makeSums) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
