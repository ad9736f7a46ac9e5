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
	must(setAttributes(root, attrNosuid|attrNodev, msPrivate), "make the mounts private", "")
	for _, layer := range plan.Layers {
		putLayer(layer)
	}
	trees := takeAll(plan.Trees)
	must(setAttributes(root, attrRdonly, 0), "make the file system read-only", "")
	kept := takeAll(plan.Kept)
	syscall.Close(root)

	mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC|syscall.MS_RDONLY, "")
	makeDev(plan.Devices, devices)
	for _, cover := range plan.Covers {
		putCover(cover, trees)
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
			mount("tmpfs", cover.Path, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, "")
		}
	}
	for _, mask := range plan.Masks {
		putMask(mask, trees)
	}
	finishDev()
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

// putLayer has the changes of a directory go elsewhere. Its own file system
// keeps the layer's marks in attributes that a user may set.
func putLayer(layer Layer) {
	options := "userxattr,lowerdir=" + overlayQuoted(layer.Path) + ",upperdir=" + overlayQuoted(layer.Upper) + ",workdir=" + overlayQuoted(layer.Work)
	mount("overlay", layer.Path, "overlay", syscall.MS_NOSUID|syscall.MS_NODEV, options)
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

func putCover(cover Cover, trees []int) {
	if cover.Tree == Empty {
		mount("tmpfs", cover.Path, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=1m")
		return
	}
	put(trees[cover.Tree], cover.Path)
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

func putMask(mask Mask, trees []int) {
	step, errno := "", syscall.Errno(0)
	if mask.Kind == Writable {
		step, errno = putBack(trees[mask.Tree], mask.Path)
	} else {
		step, errno = lay(mask)
	}
	must(errno, step, mask.Path)
}

// putBack shows a tree in its own place, if what stands there is still the same:
// somebody may have replaced it since the tree was taken.
func putBack(tree int, path string) (step string, errno syscall.Errno) {
	target, errno := open(path, 0)
	if errno != 0 {
		return "open", errno
	}
	defer syscall.Close(target)
	var taken, stands syscall.Stat_t
	if syscall.Fstat(tree, &taken) != nil || syscall.Fstat(target, &stands) != nil || taken.Dev != stands.Dev || taken.Ino != stands.Ino {
		return "find again", syscall.ESTALE
	}
	return "mount on", attach(tree, target)
}

// lay puts a mask on what is there, or says which step failed.
func lay(mask Mask) (step string, errno syscall.Errno) {
	target, errno := open(mask.Path, 0)
	if errno != 0 {
		return "open", errno
	}
	defer syscall.Close(target)
	var tree int
	switch mask.Kind {
	case Hidden, Emptied:
		tree = takeBlank(target, mask)
	case Content:
		tree = takeContent(mask.Content, mask.Path)
		defer removeContent()
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

// takeBlank is what stands in for something hidden: nobody may open it, and nobody here has the right to open it all
// the same. Of what is emptied, that can be opened and has nothing in it.
func takeBlank(hidden int, mask Mask) int {
	var info syscall.Stat_t
	check(syscall.Fstat(hidden, &info), "look at", mask.Path)
	switch {
	case info.Mode&syscall.S_IFMT != syscall.S_IFDIR:
		return take(blankFile)
	case mask.Kind == Emptied:
		return take(emptyDirectory)
	}
	return take(blankDirectory)
}

// raiseLoopback brings up lo: programs of the command reach each other by it.
func raiseLoopback() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	check(err, "bring up the loopback interface", "")
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	must(errno, "bring up the loopback interface", "")
	syscall.Close(fd)
}
