// Package union takes the lines of other copies of a ledger into the one of a workspace.
//
// It promises that the lines come byte for byte, each once, and that the next record follows those of them that nothing
// follows; that a record under the id of another one is refused; and that after a crash, what is missing is found missing by
// the next union. It does not promise that what the lines say is so: whoever sends lines can say anything in them.
package union

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/live"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/rotation"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// maxJoined bounds the lines of one union that the next record follows. Who sends a thousand beginnings does not make every
// later record name them.
const maxJoined = 256

// Lines gives lines without their newlines, each valid until yield returns, and ends with yield's error.
type Lines func(yield func(line []byte) error) error

// IDConflictError: a line has the id of a record that the ledger has, and is another one.
type IDConflictError struct {
	ID   string
	Have string // the hash of the record that the ledger has, hex
}

func (e *IDConflictError) Error() string {
	return fmt.Sprintf("it has another record under the id %s, whose line hashes to %s here", e.ID, e.Have)
}

// Union adds the lines of other copies of the ledger that the one of a workspace does not have, byte for byte. They go into
// archives, and the next record follows those of them that no line follows. While it lasts nothing else is moved into
// archives; records can be appended.
type Union struct {
	*rotation.Move
	packer  rotation.Packer
	release func()
	have    map[record.Hash]bool // whether a line only stands for what was kept back
	ids     map[uuid.UUID]record.Hash
	wanted  map[record.Hash]struct{} // that lines of the ledger follow and it does not have
	heads   segment.HeadFinder
	joined  map[record.Hash][]byte // the lines of some heads
	added   int
}

// Begin begins one where the ledger stands. It ends with Publish or Discard. It holds a hash for each line of the ledger.
func Begin(ctx context.Context, root *os.Root) (*Union, error) {
	release, err := rotation.LockRotation(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("unite the ledger with another: %w", err)
	}
	u := &Union{
		Move: &rotation.Move{Root: root, Disk: segment.RealDisk(), Limit: rotation.DefaultSize, Mode: 0o644}, release: release,
		have: map[record.Hash]bool{}, ids: map[uuid.UUID]record.Hash{}, wanted: map[record.Hash]struct{}{},
		heads: segment.HeadFinder{}, joined: map[record.Hash][]byte{},
	}
	u.packer.Move = u.Move
	if err := u.readHave(ctx); err != nil {
		u.Discard()
		return nil, fmt.Errorf("unite the ledger with another: %w", err)
	}
	return u, nil
}

// Discard ends the union, after Publish without an effect.
func (u *Union) Discard() {
	u.packer.Close()
	if u.release != nil {
		u.release()
		u.release = nil
	}
}

// Check reports why lines must not be added: ErrMalformed for what is no line of a ledger, or an IDConflictError.
func (u *Union) Check(lines Lines) error {
	own := map[uuid.UUID]record.Hash{}
	return lines(func(line []byte) error {
		hash, _, kind := segment.ReadChain(segment.Line{Data: line})
		if kind == record.LineGarbage {
			return record.ErrMalformed
		}
		id, is := idOf(line)
		if !is {
			return nil
		}
		for _, known := range []map[uuid.UUID]record.Hash{u.ids, own} {
			if have, taken := known[id]; taken && have != hash {
				return &IDConflictError{ID: id.String(), Have: have.String()}
			}
		}
		own[id] = hash
		return nil
	})
}

// idOf reads the id of a line of ours without parsing it.
func idOf(line []byte) (id uuid.UUID, is bool) {
	const key = `],"version":"` + record.TraceVersion + `","id":"`
	_, rest, found := bytes.Cut(line, []byte(key))
	if !found || len(rest) < 36 {
		return id, false
	}
	id, err := uuid.ParseBytes(rest[:36])
	return id, err == nil
}

// readHave counts what cannot be read as missing, so that it comes again.
func (u *Union) readHave(ctx context.Context) error {
	_, err := segment.EachLine(ctx, u.Root, func(line segment.RawLine) error {
		if !line.Whole {
			return nil
		}
		u.take(line.Hash, line.Data)
		prev, _ := record.ParsePrev(line.Data)
		for _, p := range prev {
			if _, has := u.have[p]; !has {
				u.wanted[p] = struct{}{}
			}
		}
		return nil
	})
	return err
}

func (u *Union) take(hash record.Hash, line []byte) {
	_, withheld := record.StandsFor(line)
	u.have[hash] = u.have[hash] || withheld
	if id, is := idOf(line); is {
		u.ids[id] = hash
	}
}

// Add takes in one line, which it does not keep; one that the ledger has already has no effect. ErrMalformed is for what is none.
func (u *Union) Add(data []byte) error {
	id, prev, kind := segment.ReadChain(segment.Line{Data: data})
	switch kind {
	case record.LineBlank:
		return nil
	case record.LineGarbage:
		return fmt.Errorf("a line of the other ledger: %w", record.ErrMalformed)
	}
	if stub, has := u.have[id]; has {
		if _, withheld := record.StandsFor(data); withheld || !stub {
			return nil
		}
		u.have[id] = false
	}
	u.take(id, data)
	u.added++
	u.heads.Take(id, prev)
	for _, p := range prev {
		delete(u.joined, p)
	}
	if _, followed := u.wanted[id]; !followed && len(u.joined) < maxJoined {
		u.joined[id] = slices.Clone(data)
	}
	return u.packer.Add(segment.Line{Data: data, Size: int64(len(data)) + 1})
}

// Publish puts all of it in place, on disk, and returns how many lines are new. With an error nothing is there that a
// second union would not find.
func (u *Union) Publish(ctx context.Context) (added int, err error) {
	defer u.Discard()
	if u.added == 0 {
		return 0, nil
	}
	err = u.packer.End()
	if err == nil {
		err = u.publish(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("unite the ledger with another: %w", err)
	}
	return u.added, nil
}

// publish puts the heads behind what is appended to, where a writer looks for whom to follow, and then the archives in
// place: what a crash in between left out is still missing for the next union.
func (u *Union) publish(ctx context.Context) error {
	unlock, err := segment.Lock(ctx, u.Root, true, segment.MendLockWait)
	if err != nil {
		return err
	}
	defer unlock()
	var content []byte
	for _, id := range slices.SortedFunc(maps.Keys(u.joined), record.CompareHash) {
		if _, is := u.heads[id]; is {
			content = append(append(content, u.joined[id]...), '\n')
		}
	}
	if err := live.PutBackIn(u.Root, segment.SingleName, content); err != nil {
		return err
	}
	undo, err := u.PublishArchives()
	if err != nil {
		undo()
	}
	return err
}
