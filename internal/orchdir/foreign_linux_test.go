//go:build !portable

package orchdir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// TestForeignStress lets an editor that takes no lock save by rename while rewrites go on. The number that it saves is
// carried along by every rewrite, so a rewrite that destroyed a save brings an older number back.
func TestForeignStress(t *testing.T) {
	d := newDirectory(t)
	d.write("a", "0 ")
	saves := check.Rounds(100, 3000)
	stop := make(chan struct{})
	var rewrites sync.WaitGroup
	rewrites.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			err := orchdir.Rewrite(context.Background(), d.file("a"), func(old []byte) ([]byte, error) {
				number, _, _ := strings.Cut(string(old), " ")
				return []byte(number + " " + time.Now().String()), nil
			})
			check.That(t, err == nil || errors.Is(err, orchdir.ErrBusy), "rewrite: %v", err)
		}
	})
	defer rewrites.Wait()
	defer close(stop)
	for n := 1; n <= saves; n++ {
		d.write("a~", fmt.Sprintf("%d ", n))
		check.OK(t, os.Rename(filepath.Join(d.path, "a~"), filepath.Join(d.path, "a")))
		// An exchange that turns out to be wrong is undone at once, but can be seen until then.
		deadline := time.Now().Add(time.Minute)
		for !strings.HasPrefix(d.read("a"), fmt.Sprintf("%d ", n)) {
			check.Must(t, !time.Now().After(deadline), "save %d is lost: %q", n, d.read("a"))
			time.Sleep(100 * time.Microsecond)
		}
	}
}
