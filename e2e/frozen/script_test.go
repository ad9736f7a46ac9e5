//go:build frozen

package frozen_test

import (
	"bytes"
	"embed"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// script is a case: its name, and its steps in their order.
type script struct {
	name  string
	steps []string
}

//go:embed testdata/*.txt
var testdata embed.FS

// scripts are the cases of testdata/GROUP.txt. A case begins with a line "=== NAME", a step is a line, with the lines
// below it that begin with a tab. "=== NAME-%x% x=a,b" is a case for each value.
//
//	$ LINE              a line of the shell, in the workspace
//	% ARGUMENT...       the program
//	%% ARGUMENT...      the program, then once more with --json
//	repeat N STEP       the step so often
//	do NAME             the steps of a case of testdata/common.txt
//	serve WORD...       the server, for a client
//	> TOOL {...}        a call; words of $NAME are what keep kept
//	rpc METHOD {...}    another request
//	line TEXT           a line that is no request, and the answer to it
//	answer {...}        what the client's user does with the next form
//	keep NAME REGEXP    the group of the expression, in what the step before printed
//	await REGEXP        the moment from which the newest record matches: a server writes some a little later
//	arguments           calls that no schema takes
//	helps               the help of every command
//	end                 the end of the server's input
//	kill                the end of the server, at whatever it does
//	old, tested         whose program it is from here on
func scripts(t *testing.T, group string) (cases []script) {
	t.Helper()
	text, err := testdata.ReadFile("testdata/" + group + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		words := strings.Fields(head)
		all := []string{words[0] + "\n" + body}
		for _, word := range words[1:] {
			variable, values, _ := strings.Cut(word, "=")
			var more []string
			for _, text := range all {
				for value := range strings.SplitSeq(values, ",") {
					more = append(more, strings.ReplaceAll(text, "%"+variable+"%", value))
				}
			}
			all = more
		}
		for _, text := range all {
			name, body, _ := strings.Cut(text, "\n")
			cases = append(cases, script{name, steps(t, body)})
		}
	}
	return cases
}

func steps(t *testing.T, body string) (all []string) {
	t.Helper()
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "\t"):
			all[len(all)-1] += "\n" + line[1:]
		case strings.HasPrefix(line, "repeat "):
			times, step, _ := strings.Cut(line[len("repeat "):], " ")
			n, _ := strconv.Atoi(times)
			all = append(all, slices.Repeat([]string{step}, n)...)
		case strings.HasPrefix(line, "do "):
			common := scripts(t, "common")
			i := slices.IndexFunc(common, func(s script) bool { return s.name == line[len("do "):] })
			if i < 0 {
				t.Fatalf("testdata/common.txt has no %s", line[len("do "):])
			}
			all = append(all, common[i].steps...)
		case line != "" && !strings.HasPrefix(line, "#"):
			all = append(all, line)
		}
	}
	return all
}

// play plays the steps of a case, and is the transcript as it was printed.
func (w *world) play(s script) string {
	w.t.Helper()
	for _, step := range s.steps {
		word, rest, _ := strings.Cut(step, " ")
		if !slices.Contains([]string{"keep", "answer", "await", "old", "tested"}, word) {
			w.say("\n%s\n", step)
		}
		switch word {
		case "$":
			w.run(rest)
		case "%":
			w.run("orchestra-mcp " + rest)
		case "%%":
			w.run("orchestra-mcp " + rest)
			w.run("orchestra-mcp " + rest + " --json")
		case "serve":
			w.serve(strings.Fields(rest)...)
		case ">":
			tool, arguments, _ := strings.Cut(rest, " ")
			w.call("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
		case "rpc":
			method, params, _ := strings.Cut(rest, " ")
			w.call(method, params)
		case "line":
			w.client.send(rest)
			w.last = w.client.answer(rest)
			w.say("%s", w.last)
		case "answer":
			w.client.reply = append(w.client.reply, json.RawMessage(rest))
		case "keep":
			w.keep(rest)
		case "await":
			w.await(regexp.MustCompile(rest))
		case "arguments":
			w.arguments()
		case "helps":
			w.helps("")
		case "end":
			w.last = w.client.end()
			w.client = nil
			w.say("%s", w.last)
		case "kill":
			w.client.kill()
			w.client = nil
		case "old", "tested":
			w.bin = w.programs[word]
		default:
			w.t.Fatalf("%s: no such step: %s", s.name, step)
		}
	}
	if w.client != nil {
		w.say("\nend\n%s", w.client.end())
	}
	return w.transcript.String()
}

// run is a step of the shell.
func (w *world) run(line string) {
	w.t.Helper()
	text, code := w.sh(line)
	w.last = text
	w.say("%sexit %d\n", text, code)
}

func (w *world) call(method, params string) {
	w.t.Helper()
	for name, value := range w.vars {
		quoted, _ := json.Marshal(value)
		params = strings.ReplaceAll(params, "$"+name, string(quoted[1:len(quoted)-1]))
	}
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(params)); err != nil {
		w.t.Fatalf("%s: %v", params, err)
	}
	w.last = w.client.request(method, line.String())
	w.say("%s", w.last)
}

func (w *world) await(newest *regexp.Regexp) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, _ := w.sh("orchestra-mcp log --json -n 1")
		switch {
		case newest.MatchString(text):
			return
		case time.Now().After(deadline):
			w.t.Errorf("no record matches %s, and the newest is %s", newest, text)
			return
		}
	}
}

// keep is what a later step can use; what is not there is said, so that the two transcripts tell it.
func (w *world) keep(rest string) {
	name, pattern, _ := strings.Cut(rest, " ")
	w.vars[name] = "nothing"
	if found := regexp.MustCompile(pattern).FindStringSubmatch(w.last); found != nil {
		w.vars[name] = found[1]
	} else {
		w.say("\nnothing to keep as %s\n", name)
	}
}
