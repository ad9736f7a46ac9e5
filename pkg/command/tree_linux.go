package command

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// identity tells a process from a later one with the same id.
type identity struct {
	pid   int
	start uint64
}

// tree is what is known of a command's processes.
type tree struct {
	start  uint64            // of the shell
	frozen map[identity]bool // by whoever ends it
	ending bool              // under the family's lock

	mu       sync.Mutex        // one walk at a time, be it the watchdog's or that of who ends it
	known    map[identity]bool // found once: it stays a member when its parent dies
	strange  map[identity]bool // found without the marker once
	sessions map[int]bool
	most     int // how many were found at a time
}

func (t *tree) mostAtOnce() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most
}

// plant begins the tree with the shell.
func (p *process) plant() {
	p.tree.known, p.tree.frozen, p.tree.strange = map[identity]bool{}, map[identity]bool{}, map[identity]bool{}
	p.tree.sessions = map[int]bool{p.pid: true}
	if shell, err := readStat(p.pid); err == nil {
		p.tree.start = shell.start
	}
}

// interrupt asks the shell's process group to end; the rest gets no warning. Who belongs to the command is found before,
// because what the group leaves behind may not be recognised any more.
func (p *process) interrupt() {
	p.members()
	unix.Kill(-p.pid, unix.SIGTERM)
}

// sweep kills the shell and all that belongs to it, and returns the process ids of what does not die. What was killed has
// the grace to be gone; how long the walks take on a busy machine does not count.
func (p *process) sweep(grace time.Duration) []int {
	p.family.ending(p)
	if p.held.Ended() != nil && p.endNamespace(grace) {
		return nil
	}
	var members []stat
	for range maxRounds {
		members = p.freeze(true)
		if len(members) == 0 {
			return nil
		}
		mortal := p.kill(members)
		if members = awaitDeath(members, grace); mortal == 0 || len(members) > 0 {
			break
		}
	}
	return pids(members)
}

// busy reports whether anything of the command runs beside its first process, which has ended or lasts as long as its namespace.
func (p *process) busy() bool {
	return slices.ContainsFunc(p.members(), func(member stat) bool { return member.pid != p.pid })
}

// endNamespace kills the first process of the command's own process namespace, with which all the others die: when it can
// be waited for, none is left (pid_namespaces(7)). False if it does not die.
func (p *process) endNamespace(grace time.Duration) bool {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false
	}
	gone := make(chan struct{})
	go func() {
		p.waitUnreaped()
		close(gone)
	}()
	return within(grace, gone)
}

// sealRound is when processes that go on forking are no longer given the time for it, where their group can be closed:
// then they say so on their output, so the others are spared it.
const sealRound = 3

// quietRounds is how many walks must find nothing new while processes are made, by this command or by others.
const quietRounds = 4

// maxRounds ends a race with processes that may not be stopped and go on forking. All others lose it in the first rounds.
const maxRounds = 50

// freeze stops every process of the command and returns them when no walk finds another one. A stopped process cannot
// fork, and a process that was not killed yet does not lose its children to somebody else.
// What is not to go on any more can be kept from making processes.
func (p *process) freeze(forGood bool) (members []stat) {
	quiet := 0
	for round := range maxRounds {
		if forGood && round == sealRound {
			p.limit.seal()
		}
		before := lastPID()
		members = p.members()
		fresh := false
		for _, member := range members {
			if p.tree.frozen[member.identity] {
				continue
			}
			p.tree.frozen[member.identity] = true
			fresh = true
			p.signal(member, unix.SIGSTOP)
		}
		if fresh {
			quiet = 0
			continue
		}
		// The table is not read in one moment: a process that was made meanwhile is not in it, and the one that made it can
		// have ended before its turn.
		if quiet++; quiet == quietRounds || lastPID() == before {
			break
		}
	}
	return members
}

// stopGrace is how long a process may take to stand still. One that waits for a device takes as long as that.
const stopGrace = 2 * time.Second

// hold stops all of the command, and resume has it go on. A signal is no more than asked for when it has been sent.
func (p *process) hold() {
	deadline := time.Now().Add(stopGrace)
	for _, member := range p.freeze(false) {
		for pause := 50 * time.Microsecond; !standsStill(member.pid) && time.Now().Before(deadline); pause = min(2*pause, 10*time.Millisecond) {
			time.Sleep(pause)
		}
	}
}

func (p *process) resume() {
	for _, member := range p.members() {
		if p.tree.frozen[member.identity] {
			p.signal(member, unix.SIGCONT)
		}
	}
	clear(p.tree.frozen)
}

// kill returns how many of the members can die of it.
func (p *process) kill(members []stat) (mortal int) {
	for _, member := range members {
		if err := p.signal(member, unix.SIGKILL); !errors.Is(err, os.ErrPermission) {
			mortal++
		}
	}
	return mortal
}

