package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/singletable/singletable/internal/subprocess"
	"github.com/singletable/singletable/internal/toolcache"
)

// The npm package that carries DynamoDB Local 1.25.1, of November 2024.
const (
	localPackage = "amplify-dynamodb-simulator"
	localVersion = "2.9.30"
	localSHA256  = "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9"
)

// localStartTimeout bounds the start of a Java program on a busy machine.
const localStartTimeout = time.Minute

// StartDynamoDBLocal starts AWS's DynamoDB Local, in memory, on a free port, and
// returns its endpoint and a function that ends it. It ends with this process in
// any case. It needs Java 17 or later on PATH and, the first time, the npm client.
//
// DynamoDB Local has no option for the address to listen on: until it ends, other
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
				"-Xmx2g",
				"-Duser.dir=" + dir, // where it writes a file, whatever it is told
				"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"),
				"-jar", filepath.Join(dir, "DynamoDBLocal.jar"),
				"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
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
	program := filepath.Join(root, "package", "emulator")
	switch _, err := os.Stat(program); {
	case err == nil:
		return program, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	fmt.Fprintf(os.Stderr, "conformance: fetching %s@%s (npm, once) into %s\n", localPackage, localVersion, root)
	err = toolcache.Install(root, func(tmp string) (string, error) {
		// Not npm install: the engine needs none of the package's dependencies.
		err := toolcache.NPM(ctx, tmp, "pack", "--ignore-scripts", localPackage+"@"+localVersion)
		if err != nil {
			return "", err
		}
		archive := filepath.Join(tmp, localPackage+"-"+localVersion+".tgz")
		if err := toolcache.Verify(archive, localSHA256); err != nil {
			return "", err
		}
		made := filepath.Join(tmp, "extracted")
		if err := os.Mkdir(made, 0o755); err != nil {
			return "", err
		}
		if out, err := exec.CommandContext(ctx, "tar", "-xzf", archive, "-C", made).CombinedOutput(); err != nil {
			return "", fmt.Errorf("tar: %w\n%s", err, out)
		}
		return made, nil
	})
	return program, err
}
