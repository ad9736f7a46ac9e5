package seal

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// readPrivate refuses a key that anybody but its owner can read or write, where the system has permission bits.
func readPrivate(name string) ([]byte, error) {
	content, info, err := readKeyFile(name)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o; if nobody else has read it, run chmod 600 on it, else move it away "+
			"to have a new one made", ErrUnsafeKey, name, info.Mode().Perm())
	}
	return content, nil
}

func readKeyFile(name string) ([]byte, fs.FileInfo, error) {
	before, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() { // a pipe would block
		return nil, nil, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	return content, info, err
}
