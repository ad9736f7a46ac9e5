package helper

import "syscall"

// What stands in for hidden files and directories, and for a file's content.
const (
	blankFile      = "/dev/.blank-file"
	blankDirectory = "/dev/.blank-directory"
	emptyDirectory = "/dev/.empty-directory"
	otherContent   = "/dev/.other-content"
)

// takeDevices takes the devices while they can still be used as such; -1 is one that does not exist.
func takeDevices(paths []string) []int {
	devices := make([]int, len(paths))
	for i, path := range paths {
		fd, errno := open(path, 0)
		if errno != 0 {
			devices[i] = -1
			continue
		}
		tree, errno := cloneTree(fd, false)
		must(errno, "take", path)
		syscall.Close(fd)
		devices[i] = tree
	}
	return devices
}

// makeDev makes a /dev of its own: a read-only mount does not keep anybody from writing to a disk.
func makeDev(paths []string, devices []int) {
	mount("tmpfs", "/dev", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=4m")
	for i, path := range paths {
		if devices[i] < 0 {
			continue
		}
		makeFile(path, 0o600)
		put(devices[i], path)
		syscall.Close(devices[i])
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"},
	} {
		check(syscall.Symlink(link[0], link[1]), "make", link[1])
	}
	makeDirectory("/dev/pts", 0o755)
	mount("devpts", "/dev/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	makeDirectory("/dev/shm", 0o755)
	mount("tmpfs", "/dev/shm", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=1777")
	makeFile(blankFile, 0)
	makeDirectory(blankDirectory, 0)
	makeDirectory(emptyDirectory, 0o755)
}

func makeFile(path string, mode uint32) {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, mode)
	check(err, "make", path)
	syscall.Close(fd)
}

func makeDirectory(path string, mode uint32) {
	check(syscall.Mkdir(path, mode), "make", path)
}

// takeContent is a file that says something else.
func takeContent(content, path string) int {
	fd, err := syscall.Open(otherContent, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o644)
	check(err, "make another", path)
	for rest := []byte(content); len(rest) > 0; {
		n, err := syscall.Write(fd, rest)
		check(err, "write another", path)
		rest = rest[n:]
	}
	syscall.Close(fd)
	return take(otherContent)
}
