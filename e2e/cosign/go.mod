// What the tests here need must not come into the module graph of the program.
module github.com/intentgov/orchestra-mcp/e2e/cosign

go 1.26.0

require (
	github.com/in-toto/attestation v1.1.2
	github.com/sigstore/sigstore v1.10.4
	google.golang.org/protobuf v1.36.11
)

require (
	github.com/google/go-containerregistry v0.20.7 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/secure-systems-lab/go-securesystemslib v0.9.1 // indirect
	github.com/sigstore/protobuf-specs v0.5.0 // indirect
	golang.org/x/crypto v0.44.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	golang.org/x/term v0.37.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20250825161204-c5933d9347a5 // indirect
)
