package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

//go:embed parts
var parts embed.FS

func part(name string) []byte {
	content, err := parts.ReadFile("parts/" + name)
	if err != nil {
		panic(err) // it is compiled in
	}
	return content
}

// entry is a file of an archive, with its content or the file that has it; with neither it is a directory.
type entry struct {
	name    string
	mode    fs.FileMode
	content []byte
	path    string
}

func (e entry) directory() bool { return e.content == nil && e.path == "" }

// open gives the content and its size.
func (e entry) open() (io.ReadCloser, int64, error) {
	if e.path == "" {
		return io.NopCloser(bytes.NewReader(e.content)), int64(len(e.content)), nil
	}
	file, err := os.Open(e.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// writeTar writes entries in their order, all of root and of one time.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		if err := addToTar(archive, at, e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return archive.Close()
}

func addToTar(archive *tar.Writer, at time.Time, e entry) error {
	content, size, err := e.open()
	if err != nil {
		return err
	}
	defer content.Close()
	header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode), Size: size, ModTime: at, Format: tar.FormatUSTAR}
	if e.directory() {
		header.Typeflag, header.Name = tar.TypeDir, e.name+"/"
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, content)
	return err
}

// writeTarGz makes a compressed archive in a file.
func writeTarGz(path string, at time.Time, entries []entry) error {
	return create(path, func(w io.Writer) error {
		packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(packed, at, entries), packed.Close())
	})
}

// writeZip makes a zip archive, whose modes those who unpack it find as of Unix.
func writeZip(path string, at time.Time, entries []entry) error {
	return create(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
		for _, e := range entries {
			header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
			header.SetMode(e.mode)
			to, err := archive.CreateHeader(header)
			if err != nil {
				return err
			}
			content, _, err := e.open()
			if err != nil {
				return err
			}
			_, err = io.Copy(to, content)
			if err := errors.Join(err, content.Close()); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// object is a JSON object, whose keys are written in their order.
type object = map[string]any

func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return text.Bytes(), err
}
