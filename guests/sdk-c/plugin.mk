# The build of a plugin: bindings by `wit-bindgen`, code by `zig cc`, a component by `wasm-tools`.

# Zig of the system, or that of PyPI.
ZIG ?= $(shell command -v zig || echo python3 -m ziglang)
OWN := -std=c17 -Wall -Wextra -Werror -O2 -Isdk
CODE := $(filter-out src/exports.c,$(wildcard src/*.c)) sdk/text.c sdk/fail.c sdk/json.c
# HTTP is for plugins that import it.
HTTP := $(if $(shell grep -s '^ *import wasi:http/' wit/plugin.wit),sdk/web.c)
HEADERS := $(wildcard src/*.h sdk/*.h)

# Generated code may have warnings.
$(NAME).wasm: $(CODE) $(HEADERS) src/exports.c sdk/guest.c sdk/manifest.c $(HTTP) manifest.json bindings/plugin.c
	@mkdir -p build
	$(ZIG) cc -target wasm32-wasi -O2 -c bindings/plugin.c -o build/bindings.o
	$(ZIG) cc -target wasm32-wasi -mexec-model=reactor $(OWN) -Ibindings -Wl,--strip-debug -o build/core.wasm \
	    $(CODE) src/exports.c sdk/guest.c sdk/manifest.c $(HTTP) build/bindings.o bindings/plugin_component_type.o
	wasm-tools component new build/core.wasm --adapt wasi_snapshot_preview1=sdk/wasi_snapshot_preview1.reactor.wasm -o $@

bindings/plugin.c: wit/plugin.wit
	@command -v wit-bindgen >/dev/null || { echo 'error: `wit-bindgen` is not installed: `cargo install wit-bindgen-cli@0.63.0`' >&2; exit 1; }
	@command -v wasm-tools >/dev/null || { echo 'error: `wasm-tools` is not installed: `cargo install wasm-tools`' >&2; exit 1; }
	@$(ZIG) version >/dev/null || { echo 'error: `zig` is not installed: `pip install ziglang==0.17.1`' >&2; exit 1; }
	wit-bindgen c wit -w plugin --out-dir bindings

.PHONY: test clean
test: $(CODE) $(HEADERS) tests/test.c
	@mkdir -p build
	$(CC) $(OWN) -g -Isrc -o build/test $(CODE) tests/test.c -lm
	build/test

clean:
	rm -rf bindings build $(NAME).wasm
