package blame

import "context"

// blameAhead is git's answer for all lines of a file, asked for while the records are followed: most files had lines
// before they had records, and the two take about as long.
type blameAhead struct {
	path    string
	cancel  context.CancelFunc
	done    chan struct{}
	commits map[int]*Commit
	err     error
}

// fewLines is the part of a file's lines for which it is not waited for the answer about all: git's work grows with the
// lines that it has to follow, in a long history by far more than a new question costs.
const fewLines = 8

func (q *question) startBlame() *blameAhead {
	ctx, cancel := context.WithCancel(q.ctx)
	a := &blameAhead{path: q.path, cancel: cancel, done: make(chan struct{})}
	git := q.git
	go func() {
		defer close(a.done)
		a.commits, a.err = git.blame(ctx, a.path, nil, false)
	}()
	return a
}

// stop ends git, if it has not answered yet.
func (a *blameAhead) stop() {
	a.cancel()
	<-a.done
}

// answer gives what git said about a file, if it was asked about that one and is worth waiting for.
func (a *blameAhead) answer(path string, asked, lines int) (map[int]*Commit, bool) {
	if a == nil || a.path != path {
		return nil, false
	}
	select {
	case <-a.done:
	default:
		if asked*fewLines < lines {
			a.cancel()
		}
		<-a.done
	}
	return a.commits, a.err == nil
}
