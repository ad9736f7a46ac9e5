package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestFullHolds tries to change what is not in scope, and looks at all of it
// afterwards. Every line must fail, so that none passes for want of a program.
func TestFullHolds(t *testing.T) {
	for name, line := range map[string]string{
		"redirect":            `echo x > docs/out.md`,
		"append":              `echo x >> $W/docs/out.md`,
		"new file":            `echo x > new`,
		"new directory":       `mkdir docs/new`,
		"cd":                  `cd docs && echo x > out.md`,
		"dots":                `echo x > src/../docs/out.md`,
		"outside":             `echo x > $O/file`,
		"here document":       "sh <<'E'\necho x > docs/out.md\nE",
		"tee":                 `echo x | tee docs/out.md`,
		"sed":                 `sed -i s/o/x/ docs/out.md`,
		"dd":                  `dd if=/dev/zero of=docs/out.md bs=1 count=1 conv=notrunc`,
		"cp":                  `cp src/a.go docs/out.md`,
		"mv onto":             `mv src/a.go docs/out.md`,
		"mv away":             `mv docs/out.md src/`,
		"rm":                  `rm -f docs/out.md`,
		"rm tree":             `rm -rf docs`,
		"truncate":            `truncate -s 0 docs/out.md`,
		"rename directory":    `mv docs src/`,
		"rename the writable": `mv src other`,
		"remove the writable": `rm -r src/* && rmdir src`,
		"replace by a link":   `rm -rf src/* && rmdir src && ln -s docs src`,
		"hard link in":        `ln docs/out.md src/l`,
		"hard link out":       `ln src/a.go docs/l`,
		"planted link":        `ln -s ../docs/out.md src/l && echo x > src/l`,
		"planted directory":   `ln -s ../docs src/d && echo x > src/d/out.md`,
		"chmod":               `chmod 777 docs/out.md`,
		"chmod directory":     `chmod 700 docs`,
		"chown":               `chown $(id -u) docs/out.md`,
		"touch":               `touch docs/out.md`,
		"touch -r":            `touch -r src/a.go docs/out.md`,
		"proc root":           `echo x > /proc/self/root$W/docs/out.md`,
		"proc cwd":            `echo x > /proc/self/cwd/docs/out.md`,
		"proc fd":             `exec 5< docs/out.md; echo x > /proc/self/fd/5`,
		"init's root":         `echo x > /proc/1/root$W/docs/out.md`,
		"init's memory":       `cat /proc/1/mem`,
		"init's environment":  `cat /proc/1/environ`,
		"init's descriptors":  `cat /proc/1/fd/* /proc/1/map_files/*`,
		"core pattern":        `echo '|/bin/x' > /proc/sys/kernel/core_pattern`,
		"sysrq":               `echo h > /proc/sysrq-trigger`,
		"sysfs":               `echo 0 > /sys/kernel/mm/ksm/run`,
		"cgroup":              `mkdir /sys/fs/cgroup/pids/x || mkdir /sys/fs/cgroup/x`,
		"disk":                `ls /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg 2>&1 | grep -v 'No such file'`,
		"shared memory":       `ls -A /dev/shm | grep .`,
		"the server":          `kill -0 ` + strconv.Itoa(os.Getpid()),
		"its memory":          `cat /proc/` + strconv.Itoa(os.Getpid()) + `/maps`,
		"mount":               `mount -t tmpfs none src`,
		"remount":             `mount -o remount,rw /`,
		"bind":                `mount --bind src docs`,
		"umount":              `umount /proc`,
		"unshare":             `unshare -r true`,
		"unshare mounts":      `unshare -m true`,
		"a disk of its own":   `mknod src/disk b 254 0 && cat src/disk`,
		"chroot":              `chroot / true`,
		"daemons":             `ls -A /run | grep -v '^shm$' | grep . || ls /var/run/docker.sock`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.inScope("src")
			before := surroundings(t, w.path("src"), w.root, w.outside)
			if _, code := w.run(line); code == 0 {
				t.Error("it succeeded")
			}
			if after := surroundings(t, w.path("src"), w.root, w.outside); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// governed are the paths that no command may change although it may write
// everything around them, and what each is before.
func governed(w *workspace) string {
	return surroundings(w.t, "", w.path(".git/config"), w.path(".git/hooks"), w.path(".orchestration"), w.path("docs/out.md"), w.outside)
}

// TestFullHoldsInsideWhatIsWritable is the workspace with the scope **.
func TestFullHoldsInsideWhatIsWritable(t *testing.T) {
	for name, line := range map[string]string{
		"config":                 `echo x > .git/config`,
		"config by git":          `git config core.hooksPath /x`,
		"new hook":               `echo x > .git/hooks/pre-commit`,
		"rename .git":            `mv .git .git2`,
		"rename hooks":           `mv .git/hooks .git/h`,
		"remove .git":            `rm -rf .git`,
		"remove governance":      `rm -rf .orchestration`,
		"rename governance":      `mv .orchestration o`,
		"new in governance":      `echo x > .orchestration/config.yaml`,
		"absent commondir":       `echo /x > .git/commondir`,
		"commondir replaced":     `echo /x > c && mv -f c .git/commondir`,
		"commondir removed":      `rm -f .git/commondir`,
		"absent worktree":        `echo x > .git/config.worktree`,
		"absent modules":         `mkdir -p .git/modules/a`,
		"modules removed":        `rmdir .git/modules`,
		"absent attributes":      `mkdir -p .git/info && echo x > .git/info/attributes`,
		"absent alternates":      `mkdir -p .git/objects/info && echo x > .git/objects/info/alternates`,
		"absent ignore":          `echo '!x' > .intentignore`,
		"ignore by rename":       `echo x > c && mv -f c .intentignore`,
		"ignore by link":         `rm -f .intentignore && ln -s x .intentignore`,
		"ignore touched":         `touch .intentignore`,
		"hard link":              `ln .git/config c`,
		"planted link":           `ln -s .git/config c && echo x > c`,
		"out of scope":           `echo x > docs/out.md`,
		"parent renamed":         `mv docs d`,
		"parent removed":         `rm -rf docs`,
		"chmod":                  `chmod 777 .git/config`,
		"touch":                  `touch docs/out.md`,
		"exchange":               `attack exchange src/a.go docs/out.md`,
		"exchange of the parent": `attack exchange src docs`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.everything()
			before := governed(w)
			if _, code := w.run(line); code == 0 {
				t.Error("it succeeded")
			}
			if after := governed(w); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			for _, f := range w.profile.Frozen {
				if _, err := os.Lstat(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				} else if err == nil && !strings.Contains(before, f.Path) {
					t.Errorf("%s was not there before", f.Path)
				}
			}
		})
	}
}

