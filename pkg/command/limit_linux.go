package command

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// watchInterval is how often the watchdog looks.
const watchInterval = 10 * time.Millisecond

// fastAtLeast is how many tasks more the machine must have before a command is stopped to be counted.
const fastAtLeast = 64

// limits hold the commands of a family to their numbers of processes: by a control group each where there can be one, else
// by a watchdog with a limit of tasks behind it. RLIMIT_NPROC alone would not do: it counts all processes of the user, in all sessions,
// so the bound of a command would depend on what else runs, and it does not hold for root.
type limits struct {
	place func() (*cgroup.Parent, error) // found once, with the first command

	watching bool // under the family's lock
}

// limit is that of one command.
type limit struct {
	processesAllowed int
	group            *cgroup.Group // nil: the watchdog has it
	sealed, refused  bool
	over             chan struct{} // closed by the watchdog
}

func newLimit(processes int) limit {
	return limit{processesAllowed: processes, over: make(chan struct{})}
}

// enter has the next process that this thread starts begin in a group of its own, if there can be one.
func (l *limits) enter(p *process) (leave func() error) {
	nothing := func() error { return nil }
	parent, err := l.place()
	if err != nil {
		return nothing
	}
	group, err := parent.New(p.marker, p.limit.processesAllowed)
	if err != nil {
		return nothing
	}
	if leave, err = group.Enter(p.cmd.SysProcAttr); err != nil {
		group.Remove()
		return nothing
	}
	p.limit.group = group
	return leave
}

// drop gives the group up of a command that was not started.
func (l *limit) drop() {
	if l.group != nil {
		l.group.Remove()
	}
}

// tasks is how many processes and threads that limit lets through. It counts threads where the watchdog counts processes, so it
// is wider, and only there for the time that the watchdog needs.
func (l *limit) tasks() int { return 2*l.processesAllowed + 64 }

// limited is the profile with the limit in it, where no group counts.
func (l *limit) limited(profile *sandbox.Profile) *sandbox.Profile {
	if profile == nil || l.group != nil {
		return profile
	}
	own := *profile
	own.MaxTasks = l.tasks()
	return &own
}

// limitStarting limits what this process starts, for the moment in which a command is started.
func (l *limit) limitStarting() (open func()) {
	if l.group != nil {
		return func() {}
	}
	return sandbox.LimitStarted(l.tasks())
}

// limitStarted is for a command that has just started, in a profile without a limit.
func (l *limit) limitStarted(pid int, held *sandbox.Held) {
	if l.group == nil && held.Ended() == nil {
		sandbox.LimitTasks(pid, l.tasks())
	}
}

// seal lets the processes in the group make no more, and kills them at once where the kernel can.
func (l *limit) seal() {
	if l.group == nil {
		return
	}
	if !l.sealed {
		l.sealed, l.refused = true, l.group.Refused() > 0
	}
	l.group.Seal()
	l.group.Kill()
}

// reached reports whether the group refused a process before it was sealed.
func (l *limit) reached() bool {
	if l.sealed {
		return l.refused
	}
	return l.group.Refused() > 0
}

// processes are those in the group.
func (l *limit) processes() []int {
	if l.group == nil {
		return nil
	}
	return l.group.Processes()
}

// tooMany is closed when the watchdog has found too many processes.
func (p *process) tooMany() <-chan struct{} { return p.limit.over }

// bounded says how the command was held to its limit, and gives the group up.
func (p *process) bounded(result *Result) {
	l := &result.Limit
	l.Processes, l.By = p.limit.processesAllowed, ByWatchdog
	if group := p.limit.group; group != nil {
		l.By, l.Reached = ByControlGroup, p.limit.reached()
		if err := group.Remove(); err != nil && len(result.Survivors) == 0 {
			result.Warnings = append(result.Warnings, fmt.Sprintf("The control group of the command could not be removed: %v.", err))
		}
	}
	if l.By == ByWatchdog && p.tree.mostAtOnce() > l.Processes {
		l.Reached = true // the watchdog, or who ended the command, has seen it
	}
	switch {
	case l.Reached && l.By == ByControlGroup:
		result.Warnings = append(result.Warnings, fmt.Sprintf("The command wanted more than %d processes and threads at a time, which its control group refused.", l.Processes))
	case l.Reached:
		result.Warnings = append(result.Warnings, fmt.Sprintf("The command had more than %d processes at a time and was ended for it.", l.Processes))
	}
}

// guard starts the watchdog where a command has no group. The caller holds the lock.
func (f *family) guard() {
	if f.limits.watching || !f.unguarded() {
		return
	}
	f.limits.watching = true
	go f.watch()
}

// unguarded reports whether a command has only the watchdog. The caller holds the lock.
func (f *family) unguarded() bool {
	for _, p := range f.live {
		if p.limit.group == nil {
			return true
		}
	}
	return false
}

// watch ends what has too many processes, and itself with the last command that needs it. To look at the process table
// each time would cost a machine with many processes too much: it is done when the number of all tasks has grown, or once a
// second while there are enough of them for a command to have too many.
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

// judge ends the command if it has too many processes. Where they become more so fast that they could be too many by the
// time they are counted, its process group stands still for that: to stop it is one step of the kernel.
func (p *process) judge(fast bool) {
	if fast {
		unix.Kill(-p.pid, unix.SIGSTOP)
	}
	if len(p.members()) > p.limit.processesAllowed {
		p.limit.end()
		return
	}
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if fast && !p.tree.ending { // who ends it wants it to stand still
		unix.Kill(-p.pid, unix.SIGCONT)
	}
}

// end is called by the watchdog only.
func (l *limit) end() {
	select {
	case <-l.over:
	default:
		close(l.over)
	}
}

// watched are the commands that only the watchdog holds, and the least limit among them. The watch is on as long as one is
// left, also while it ends.
func (f *family) watched() (watched []*process, least int, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	least = 1 << 30
	for _, p := range f.live {
		if p.limit.group == nil && !p.tree.ending {
			watched = append(watched, p)
			least = min(least, p.limit.processesAllowed)
		}
	}
	f.limits.watching = f.unguarded()
	return watched, least, f.limits.watching
}

// tasksNow counts the processes and threads of the machine (proc_loadavg(5)): one read, whatever their number.
func tasksNow() int {
	line, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1 << 30
	}
	fields := bytes.Fields(line)
	if len(fields) < 4 {
		return 1 << 30
	}
	_, all, _ := bytes.Cut(fields[3], []byte("/"))
	tasks, err := strconv.Atoi(string(all))
	if err != nil {
		return 1 << 30
	}
	return tasks
}
