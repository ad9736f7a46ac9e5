package native

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// A command that was let through waits as a job in .orchestration/state/native/jobs/<sha256 of its id>.json for the one process
// of `orchestra-mcp exec` that runs it. The id stands in the client's line alone.
const (
	jobsDir    = "jobs"
	jobClaimed = ".claimed"
	jobEnded   = ".ended"
	jobComing  = ".coming" // the job will be there, or its refusal
	maxJob     = 64 << 20
	// JobLife is how long a job waits for a person who is asked about it by the client.
	JobLife = time.Hour
)

// ErrJob: there is no such job for the caller. Why is told to nobody who could have made the id up.
var ErrJob = errors.New("this id is unknown, was used already, has expired, or is of another line or directory; nothing was run. " +
	"Lines with orchestra-mcp exec are made by the hook alone: send the command itself")

// Job is one command as it was judged.
type Job struct {
	Version int `json:"version"`
	// Refused is why the line does not run after all.
	Refused string    `json:"refused,omitempty"`
	Line    string    `json:"line"`
	Dir     string    `json:"dir"` // absolute
	Expires time.Time `json:"expires"`
	// Tells: the shell's last directory is wanted.
	Tells bool `json:"tells"`

	Level   sandbox.Level    `json:"level"`
	Profile *sandbox.Profile `json:"profile"`
	// Weaker is the profile for the level landlock, where that may do.
	Weaker       *sandbox.Profile `json:"weaker,omitempty"`
	Env          []string         `json:"env"`      // that the profile sets
	KeepEnv      []string         `json:"keep_env"` // commands.env
	MaxProcesses int              `json:"max_processes"`
}

func newJobID() string {
	var raw [20]byte
	_, _ = rand.Read(raw[:]) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw[:]))
}

func jobFile(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:]) + callSuffix
}

// announceJob says that a job will be there.
func (d *Desk) announceJob(id string) error {
	return d.inJobs(func(dir *os.Root) error {
		_ = dir.Remove(jobFile(id) + jobComing)
		return durable.WriteNew(dir, jobFile(id)+jobComing, nil, d.Clock(), false)
	})
}

// putJob writes a job, which exec finds by its id.
func (d *Desk) putJob(id string, j Job) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return d.inJobs(func(dir *os.Root) error {
		if err := d.place(dir, jobFile(id), data); err != nil {
			return err
		}
		return dir.Remove(jobFile(id) + jobComing)
	})
}

// refuseJob puts a refusal in the place of a job that was announced, for a minute.
func (d *Desk) refuseJob(id, why string) {
	announced := false
	_ = d.inJobs(func(dir *os.Root) error {
		_, err := dir.Lstat(jobFile(id) + jobComing)
		announced = err == nil
		return err
	})
	if !announced {
		return
	}
	if err := d.putJob(id, Job{Version: 1, Refused: why}); err == nil {
		time.AfterFunc(time.Minute, func() { d.dropJob(id) })
	}
}

func (d *Desk) dropJob(id string) {
	_ = d.inJobs(func(dir *os.Root) error {
		for _, suffix := range []string{"", jobClaimed, jobEnded, jobComing, partSuffix} {
			_ = dir.Remove(jobFile(id) + suffix)
		}
		return nil
	})
}

// Ending is how a command ended.
type Ending struct {
	ExitCode int           `json:"exit_code"`
	Level    sandbox.Level `json:"level"` // at which it ran
}

// LeaveEnding writes down how a job ended, for a server that cannot be told. Where the state cannot be written nobody knows.
func LeaveEnding(workspace, id string, e Ending) error {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	jobs, err := orchdir.Open(root, false, "state", callsDir, jobsDir)
	if err != nil {
		return err
	}
	defer jobs.Close()
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return durable.WriteNew(jobs, jobFile(id)+jobEnded, data, time.Now(), false)
}

