package testmodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// ServeTree writes a module proxy to dir that serves a tree of the project as a released version: the module in its root,
// and each nested module that requires the root at this very version, as those do that a release has prepared. It
// returns the environment in which the go command uses the proxy, with a module cache below dir, which has to be an
// absolute path; everything else comes from the caller's module cache and proxies.
func ServeTree(dir, tree, version string) (env []string, err error) {
	for _, nested := range nestedModules(tree) {
		if requires, err := requiresProject(nested, version); err != nil {
			return nil, err
		} else if requires {
			if err := serveModule(dir, nested, version); err != nil {
				return nil, err
			}
		}
	}
	if err := serveModule(dir, tree, version); err != nil {
		return nil, err
	}
	return proxyEnv(dir)
}

// nestedModules are the folders below the root of a tree that have a go.mod.
func nestedModules(tree string) (dirs []string) {
	_ = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.Name() == "go.mod" && filepath.Dir(path) != filepath.Clean(tree):
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	return dirs
}

func readMod(dir string) (*modfile.File, []byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	file, err := modfile.Parse(filepath.Join(dir, "go.mod"), text, nil)
	return file, text, err
}

func requiresProject(dir, version string) (bool, error) {
	file, _, err := readMod(dir)
	if err != nil {
		return false, err
	}
	for _, r := range file.Require {
		if r.Mod.Path == project && r.Mod.Version == version {
			return true, nil
		}
	}
	return false, nil
}

// serveModule writes the files that the protocol of module proxies asks for.
func serveModule(proxy, dir, version string) error {
	file, text, err := readMod(dir)
	if err != nil {
		return err
	}
	path, err := module.EscapePath(file.Module.Mod.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now().UTC()})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o644),
		os.WriteFile(filepath.Join(at, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(at, version+".mod"), text, 0o644),
		writeZip(filepath.Join(at, version+".zip"), module.Version{Path: file.Module.Mod.Path, Version: version}, dir),
	)
}

func writeZip(name string, v module.Version, dir string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return modzip.CreateFromDir(file, v, dir)
}

// proxyEnv keeps what is served out of the caller's module cache: the next tree is served as the same version. What the
// caller has downloaded and verified is taken from there.
func proxyEnv(dir string) ([]string, error) {
	out, err := exec.Command("go", "env", "-json", "GOPROXY", "GOMODCACHE", "GOFLAGS", "GONOSUMDB").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var user struct{ GOPROXY, GOMODCACHE, GOFLAGS, GONOSUMDB string }
	if err := json.Unmarshal(out, &user); err != nil {
		return nil, err
	}
	downloads := filepath.Join(dir, "mod", "cache", "download")
	if err := os.MkdirAll(downloads, 0o755); err != nil {
		return nil, err
	}
	cached := filepath.Join(user.GOMODCACHE, "cache", "download")
	if _, err := os.Stat(filepath.Join(cached, "sumdb")); err == nil {
		if err := os.Symlink(filepath.Join(cached, "sumdb"), filepath.Join(downloads, "sumdb")); err != nil {
			return nil, err
		}
	}
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(dir) + ",file://" + filepath.ToSlash(cached) + "," + user.GOPROXY,
		"GOMODCACHE=" + filepath.Join(dir, "mod"),
		"GOFLAGS=" + user.GOFLAGS + " -modcacherw",
		"GONOSUMDB=" + project + "," + user.GONOSUMDB,
		"GOPRIVATE=", "GONOPROXY=", "GOWORK=off",
	}, nil
}