// awaitDeath returns those that are still alive after the grace.
func awaitDeath(members []stat, grace time.Duration) []stat {
	deadline := time.Now().Add(grace)
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		members = slices.DeleteFunc(members, func(member stat) bool {
			now, err := readStat(member.pid)
			return err != nil || now.dead || now.identity != member.identity
		})
		if len(members) == 0 || time.Now().After(deadline) {
			return members
		}
		time.Sleep(pause)
	}
}

// signal reaches the process itself through a descriptor that is opened before its identity is checked, so that a reused
// process id is not hit, and then its process group: only the kernel can reach all of a group before one of it forks.
func (p *process) signal(member stat, signal unix.Signal) error {
	handle, err := os.FindProcess(member.pid)
	if err != nil {
		return err
	}
	defer handle.Release()
	now, err := readStat(member.pid)
	if err != nil || now.identity != member.identity {
		return os.ErrProcessDone
	}
	err = handle.Signal(signal)
	p.tree.mu.Lock()
	ours := p.tree.sessions[now.session]
	p.tree.mu.Unlock()
	if ours && now.group > 1 {
		unix.Kill(-now.group, signal)
	}
	return err
}

// members returns the living processes of the command.
func (p *process) members() []stat {
	p.tree.mu.Lock()
	defer p.tree.mu.Unlock()
	var grouped []int
	if group := p.limit.group; group != nil {
		grouped = group.Processes() // first: who is in the group is found in the table, or has ended
	}
	all, orphans := p.family.survey(p)
	self, found := os.Getpid(), map[int]bool{}
	for _, pid := range grouped {
		if _, alive := all[pid]; alive && pid > 1 && pid != self {
			found[pid] = true
		}
	}
	for pid, process := range all {
		if pid > 1 && pid != self && (orphans[pid] || p.owns(process)) {
			found[pid] = true
		}
	}
	for p.learnSessions(all, found); grow(all, found, p.tree.sessions); {
		p.learnSessions(all, found)
	}
	var members []stat
	for pid := range found {
		if process := all[pid]; !process.dead {
			members = append(members, process)
			p.tree.known[process.identity] = true
		}
	}
	p.tree.most = max(p.tree.most, len(members))
	return members
}

// grow adds the children of what was found and the members of its sessions, and reports whether there were any.
func grow(all map[int]stat, found map[int]bool, sessions map[int]bool) (grown bool) {
	self := os.Getpid()
	for pid, process := range all {
		if pid > 1 && pid != self && !found[pid] && (found[process.parent] || sessions[process.session]) {
			found[pid], grown = true, true
		}
	}
	return grown
}

// owns reports whether a process belongs to the command by what it carries itself.
func (p *process) owns(process stat) bool {
	if p.tree.known[process.identity] || p.tree.sessions[process.session] {
		return true
	}
	if process.dead || process.start < p.tree.start || p.tree.strange[process.identity] {
		return false
	}
	markers, known := markersOf(process.pid)
	marked := slices.Contains(markers, p.marker)
	if known && !marked {
		p.tree.strange[process.identity] = true
	}
	return marked
}

// learnSessions takes over the sessions of the members, unless one is led by a living process that is no member: a
// marker that was handed to somebody else's process must not spread to its relatives.
func (p *process) learnSessions(all map[int]stat, found map[int]bool) {
	for pid := range found {
		session := all[pid].session
		leader, alive := all[session]
		if session > 1 && (found[session] || !alive || leader.dead) {
			p.tree.sessions[session] = true
		}
	}
}

func pids(members []stat) []int {
	var ids []int
	for _, member := range members {
		ids = append(ids, member.pid)
	}
	return ids
}

// survey reads the process table, and with adoption finds in it what may be an orphan of p.
func (f *family) survey(p *process) (all map[int]stat, orphans map[int]bool) {
	if !f.adopt {
		return readAllStats(), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all = readAllStats()
	return all, f.orphans(all, p)
}

// orphans returns the adopted processes that p, and no other command that still runs, can have left, and reaps the dead
// ones of all commands. The caller holds the lock.
func (f *family) orphans(all map[int]stat, p *process) map[int]bool {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	self, orphans := os.Getpid(), map[int]bool{}
	for pid, process := range all {
		if process.parent != self || process.session == own || f.live[pid] != nil {
			continue
		}
		if process.dead {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		} else if f.onlyFrom(process, p) {
			orphans[pid] = true
		}
	}
	return orphans
}

// ending says that p looks for its orphans now. Of two commands that end at the same time each must not leave a common
// orphan to the other.
func (f *family) ending(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.tree.ending = true
}

// onlyFrom reports that no other running command is old enough to have started the process, nor has it in its session. One with a
// process namespace of its own loses no process out of it.
func (f *family) onlyFrom(process stat, p *process) bool {
	for _, other := range f.live {
		if other != p && !other.tree.ending && other.held.Ended() == nil && (other.tree.start <= process.start || other.pid == process.session) {
			return false
		}
	}
	return true
}
