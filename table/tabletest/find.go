package tabletest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/singletable/singletable/internal/toolcache"
)

// program is the engine's name, on PATH and in its package.
const program = "dynoxide"

// version is the version that is installed.
const version = "1.2.1"

// pkg is the npm package that holds the engine of a platform.
type pkg struct {
	name   string // Empty if there is none.
	sha256 string // Of the program in it. Empty if it is not pinned.
}

// spec is what npm is told to install.
func (p pkg) spec() string { return p.name + "@" + version }

// packages are those of the platforms. A platform is pinned, and so installed without
// being asked, once the engine was tried on it.
var packages = map[string]pkg{
	"linux/amd64":   {"@dynoxide/linux-x64", "be909b7910d3fb552e85db10ef3c8ebae4bd35fee0f26dffdb6dfa5cc656426e"},
	"linux/arm64":   {name: "@dynoxide/linux-arm64"},
	"darwin/amd64":  {name: "@dynoxide/darwin-x64"},
	"darwin/arm64":  {name: "@dynoxide/darwin-arm64"},
	"windows/amd64": {name: "@dynoxide/win32-x64"},
}

// find returns the path of the engine's program: the one on PATH, else the one
// in the cache, else the one it installs there.
func find(ctx context.Context) (string, error) {
	// A program in the current directory, for which LookPath also returns an
	// error, is not one that the user has chosen.
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	p := packages[runtime.GOOS+"/"+runtime.GOARCH]
	if p.sha256 == "" {
		return "", noEngine(p, fmt.Errorf("%s is not on PATH, and on %s/%s it is not installed by itself",
			program, runtime.GOOS, runtime.GOARCH))
	}
	dir, err := toolcache.Dir()
	if err != nil {
		return "", noEngine(p, fmt.Errorf("%s is not on PATH, and cannot be installed: %w", program, err))
	}
	path := filepath.Join(dir, program+"-"+version, program)
	switch err := toolcache.Verify(path, p.sha256); {
	case err == nil:
		return path, nil
	case errors.Is(err, toolcache.ErrHash):
		// It is never run. The good one takes its place.
		fmt.Fprintf(os.Stderr, "tabletest: not used: %v\n", err)
	case !errors.Is(err, fs.ErrNotExist):
		return "", noEngine(p, err)
	}
	if err := install(ctx, p, path); err != nil {
		return "", noEngine(p, fmt.Errorf("%s is not on PATH, and installing it failed: %w", program, err))
	}
	return path, nil
}

// install puts the package's program at path.
func install(ctx context.Context, p pkg, path string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "tabletest: installing the DynamoDB engine %s (npm, once) as %s\n", p.spec(), path)
	return toolcache.Install(path, func(tmp string) (string, error) {
		err := toolcache.NPM(ctx, tmp, "install", "--prefix", tmp, "--no-save", "--ignore-scripts",
			"--no-audit", "--no-fund", p.spec())
		if err != nil {
			return "", err
		}
		made := filepath.Join(tmp, "node_modules", filepath.FromSlash(p.name), program)
		if err := toolcache.Verify(made, p.sha256); err != nil {
			return "", err
		}
		return made, os.Chmod(made, 0o755)
	})
}

// noEngine returns the error that says how to get an engine.
func noEngine(p pkg, reason error) error {
	npm := "No npm package of it is known for this platform."
	if p.name != "" {
		npm = fmt.Sprintf(`With npm:  npm install --prefix DIR --no-save --ignore-scripts %s
             and put DIR/node_modules/%s on PATH.`, p.spec(), p.name)
		if p.sha256 != "" {
			npm += " With npm on PATH this is done by itself."
		}
	}
	return fmt.Errorf(`%w: %w

Each of these gives one:
  Running:   set %s to the URL of any engine that speaks DynamoDB.
  Docker:    docker run --rm -d -p 8000:8000 amazon/dynamodb-local
             and set %[3]s=http://127.0.0.1:8000
  PATH:      put the program %s (version %s) on PATH.
  %s`, errNoEngine, reason, endpointVariable, program, version, npm)
}
