//go:build linux

package server_test

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// cutCalls are the system calls that change what a disk has, or what a descriptor means.
const cutCalls = "trace=open,openat,openat2,close,dup,dup2,dup3,fcntl,chdir,mkdir,mkdirat,rmdir,unlink,unlinkat,rename,renameat,renameat2," +
	"link,linkat,symlink,symlinkat,write,writev,pwrite64,pwritev,pwritev2,truncate,ftruncate,fallocate,copy_file_range,sendfile,splice,fsync,fdatasync,sync,syncfs,sync_file_range"

// cutTrace turns what strace saw of a server into operations on a cutDisk. It refuses what it does not know: an
// operation that it overlooked would be one that the test believes to be durable.
type cutTrace struct {
	disk *cutDisk
	root string // of the workspace, absolute
	fds  map[int]*cutFile
	open map[string]unfinished // by thread
}

// cutFile is an open file or directory of the workspace.
type cutFile struct {
	node     int
	position int64
	appends  bool
}

// unfinished is a call whose end stands on a later line.
type unfinished struct {
	text  string
	began int
}

var (
	traceLine    = regexp.MustCompile(`^(\d+) +(.*)$`)
	tracePause   = regexp.MustCompile(`^(.*?) *<unfinished \.\.\.>$`)
	traceResumed = regexp.MustCompile(`^<\.\.\. (\w+) resumed> ?(.*)$`)
	traceCall    = regexp.MustCompile(`(?s)^(\w+)\((.*)\) += (-?\d+)`)
	recordIDs    = regexp.MustCompile(`"record_id":"([0-9a-f-]+)"`)
)

func (tr *cutTrace) read(text string) error {
	for line := range strings.Lines(text) {
		m := traceLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return fmt.Errorf("not a line of strace: %.200q", line)
		}
		if err := tr.line(m[1], m[2]); err != nil {
			return fmt.Errorf("%w: %.300s", err, line)
		}
	}
	return nil
}

// line takes one line of a thread. A call counts when it ends; what it makes durable is what had ended when it began.
func (tr *cutTrace) line(thread, text string) error {
	began := len(tr.disk.ops)
	if strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") {
		return nil
	}
	if m := tracePause.FindStringSubmatch(text); m != nil {
		if strings.HasPrefix(m[1], "close(") {
			return tr.call(m[1]+") = 0", began) // the number can be given out again before the call ends
		}
		tr.open[thread] = unfinished{m[1], began}
		return nil
	}
	if m := traceResumed.FindStringSubmatch(text); m != nil {
		if m[1] == "close" {
			return nil
		}
		u := tr.open[thread]
		delete(tr.open, thread)
		text, began = u.text+m[2], u.began
	}
	return tr.call(text, began)
}

func (tr *cutTrace) call(text string, began int) error {
	m := traceCall.FindStringSubmatch(text)
	if m == nil {
		if strings.Contains(text, " = ?") {
			return nil // cut off by the end of the process
		}
		return fmt.Errorf("not a call")
	}
	result, _ := strconv.Atoi(m[3])
	if result < 0 {
		return nil
	}
	args := splitArguments(m[2])
	switch name := m[1]; name {
	case "openat", "openat2":
		return tr.opened(args, result)
	case "close":
		delete(tr.fds, number(args[0]))
	case "fcntl":
		f := tr.fds[number(args[0])]
		if strings.HasPrefix(args[1], "F_DUPFD") {
			tr.fds[result] = f
		} else if args[1] == "F_SETFL" && f != nil {
			f.appends = strings.Contains(args[2], "O_APPEND")
		}
	case "write":
		return tr.wrote(number(args[0]), unquote(args[1])[:result])
	case "pwrite64":
		at, _ := strconv.ParseInt(args[3], 10, 64)
		tr.wroteAt(tr.fds[number(args[0])], at, unquote(args[1])[:result])
	case "ftruncate":
		if f := tr.fds[number(args[0])]; f != nil {
			at, _ := strconv.ParseInt(args[1], 10, 64)
			tr.data(&cutWrite{node: f.node, at: at, resize: true})
		}
	case "fsync", "fdatasync":
		if f := tr.fds[number(args[0])]; f != nil {
			tr.disk.ops = append(tr.disk.ops, cutOp{flush: &cutFlush{f.node, began}})
		}
	case "symlinkat":
		if place, _, inside := tr.find(args[1], args[2]); inside {
			tr.make(place, cutNode{kind: fs.ModeSymlink, content: unquote(args[0])})
		}
	case "mkdirat", "unlinkat", "renameat", "renameat2", "linkat":
		return tr.renamed(name, args)
	default:
		return fmt.Errorf("unknown call")
	}
	return nil
}

