// Command build makes the component of the plugin in the current folder.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	bindings = "`wit-bindgen` is not installed: `cargo install wit-bindgen-cli@0.63.0`"
	tools    = "`wasm-tools` is not installed: `cargo install wasm-tools`"
	start    = "package main\n\nimport _ \"bubplugin/exports/wit_exports\"\n\nfunc main() {}\n"
)

func main() {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}

func build() error {
	manifest, err := os.ReadFile("manifest.json")
	if err != nil {
		return err
	}
	var known struct{ Name string }
	if err := json.Unmarshal(manifest, &known); err != nil {
		return fmt.Errorf("`manifest.json`: %w", err)
	}
	if known.Name == "" {
		return fmt.Errorf("`manifest.json` has no `name`")
	}
	folder, err := os.MkdirTemp("", "bub-guest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	at := func(name string) string { return filepath.Join(folder, name) }
	if err := contracts(at("wit")); err != nil {
		return err
	}
	for _, generated := range []string{"imports", "exports/wit_exports", "component"} {
		if err := os.RemoveAll(generated); err != nil {
			return err
		}
	}
	if err := run(bindings, nil, "wit-bindgen", "go", at("wit"), "-w", "plugin", "--pkg-name", "bubplugin", "--out-dir", "."); err != nil {
		return err
	}
	if err := os.Mkdir("component", 0o777); err != nil {
		return err
	}
	if err := os.WriteFile("component/main.go", []byte(start), 0o666); err != nil {
		return err
	}
	// The runtime of the bindings takes memory before the runtime of Go has started.
	flags := "-ldflags=-s -w -checklinkname=0"
	// `go.mod` and `go.sum` get what the bindings need.
	target := []string{"GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-mod=mod"}
	if err := run("", target, "go", "build", "-buildmode=c-shared", flags, "-o", at("core.wasm"), "./component"); err != nil {
		return err
	}
	if err := run(tools, nil, "wasm-tools", "component", "embed", at("wit"), "-w", "plugin", at("core.wasm"), "-o", at("embedded.wasm")); err != nil {
		return err
	}
	adapt := "wasi_snapshot_preview1=sdk/wasi_snapshot_preview1.reactor.wasm"
	if err := run(tools, nil, "wasm-tools", "component", "new", at("embedded.wasm"), "--adapt", adapt, "-o", at("made.wasm")); err != nil {
		return err
	}
	component, err := os.ReadFile(at("made.wasm"))
	if err != nil {
		return err
	}
	path := known.Name + ".wasm"
	component = append(component, section("bub:manifest", manifest)...)
	if err := os.WriteFile(path, component, 0o666); err != nil {
		return err
	}
	fmt.Printf("%s: %.1f MB\n", path, float64(len(component))/1e6)
	return nil
}

// run runs a program, whose output is shown if it fails. missing says how to get it.
func run(missing string, environment []string, name string, arguments ...string) error {
	if _, err := exec.LookPath(name); err != nil && missing != "" {
		return fmt.Errorf("%s", missing)
	}
	command := exec.Command(name, arguments...)
	command.Env = append(os.Environ(), environment...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("`%s %s` failed: %w\n%s", name, arguments[0], err, strings.TrimSpace(string(output)))
	}
	return nil
}

// contracts puts the contracts and the plugin's world into a folder, in the layout that bindings are made from.
func contracts(to string) error {
	if _, err := os.Stat("sdk/wit/worlds.wit"); err != nil {
		return fmt.Errorf("the contracts are missing: copy the folder `wit` of bub-wasm to `sdk/wit`")
	}
	if err := os.CopyFS(filepath.Join(to, "deps"), os.DirFS("sdk/wit/deps")); err != nil {
		return err
	}
	files := map[string]string{"plugin.wit": "plugin.wit", "sdk/wit/worlds.wit": "deps/bub-plugin/worlds.wit"}
	found, err := filepath.Glob("sdk/wasi/*.wit")
	if err != nil {
		return err
	}
	for _, file := range found {
		name := filepath.Base(file)
		files[file] = "deps/wasi-" + strings.TrimSuffix(name, ".wit") + "/" + name
	}
	for from, name := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// section is a custom section.
func section(name string, content []byte) []byte {
	named := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
	named = append(named, content...)
	return append(binary.AppendUvarint([]byte{0}, uint64(len(named))), named...)
}
