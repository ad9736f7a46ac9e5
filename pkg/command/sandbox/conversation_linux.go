package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// startGrace is how long a helper may take to start its command: a machine that takes longer is not going to.
const startGrace = 30 * time.Second

// instruct sends the plan, and returns nil when the command runs.
func instruct(conversation *os.File, plan *helper.Plan) error {
	encoded := plan.Encode()
	message := binary.LittleEndian.AppendUint32(nil, uint32(len(encoded)))
	conversation.SetDeadline(time.Now().Add(startGrace))
	if _, err := conversation.Write(append(message, encoded...)); err != nil {
		// It may have said why it does not listen.
		if _, _, told := receive(conversation); told != nil && !errors.Is(told, io.EOF) {
			return told
		}
		return fmt.Errorf("tell the helper: %w", err)
	}
	kind, _, err := receive(conversation)
	if err != nil {
		return fmt.Errorf("the helper did not start the command: %w", err)
	}
	if kind != helper.Started {
		return fmt.Errorf("the helper answered %q", kind)
	}
	conversation.SetDeadline(time.Time{})
	return nil
}

// listen hears of the end of the command, and then of the helper's.
func (h *Held) listen(conversation *os.File) {
	defer close(h.gone)
	defer conversation.Close()
	in := bufio.NewReaderSize(conversation, 16)
	kind, number, err := receive(in)
	if err == nil && kind == helper.Ended {
		h.status, h.known = syscall.WaitStatus(number), true
	}
	close(h.ended)
	io.Copy(io.Discard, in)
}

// receive reads one message. A step that failed is an error that wraps its number.
func receive(in io.Reader) (kind byte, number uint32, err error) {
	var head [5]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, 0, err
	}
	kind, number = head[0], binary.LittleEndian.Uint32(head[1:])
	if kind != helper.Failed {
		return kind, number, nil
	}
	text := make([]byte, 1)
	if _, err := io.ReadFull(in, text); err == nil {
		text = make([]byte, text[0])
		io.ReadFull(in, text)
	}
	return kind, number, fmt.Errorf("%s: %w", text, syscall.Errno(number))
}