func (tr *cutTrace) opened(args []string, fd int) error {
	delete(tr.fds, fd)
	place, node, inside := tr.find(args[0], args[1])
	if !inside {
		return nil
	}
	if node != noNode && tr.disk.nodes[node].kind&fs.ModeSymlink != 0 {
		return fmt.Errorf("opened a link")
	}
	if node == noNode {
		if !strings.Contains(args[2], "O_CREAT") {
			return fmt.Errorf("opened a file that is not there")
		}
		node = tr.make(place, cutNode{})
	} else if strings.Contains(args[2], "O_TRUNC") {
		tr.data(&cutWrite{node: node, resize: true})
	}
	tr.fds[fd] = &cutFile{node: node, appends: strings.Contains(args[2], "O_APPEND")}
	return nil
}

// make is a new file, directory or link.
func (tr *cutTrace) make(place binding, node cutNode) int {
	tr.disk.nodes = append(tr.disk.nodes, node)
	number := len(tr.disk.nodes) - 1
	tr.disk.rename(named{place, number})
	return number
}

func (tr *cutTrace) wrote(fd int, content []byte) error {
	f := tr.fds[fd]
	switch {
	case f == nil && fd == 1:
		op := cutOp{}
		for _, m := range recordIDs.FindAllSubmatch(content, -1) {
			op.acked = append(op.acked, string(m[1]))
		}
		tr.disk.ops = append(tr.disk.ops, op)
	case f != nil && f.appends:
		tr.wroteAt(f, int64(len(tr.live(f.node))), content)
	case f != nil:
		tr.wroteAt(f, f.position, content)
		f.position += int64(len(content))
	}
	return nil
}

func (tr *cutTrace) wroteAt(f *cutFile, at int64, content []byte) {
	if f != nil {
		tr.data(&cutWrite{node: f.node, at: at, content: content})
	}
}

func (tr *cutTrace) data(w *cutWrite) { tr.disk.ops = append(tr.disk.ops, cutOp{data: w}) }

// live is the content of a file as the process sees it.
func (tr *cutTrace) live(node int) []byte {
	content := tr.disk.nodes[node].content
	for _, op := range tr.disk.ops {
		if op.data != nil && op.data.node == node {
			content = op.data.apply(content)
		}
	}
	return content
}

func (tr *cutTrace) renamed(call string, args []string) error {
	place, node, inside := tr.find(args[0], args[1])
	if call == "mkdirat" || call == "unlinkat" {
		switch {
		case !inside:
		case call == "mkdirat":
			tr.make(place, cutNode{kind: fs.ModeDir})
		default:
			tr.disk.rename(named{place, noNode})
		}
		return nil
	}
	to, there, toInside := tr.find(args[2], args[3])
	if inside != toInside {
		return fmt.Errorf("renamed across the border of the workspace")
	}
	switch {
	case !inside:
	case call == "linkat":
		tr.disk.rename(named{to, node})
	case call == "renameat2" && strings.Contains(args[4], "RENAME_EXCHANGE"):
		tr.disk.rename(named{place, there}, named{to, node})
	default:
		tr.disk.rename(named{to, node}, named{place, noNode})
	}
	return nil
}

// find follows a path from a directory. inside is false for what is not in the workspace.
func (tr *cutTrace) find(dir, quoted string) (place binding, node int, inside bool) {
	name := path.Clean(string(unquote(quoted)))
	at := rootNode
	switch {
	case path.IsAbs(name):
		rel, ok := strings.CutPrefix(name+"/", tr.root+"/")
		if !ok {
			return place, noNode, false
		}
		name = path.Clean(rel)
	default:
		f := tr.fds[number(dir)]
		if f == nil {
			return place, noNode, false
		}
		at = f.node
	}
	place, node = binding{at, "."}, at
	for _, part := range strings.Split(name, "/") {
		if part == "." {
			continue
		}
		place = binding{node, part}
		next, ok := tr.disk.names[place]
		if node = next; !ok || next == noNode {
			node = noNode
		}
	}
	return place, node, true
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// splitArguments splits at commas outside of strings and structures. With -xx no string holds a quote or a bracket.
func splitArguments(text string) []string {
	var args []string
	depth, quoted, from := 0, false, 0
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case c == ',' && depth == 0:
			args = append(args, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(args, strings.TrimSpace(text[from:]))
}

// unquote reads a string as strace -xx prints it.
func unquote(text string) []byte {
	out, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(text, `"`), `\x`, ""))
	if err != nil {
		panic("not printed with -xx: " + text)
	}
	return out
}