// endingOf is what was left of a job.
func (d *Desk) endingOf(id string) (e Ending, known bool) {
	_ = d.inJobs(func(dir *os.Root) error {
		data, err := durable.ReadRegularIn(dir, jobFile(id)+jobEnded, 1<<10)
		known = err == nil && json.Unmarshal(data, &e) == nil
		return err
	})
	return e, known
}

func (d *Desk) inJobs(work func(*os.Root) error) error {
	return d.inCalls(func(dir *os.Root) error {
		jobs, err := durable.OpenOwn(dir, jobsDir, 0o700)
		if err != nil {
			return err
		}
		defer jobs.Close()
		return work(jobs)
	})
}

// removeOld removes jobs that nobody can run any more.
func (d *Desk) removeOld(dir *os.Root) error {
	names, err := fs.ReadDir(dir.FS(), ".")
	for _, name := range names {
		if info, err := name.Info(); err == nil && d.Clock().Sub(info.ModTime()) > JobLife {
			_ = dir.Remove(name.Name())
		}
	}
	return err
}

// jobHeld reports whether a process has a job, by its lock, and whether one has had it.
func (d *Desk) jobHeld(id string) (held, claimed bool) {
	_ = d.inJobs(func(dir *os.Root) error {
		for _, name := range []string{jobFile(id), jobFile(id) + jobClaimed} {
			file, _, err := durable.OpenRegularIn(dir, name, os.O_RDWR)
			if err != nil {
				continue
			}
			free, err := durable.TryLock(file)
			held, claimed = held || err == nil && !free, claimed || name != jobFile(id)
			file.Close()
		}
		return nil
	})
	return held, claimed
}

// ClaimJob takes the job of an id in a workspace, for one process: exec. The file that it returns is locked until it is closed.
// Where the workspace's state cannot be written, as in a client's own sandbox, the lock alone keeps others from the job. Errors:
// ErrJob, or what the system said.
func ClaimJob(workspace, id, line, dir string, now time.Time) (*Job, *os.File, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	jobs, err := orchdir.Open(root, false, "state", callsDir, jobsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrJob
	}
	if err != nil {
		return nil, nil, err
	}
	defer jobs.Close()
	file, err := await(jobs, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrJob
	}
	if err != nil {
		return nil, nil, err
	}
	job, err := claim(jobs, file, id)
	if err == nil {
		if err = job.fits(line, dir, now); err != nil {
			_ = jobs.Remove(jobFile(id) + jobClaimed) // which would say that it was begun
		}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return job, file, nil
}

// awaitTime bounds the waiting for a job that is on its way: its server may have been killed.
const awaitTime = 30 * time.Second

// await opens a job, which may be on its way.
func await(jobs *os.Root, id string) (*os.File, error) {
	until := time.Now().Add(awaitTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		_, coming := jobs.Lstat(jobFile(id) + jobComing)
		file, _, err := durable.OpenRegularIn(jobs, jobFile(id), os.O_RDONLY)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || coming != nil || time.Now().After(until) {
			return file, err
		}
		time.Sleep(pause)
	}
}

func claim(jobs *os.Root, file *os.File, id string) (*Job, error) {
	if locked, err := durable.TryLock(file); err != nil || !locked {
		return nil, ErrJob
	}
	switch err := jobs.Rename(jobFile(id), jobFile(id)+jobClaimed); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrJob
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission): // the lock has to do
	case err != nil:
		return nil, err
	}
	var j Job
	data, err := io.ReadAll(io.LimitReader(file, maxJob))
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	if err == nil && j.Version != 1 {
		err = fmt.Errorf("job of version %d", j.Version)
	}
	return &j, err
}

func (j *Job) fits(line, dir string, now time.Time) error {
	if j.Refused != "" {
		return errors.New(j.Refused)
	}
	here, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if j.Line != line || !now.Before(j.Expires) || path.Clean(j.Dir) != filepath.ToSlash(here) {
		return ErrJob
	}
	return nil
}
