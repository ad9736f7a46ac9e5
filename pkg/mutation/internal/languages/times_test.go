package languages_test

import (
	"context"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// TestTimes tells what 1,000 lines cost: to read them (parse alone), and to
// judge a change of them, which reads two texts. It promises nothing. A machine
// that does other things at the same time is slower: the least of several runs
// counts, as time of the processor (of all threads) and by the clock.
func TestTimes(t *testing.T) {
	if sweptDirectory() == "" {
		t.Log("it takes real programs: ORCHESTRA_SWEEP")
		return
	}
	for _, language := range languages.Names() {
		first := time.Now()
		languages.Prepare(context.Background(), language)
		loaded := time.Since(first)
		texts, _ := sources(t, language, 12)
		if len(texts) == 0 {
			continue
		}
		lines, parsed, judged, clock := 0, 0.0, 0.0, 0.0
		for _, s := range texts {
			count := 0
			for _, c := range s.text {
				if c == '\n' {
					count++
				}
			}
			lines += count
			after := s.text + "\n"
			p, _ := least(7, func() { languages.Parse(language, []byte(s.text)) })
			j, c := least(7, func() { evidence(language, s.path, s.text, after) })
			parsed, judged, clock = parsed+p, judged+j, clock+c
		}
		per := func(seconds float64) float64 { return 1e6 * seconds / float64(lines) }
		t.Logf("%s: %d lines; ms for 1,000: parse %.1f (processor), judge %.1f (processor), %.1f (clock); to load the parser %.0f ms", language, lines, per(parsed), per(judged),
			per(clock), 1000*loaded.Seconds())
	}
}

// least runs a function some times and returns its least use of the processor
// and its least time, in seconds.
func least(times int, run func()) (processor, clock float64) {
	for i := range times {
		from, start := processorTime(), time.Now()
		run()
		used, passed := (processorTime() - from).Seconds(), time.Since(start).Seconds()
		if i == 0 || used < processor {
			processor = used
		}
		if i == 0 || passed < clock {
			clock = passed
		}
	}
	return processor, clock
}