func TestFullLetsThroughWhatIsWritable(t *testing.T) {
	w := newWorkspace(t)
	w.everything()
	w.profile.Hidden = []string{w.path("secret.env")}
	for _, line := range []string{
		`echo x > src/a.go && mkdir -p new/dir && echo y > new/dir/f && mv new newer && ln newer/dir/f l && chmod 600 l`,
		`echo $$ > docs/in.md && rm docs/in.md && touch -d 2001-01-01 src/a.go`,
		`echo x > /tmp/a && cat "$TMPDIR/a" && echo y > /dev/shm/a && echo z > /dev/null && test -r /dev/stdin`,
		`bash -c 'cat <(echo a)' > /dev/null`,
		`echo out > /dev/stdout; echo err > /dev/stderr; exec 3<> /dev/ptmx`,
		`cat docs/out.md .git/config .orchestration/active_intents.yaml > all && test -s all`,
		`git --version > /dev/null; ps > /dev/null; cat /proc/self/stat > /dev/null; ls .git > /dev/null`,
	} {
		if out, code := w.run(line); code != 0 {
			t.Errorf("%s: %d %s", line, code, out)
		}
	}
	if content, err := os.ReadFile(w.path("newer/dir/f")); err != nil || string(content) != "y\n" {
		t.Errorf("%q %v", content, err)
	}
	info, err := os.Stat(w.path("l"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// TestFullHides tries to read what is hidden.
func TestFullHides(t *testing.T) {
	for name, line := range map[string]string{
		"cat":            `cat secret.env`,
		"by the root":    `cat /proc/self/root$W/secret.env`,
		"by cwd":         `cat /proc/self/cwd/secret.env`,
		"by init's root": `cat /proc/1/root$W/secret.env`,
		"copy":           `cp secret.env copy && cat copy`,
		"hard link":      `ln secret.env copy && cat copy`,
		"link":           `ln -s secret.env copy && cat copy`,
		"rename":         `mv secret.env copy && cat copy`,
		"chmod":          `chmod 644 secret.env && cat secret.env`,
		"remove":         `rm -f secret.env`,
		"archive":        `tar cf - secret.env`,
		"map":            `attack map secret.env`,
		"directory":      `ls src/keys/`,
		"inside":         `cat src/keys/id`,
		"its parent":     `mv src s && cat s/keys/id`,
		"directory mode": `chmod 755 src/keys && ls src/keys`,
		"overwrite":      `echo x > secret.env`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.everything()
			w.profile.Hidden = []string{w.path("secret.env"), w.path("src/keys")}
			hidden := func() string { return surroundings(t, "", w.path("secret.env"), w.path("src/keys")) }
			before := hidden()
			if out, code := w.run(line); code == 0 || strings.Contains(out, "secret.env\n") && !strings.Contains(out, ":") {
				t.Errorf("%d %s", code, out)
			}
			if after := hidden(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestFullGivesNothingOfTheHostsTemp: files of other programs there are not seen, and cannot be written.
func TestFullGivesNothingOfTheHostsTemp(t *testing.T) {
	theirs, err := os.CreateTemp("/tmp", "orchestra-test-")
	check.OK(t, err)
	theirs.Close()
	defer os.Remove(theirs.Name())
	w := newWorkspace(t)
	w.inScope("src")
	if out, code := w.run(`ls ` + theirs.Name()); code == 0 {
		t.Error(out)
	}
	w.run(`echo x > ` + theirs.Name())
	if info, err := os.Stat(theirs.Name()); err != nil || info.Size() != 0 {
		t.Errorf("%v %v", info, err)
	}
}
