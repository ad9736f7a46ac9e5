package main

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const (
	imageName = "intentgov/orchestra-mcp"
	suite     = "trixie" // Debian 13
)

// makeImage makes an OCI image for this machine's processor, as a layout in a tar file: Debian with bash, git and certificates,
// and the program above it. Whoever runs it with -u has a home and git in /workspace, whatever the user's number.
func (r *release) makeImage(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return errors.New("the image is made on Linux (-image=false leaves it out)")
	}
	debian := filepath.Join(r.work, "debian.tar")
	if err := command(ctx, []string{"SOURCE_DATE_EPOCH=" + r.epoch()}, "mmdebstrap", "--quiet", "--variant=apt", "--include=bash,git,ca-certificates",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-include=/usr/share/doc/*/copyright", suite, debian); err != nil {
		return fmt.Errorf("%w (mmdebstrap is a package of Debian; -image=false leaves the image out)", err)
	}
	ours := filepath.Join(r.work, "ours.tar")
	if err := create(ours, func(w io.Writer) error { return writeTar(w, r.time, r.imageFiles()) }); err != nil {
		return err
	}
	layers := make([]layer, 2)
	for i, path := range []string{debian, ours} {
		var err error
		if layers[i], err = pack(path); err != nil {
			return err
		}
	}
	blobs, index, err := r.describe(layers)
	if err != nil {
		return err
	}
	entries := append([]entry{
		{name: "blobs", mode: 0o755}, {name: "blobs/sha256", mode: 0o755},
		{name: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
	}, append(index, blobs...)...)
	return create(filepath.Join(r.out, fmt.Sprintf("orchestra-mcp_%s_linux_%s.oci.tar", r.version, runtime.GOARCH)), func(w io.Writer) error {
		return writeTar(w, r.time, entries)
	})
}

func (r *release) imageFiles() []entry {
	native := r.native
	return []entry{
		{name: "etc/gitconfig", mode: 0o644, content: []byte("[safe]\n\tdirectory = /workspace\n")},
		{name: "home/orchestra", mode: 0o1777}, // of whoever -u names
		{name: "usr/bin/orchestra-mcp", mode: 0o755, path: native},
		{name: "usr/share/orchestra-mcp", mode: 0o755},
		{name: "usr/share/orchestra-mcp/image", mode: 0o644, content: []byte(r.imageReference() + "\n")}, // setup reads it
		{name: "workspace", mode: 0o777},
	}
}

func (r *release) imageReference() string { return imageName + ":" + r.version }

// layer is a packed tar file. diff is the digest before it was packed.
type layer struct {
	path         string
	digest, diff string
	size         int64
}

func pack(path string) (layer, error) {
	l := layer{path: path + ".gz"}
	from, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer from.Close()
	packed, plain := sha256.New(), sha256.New()
	err = create(l.path, func(w io.Writer) error {
		z := gzip.NewWriter(io.MultiWriter(w, packed))
		_, err := io.Copy(io.MultiWriter(z, plain), from)
		return errors.Join(err, z.Close())
	})
	if err != nil {
		return l, err
	}
	info, err := os.Stat(l.path)
	if err != nil {
		return l, err
	}
	l.size, l.digest, l.diff = info.Size(), digest(packed), digest(plain)
	return l, nil
}

func digest(of hash.Hash) string { return hex.EncodeToString(of.Sum(nil)) }

// describe gives the blobs of an image with these layers, and what says where they are: for OCI, and for Docker, which takes the
// image's name from a list of its own.
func (r *release) describe(layers []layer) (blobs, index []entry, err error) {
	var diffs, paths []string
	var descriptors []object
	for _, l := range layers {
		diffs, paths = append(diffs, "sha256:"+l.diff), append(paths, "blobs/sha256/"+l.digest)
		descriptors = append(descriptors, described("application/vnd.oci.image.layer.v1.tar+gzip", l.digest, l.size))
		blobs = append(blobs, entry{name: "blobs/sha256/" + l.digest, mode: 0o644, path: l.path})
	}
	blob := func(kind string, v any) (object, string, error) {
		text, err := encode(v)
		sum := sha256.Sum256(text)
		name := hex.EncodeToString(sum[:])
		blobs = append(blobs, entry{name: "blobs/sha256/" + name, mode: 0o644, content: text})
		return described(kind, name, int64(len(text))), name, err
	}
	config, configName, err := blob("application/vnd.oci.image.config.v1+json", r.imageConfig(diffs))
	if err != nil {
		return nil, nil, err
	}
	manifest, _, err := blob("application/vnd.oci.image.manifest.v1+json", object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": descriptors,
	})
	if err != nil {
		return nil, nil, err
	}
	manifest["annotations"] = object{"org.opencontainers.image.ref.name": r.version}
	manifest["platform"] = object{"os": "linux", "architecture": runtime.GOARCH}
	for _, list := range []struct {
		name    string
		content any
	}{
		{"index.json", object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{manifest}}},
		{"manifest.json", []object{{"Config": "blobs/sha256/" + configName, "RepoTags": []string{r.imageReference(), imageName + ":latest"}, "Layers": paths}}},
	} {
		text, err := encode(list.content)
		if err != nil {
			return nil, nil, err
		}
		index = append(index, entry{name: list.name, mode: 0o644, content: text})
	}
	return blobs, index, nil
}

func described(kind, digest string, size int64) object {
	return object{"mediaType": kind, "digest": "sha256:" + digest, "size": size}
}

func (r *release) imageConfig(diffs []string) object {
	created := r.time.Format(time.RFC3339)
	return object{
		"created": created, "os": "linux", "architecture": runtime.GOARCH,
		"config": object{
			"Env":        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/orchestra", "LANG=C.UTF-8"},
			"Entrypoint": []string{"orchestra-mcp"}, "Cmd": []string{"serve"}, "WorkingDir": "/workspace",
			"Labels": object{
				"io.modelcontextprotocol.server.name": serverName, "org.opencontainers.image.source": repository,
				"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
		"rootfs": object{"type": "layers", "diff_ids": diffs},
		"history": []object{
			{"created": created, "created_by": "mmdebstrap " + suite}, {"created": created, "created_by": "orchestra-mcp " + r.version},
		},
	}
}
