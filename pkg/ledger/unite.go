package ledger

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/google/uuid"
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
	*move
	packer  packer
	release func()
	have    map[digest]struct{}
	stubs   map[digest]struct{} // of these, the lines that only stand for what was kept back
	ids     map[uuid.UUID]digest
	wanted  map[digest]struct{} // that lines of the ledger follow and it does not have
	heads   headFinder
	joined  map[digest][]byte // the lines of some heads
	added   int
}

// BeginUnion begins one, which ends with Publish or Discard. It holds a hash for each line of the ledger.
func BeginUnion(ctx context.Context, root *os.Root) (*Union, error) {
	if _, err := homeInfo(root); err != nil {
		return nil, err
	}
	root, leave, err := stands(root)
	if err != nil {
		return nil, err
	}
	u, err := beginUnion(ctx, root)
	if err != nil {
		leave()
		return nil, err
	}
	release := u.release
	u.release = func() { release(); leave() }
	return u, nil
}

// beginUnion is BeginUnion where the ledger stands.
func beginUnion(ctx context.Context, root *os.Root) (*Union, error) {
	release, err := lockRotation(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("unite the ledger with another: %w", err)
	}
	u := &Union{
		move: &move{root: root, disk: realDisk(), limit: defaultSegmentSize, mode: 0o644}, release: release,
		have: map[digest]struct{}{}, stubs: map[digest]struct{}{}, ids: map[uuid.UUID]digest{}, wanted: map[digest]struct{}{}, heads: headFinder{}, joined: map[digest][]byte{},
	}
	u.packer.move = u.move
	if err := u.readHave(ctx); err != nil {
		u.Discard()
		return nil, fmt.Errorf("unite the ledger with another: %w", err)
	}
	return u, nil
}

// Discard ends the union, after Publish without an effect.
func (u *Union) Discard() {
	u.packer.close()
	if u.release != nil {
		u.release()
		u.release = nil
	}
}

// Check reports why lines must not be added: ErrMalformed for what is no line of a ledger, or an IDConflictError.
func (u *Union) Check(lines Lines) error {
	own := map[uuid.UUID]digest{}
	return lines(func(line []byte) error {
		hash, _, kind := readChain(rawLine{data: line})
		if kind == lineGarbage {
			return ErrMalformed
		}
		id, is := idOf(line)
		if !is {
			return nil
		}
		for _, known := range []map[uuid.UUID]digest{u.ids, own} {
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
	const key = `],"version":"` + traceVersion + `","id":"`
	_, rest, found := bytes.Cut(line, []byte(key))
	if !found || len(rest) < 36 {
		return id, false
	}
	id, err := uuid.ParseBytes(rest[:36])
	return id, err == nil
}

// readHave counts what cannot be read as missing, so that it comes again.
func (u *Union) readHave(ctx context.Context) error {
	_, err := eachLine(ctx, u.root, func(line RawLine) error {
		if !line.Whole {
			return nil
		}
		u.take(line.Hash, line.Data)
		prev, _ := parsePrev(line.Data)
		for _, p := range prev {
			if _, has := u.have[p]; !has {
				u.wanted[p] = struct{}{}
			}
		}
		return nil
	})
	return err
}

func (u *Union) take(hash digest, line []byte) {
	u.have[hash] = struct{}{}
	if _, withheld := standsFor(line); withheld {
		u.stubs[hash] = struct{}{}
	}
	if id, is := idOf(line); is {
		u.ids[id] = hash
	}
}

// Add takes in one line, which it does not keep; one that the ledger has already has no effect. ErrMalformed is for what is
// none.
func (u *Union) Add(data []byte) error {
	id, prev, kind := readChain(rawLine{data: data})
	switch kind {
	case lineBlank:
		return nil
	case lineGarbage:
		return fmt.Errorf("a line of the other ledger: %w", ErrMalformed)
	}
	if _, has := u.have[id]; has {
		_, stub := u.stubs[id]
		if _, withheld := standsFor(data); withheld || !stub {
			return nil
		}
		delete(u.stubs, id)
	}
	u.take(id, data)
	u.added++
	u.heads.take(id, prev)
	for _, p := range prev {
		delete(u.joined, p)
	}
	if _, followed := u.wanted[id]; !followed && len(u.joined) < maxJoined {
		u.joined[id] = slices.Clone(data)
	}
	return u.packer.add(rawLine{data: data, size: int64(len(data)) + 1})
}

// Publish puts all of it in place, on disk, and returns how many lines are new. With an error nothing is there that a
// second union would not find.
func (u *Union) Publish(ctx context.Context) (added int, err error) {
	defer u.Discard()
	if u.added == 0 {
		return 0, nil
	}
	err = u.packer.end()
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
	unlock, err := lockHome(ctx, u.root, true, repairLockWait)
	if err != nil {
		return err
	}
	defer unlock()
	var content []byte
	for _, id := range slices.SortedFunc(maps.Keys(u.joined), compareHash) {
		if _, is := u.heads[id]; is {
			content = append(append(content, u.joined[id]...), '\n')
		}
	}
	if err := putBackIn(u.root, singleName, content); err != nil {
		return err
	}
	undo, err := u.publishArchives()
	if err != nil {
		undo()
	}
	return err
}
