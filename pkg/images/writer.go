package images

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxKnown bounds how many ids the writer remembers to have on disk.
	maxKnown = 10_000
	// refresh is how old an image's time may become before putting it again renews it.
	refresh = time.Hour
)

// writer is the state of the goroutine that writes. There is one at a time.
type writer struct {
	store   *Store
	encoder *zstd.Encoder
	dir     *os.Root             // open while something waits
	known   map[string]time.Time // ids that this process wrote, and when
	stock   stock
	failed  bool // said in the log
}

func newWriter(s *Store) writer {
	return writer{store: s, known: map[string]time.Time{}, stock: stock{recount: firstRecount}}
}

// rest lets go of the directory: somebody may delete it until there is more to write.
func (w *writer) rest() {
	if w.dir != nil {
		w.dir.Close()
		w.dir = nil
	}
}

// write keeps one image. Failing is no matter for anybody but the log: what is not kept is not there.
func (w *writer) write(i image) {
	err := w.keep(i)
	if errors.Is(err, fs.ErrNotExist) { // the directory was deleted meanwhile
		w.rest()
		err = w.keep(i)
	}
	if err == nil && w.stock.due(w.store.options.Size) {
		err = w.prune()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !w.failed {
		w.failed = true
		w.store.options.Logger.Warn().Err(err).Msg("before-images cannot be kept in .orchestration/cache/images; undo takes what git has")
	}
}

func (w *writer) keep(i image) error {
	if w.dir == nil {
		dir, err := directory(w.store.root, true)
		if err != nil {
			return err
		}
		w.dir = dir
	}
	now := w.store.options.Clock()
	if wrote, ok := w.known[i.id]; ok {
		if info, err := w.dir.Lstat(fileOf(i.id)); err == nil && info.Mode().IsRegular() {
			if now.Sub(wrote) < refresh {
				return nil
			}
			w.known[i.id] = now
			return w.dir.Chtimes(fileOf(i.id), now, now)
		}
	}
	// A file that is there already was not written by this process: it may be empty after a power cut, or anything.
	return w.replace(i, now)
}

// replace writes an image under a name of its own first: nobody sees half of it.
func (w *writer) replace(i image, now time.Time) error {
	packed, err := w.pack(i.content)
	if err != nil {
		return err
	}
	name := newPrefix + rand.Text()
	file, err := w.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(packed)
	if err = errors.Join(err, file.Close()); err == nil {
		err = w.dir.Chtimes(name, now, now)
	}
	if err == nil {
		err = w.dir.Rename(name, fileOf(i.id))
	}
	if err != nil {
		_ = w.dir.Remove(name)
		return err
	}
	if len(w.known) >= maxKnown {
		clear(w.known)
	}
	w.known[i.id] = now
	w.stock.add(int64(len(packed)))
	return nil
}

func (w *writer) pack(content []byte) ([]byte, error) {
	if w.encoder == nil {
		var err error
		w.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
	}
	return w.encoder.EncodeAll(content, nil), nil
}
