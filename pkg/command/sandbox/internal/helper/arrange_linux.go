package helper

import (
	"syscall"
	"unsafe"
)

// arrange makes the view of the file system. What is taken before a step keeps the rights that it had then.
func arrange(plan *Plan) {
	root, errno := open("/", syscall.O_DIRECTORY)
	must(errno, "open", "/")
	devices := takeDevices(plan.Devices)
	must(setAttributes(root, attrNosuid|attrNodev, msPrivate), "make the mounts private")
	for _, layer := range plan.Layers { // whose own file system keeps its marks in attributes that a user may set
		mount("overlay", layer.Path, "overlay", syscall.MS_NOSUID|syscall.MS_NODEV,
			"userxattr,lowerdir="+overlayQuoted(layer.Path)+",upperdir="+overlayQuoted(layer.Upper)+",workdir="+overlayQuoted(layer.Work))
	}
	trees := takeAll(plan.Trees)
	must(setAttributes(root, attrRdonly, 0), "make the file system read-only")
	kept := takeAll(plan.Kept)
	syscall.Close(root)

	mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC|syscall.MS_RDONLY, "")
	makeDev(plan.Devices, devices)
	for _, cover := range plan.Covers {
		if cover.Tree == Empty {
			mount("tmpfs", cover.Path, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=1m")
		} else {
			put(trees[cover.Tree], cover.Path)
		}
	}
	for i, path := range plan.Kept {
		putKept(path, kept[i], plan.Covers)
	}
	for _, link := range plan.Links {
		if err := syscall.Symlink(link.Target, link.Path); err != nil && err != syscall.EEXIST {
			must(err.(syscall.Errno), "make the link", link.Path)
		}
	}
	for _, cover := range plan.Covers {
		if cover.Tree == Empty {
			seal(cover.Path)
		}
	}
	for _, mask := range plan.Masks {
		step, errno := lay(mask, trees)
		must(errno, step, mask.Path)
	}
	seal("/dev")
	for _, tree := range append(trees, kept...) {
		syscall.Close(tree)
	}
}

// take is the tree at a path, as a mount of its own that nothing shows yet.
func take(path string) int {
	fd, errno := open(path, 0)
	must(errno, "open", path)
	tree, errno := cloneTree(fd, true)
	must(errno, "take", path)
	syscall.Close(fd)
	return tree
}

func takeAll(paths []string) []int {
	trees := make([]int, len(paths))
	for i, path := range paths {
		trees[i] = take(path)
	}
	return trees
}

// put shows a tree at a path.
func put(tree int, path string) {
	target, errno := open(path, 0)
	must(errno, "open", path)
	must(attach(tree, target), "mount on", path)
	syscall.Close(target)
}

func mount(source, target, kind string, flags uintptr, data string) {
	check(syscall.Mount(source, target, kind, flags, data), "mount "+kind+" on", target)
}

// seal leaves nothing to be made in a directory of its own.
func seal(path string) {
	mount("tmpfs", path, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, "")
}

// overlayQuoted is a path as an option of overlayfs.
func overlayQuoted(path string) string {
	var quoted []byte
	for i := range len(path) {
		if path[i] == '\\' || path[i] == ',' || path[i] == ':' {
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, path[i])
	}
	return string(quoted)
}

// putKept shows again what a cover lies over.
func putKept(path string, tree int, covers []Cover) {
	var info syscall.Stat_t
	check(syscall.Fstat(tree, &info), "look at", path)
	for _, cover := range covers {
		if Below(path, cover.Path) {
			makePlace(path, len(cover.Path), info.Mode&syscall.S_IFMT == syscall.S_IFDIR)
		}
	}
	put(tree, path)
}

// makePlace makes the directories, or the file, on which something is mounted.
// What is there already is taken as it is: opening it later follows no link.
func makePlace(path string, from int, directory bool) {
	for end := from + 1; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		var err error
		if end < len(path) || directory {
			err = syscall.Mkdir(path[:end], 0o755)
		} else {
			var fd int
			if fd, err = syscall.Open(path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, 0o600); err == nil {
				syscall.Close(fd)
			}
		}
		if err != nil && err != syscall.EEXIST {
			must(err.(syscall.Errno), "make", path[:end])
		}
	}
}

// lay puts a mask on what is there, or says which step failed.
func lay(mask Mask, trees []int) (step string, errno syscall.Errno) {
	target, errno := open(mask.Path, 0)
	if errno != 0 {
		return "open", errno
	}
	defer syscall.Close(target)
	var stands syscall.Stat_t
	if err := syscall.Fstat(target, &stands); err != nil {
		return "look at", err.(syscall.Errno)
	}
	var tree int
	switch mask.Kind {
	case Writable:
		// Somebody may have replaced it since the tree was taken.
		var taken syscall.Stat_t
		if syscall.Fstat(trees[mask.Tree], &taken) != nil || taken.Dev != stands.Dev || taken.Ino != stands.Ino {
			return "find again", syscall.ESTALE
		}
		return "mount on", attach(trees[mask.Tree], target)
	case Hidden, Emptied:
		// Nobody may open what is hidden, and nobody here has the right to open it all the same. A directory that is emptied can
		// be opened, and has nothing in it.
		switch {
		case stands.Mode&syscall.S_IFMT != syscall.S_IFDIR:
			tree = take(blankFile)
		case mask.Kind == Emptied:
			tree = take(emptyDirectory)
		default:
			tree = take(blankDirectory)
		}
	case Content:
		tree = takeContent(mask.Content, mask.Path)
		defer func() { check(syscall.Unlink(otherContent), "tidy", "/dev") }() // not before: what has no name cannot be mounted
	default:
		if tree, errno = cloneTree(target, true); errno != 0 {
			return "take", errno
		}
	}
	defer syscall.Close(tree)
	if mask.Kind != Anchor {
		if errno := setAttributes(tree, attrRdonly|attrNodev, 0); errno != 0 {
			return "make read-only", errno
		}
	}
	return "mount on", attach(tree, target)
}

// raiseLoopback brings up lo: programs of the command reach each other by it.
func raiseLoopback() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	check(err, "bring up the loopback interface")
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	must(errno, "bring up the loopback interface")
	syscall.Close(fd)
}

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
