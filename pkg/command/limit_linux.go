package command

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// watchInterval is how often the watchdog looks.
const watchInterval = 10 * time.Millisecond

// fastAtLeast is how many tasks more the machine must have before a command is stopped to be counted.
const fastAtLeast = 64

// limits hold the commands of a family to their numbers of processes: by a control group each where there can be one,
// else by a watchdog with a limit of tasks behind it. RLIMIT_NPROC alone would not do: it counts all processes of the
// user, in all sessions, so the bound of a command would depend on what else runs, and it does not hold for root.
type limits struct {
	place func() (*cgroup.Parent, error) // found once, with the first command

	watching bool // under the family's lock
}

// limit is that of one command.
type limit struct {
	processesAllowed int
	group            *cgroup.Group // nil: the watchdog has it
	noted, refused   bool
	over             chan struct{} // closed by the watchdog
}

// startLimited starts a command, which is held to its number of processes from its first instruction.
func (f *family) startLimited(p *process, spec *Spec) (*sandbox.Held, error) {
	p.limit = limit{processesAllowed: spec.MaxProcesses, over: make(chan struct{})}
	if leave := f.limits.enter(p); leave != nil {
		held, err := sandbox.Start(p.cmd, spec.Level, spec.Profile)
		if left := leave(); err != nil {
			p.limit.group.Remove()
			return nil, errors.Join(err, left)
		}
		return held, nil
	}
	// The limit counts threads where the watchdog counts processes, so it is wider, and only there for the time that
	// the watchdog needs.
	tasks, profile := 2*spec.MaxProcesses+64, spec.Profile
	if profile != nil {
		own := *profile
		own.MaxTasks = tasks
		profile = &own
	}
	unlimited := sandbox.LimitStarted(tasks)
	held, err := sandbox.Start(p.cmd, spec.Level, profile)
	unlimited()
	if err == nil && held.Ended() == nil {
		sandbox.LimitTasks(p.cmd.Process.Pid, tasks)
	}
	return held, err
}

// enter has the next process that this thread starts begin in a group of its own; nil if there can be none.
func (l *limits) enter(p *process) (leave func() error) {
	parent, err := l.place()
	if err != nil {
		return nil
	}
	group, err := parent.New(p.marker, p.limit.processesAllowed)
	if err != nil {
		return nil
	}
	if leave, err = group.Enter(p.cmd.SysProcAttr); err != nil {
		group.Remove()
		return nil
	}
	p.limit.group = group
	return leave
}

// note notes whether the group has refused a process, before it is sealed.
func (l *limit) note() {
	if !l.noted {
		l.noted, l.refused = true, l.group.Refused() > 0
	}
}

// seal lets the processes in the group make no more, and kills them at once where the kernel can.
func (l *limit) seal() {
	if l.group != nil {
		l.note()
		l.group.Seal()
		l.group.Kill()
	}
}

// tooMany is closed when the watchdog has found too many processes.
func (p *process) tooMany() <-chan struct{} { return p.limit.over }

// bounded says how the command was held to its limit, and gives the group up.
func (p *process) bounded(result *Result) {
	l, warning := &result.Limit, "The command had more than %d processes at a time and was ended for it."
	l.Processes, l.By = p.limit.processesAllowed, ByWatchdog
	if group := p.limit.group; group != nil {
		p.limit.note()
		l.By, l.Reached = ByControlGroup, p.limit.refused
		warning = "The command wanted more than %d processes and threads at a time, which its control group refused."
		if err := group.Remove(); err != nil && len(result.Survivors) == 0 {
			result.Warnings = append(result.Warnings, fmt.Sprintf("The control group of the command could not be removed: %v.", err))
		}
	} else {
		l.Reached = p.tree.mostAtOnce() > l.Processes // the watchdog, or who ended the command, has seen it
	}
	if l.Reached {
		result.Warnings = append(result.Warnings, fmt.Sprintf(warning, l.Processes))
	}
}

// guard starts the watchdog where a command has no group. The caller holds the lock.
func (f *family) guard(p *process) {
	if p.limit.group == nil && !f.limits.watching {
		f.limits.watching = true
		go f.watch()
	}
}

// watch ends what has too many processes, and itself with the last command that needs it. To look at the process table
// each time would cost a machine with many processes too much: it is done when the number of all tasks has grown, or
// once a second while there are enough of them for a command to have too many.
func (f *family) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	low, looked := 1<<30, time.Now()
	for range tick.C {
		watched, least, on := f.watched()
		if !on {
			return
		}
		tasks := tasksNow()
		low = min(low, tasks)
		if tasks < least || tasks < low+least/4 && time.Since(looked) < time.Second {
			continue
		}
		for _, p := range watched {
			p.judge(tasks >= low+max(least/2, fastAtLeast))
		}
		low, looked = tasks, time.Now()
	}
}

// judge is called by the watchdog only, and ends the command if it has too many processes. Where they become more so fast that they
// could be too many by the time they are counted, its process group stands still for that: to stop it is one step of the kernel.
func (p *process) judge(fast bool) {
	if fast {
		unix.Kill(-p.pid, unix.SIGSTOP)
	}
	if len(p.members()) > p.limit.processesAllowed {
		select {
		case <-p.limit.over:
		default:
			close(p.limit.over)
		}
		return
	}
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if fast && !p.tree.ending { // who ends it wants it to stand still
		unix.Kill(-p.pid, unix.SIGCONT)
	}
}

// watched are the commands that only the watchdog holds, and the least limit among them. The watch is on as long as one
// is left, also while it ends.
func (f *family) watched() (watched []*process, least int, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	least = 1 << 30
	for _, p := range f.live {
		on = on || p.limit.group == nil
		if p.limit.group == nil && !p.tree.ending {
			watched = append(watched, p)
			least = min(least, p.limit.processesAllowed)
		}
	}
	f.limits.watching = on
	return watched, least, on
}
