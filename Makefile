# The doors of the repository. `.ci/run` uses the same ones, so a desk and CI cannot differ.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO_FLAGS ?= --locked

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-11s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## Bring the real parts that the tests use: Kafka, schema registries, Python readers, Spark, a Terraform if there is none
	@scripts/setup.sh

# One cargo call for binaries and tests: two would resolve features differently and build the heavy dependencies twice.
.PHONY: build
build: ## Build the agent, the provider and the tests
	cargo build $(CARGO_FLAGS) --workspace --bins --tests

.PHONY: check
check: ## Format check, clippy with warnings as errors, the architecture tests
	cargo fmt --all -- --check
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings
	cargo test $(CARGO_FLAGS) -p e2e --test structure

.PHONY: demo
demo: ## The main job in front of your eyes: agent, broker and Terraform on this machine; nothing runs on at the end
	@scripts/demo.sh

.PHONY: test
test: setup build ## Every test, with a real Terraform, a real Kafka and foreign Delta readers
	cargo test $(CARGO_FLAGS) --workspace

# Built for the whole workspace, as everything else: cargo would resolve features differently for one package. The program
# that makes aged tables is not measured, so it comes from the tests' build.
BENCH_BUILD = cargo build $(CARGO_FLAGS) --workspace --example age_table && cargo build $(CARGO_FLAGS) --release --workspace --bins
BENCH_RUN = "$${CARGO_TARGET_DIR:-target}/release/bench"

.PHONY: bench
bench: setup ## What the product costs and how fast it is, in a few minutes (release build; BENCH=latency,ages chooses, many and partitions too)
	$(BENCH_BUILD)
	$(BENCH_RUN)

.PHONY: bench-decode
bench-decode: ## The decoders beside arrow-json, arrow-avro, ptars and prost-reflect, each in one run on one core
	for format in json avro protobuf registry; do cargo run $(CARGO_FLAGS) --release -p stream-decode --example "bench_$$format"; done

.PHONY: bench-peers
bench-peers: setup ## The agent and Spark on the same records in one run
	$(BENCH_BUILD)
	BENCH=peers $(BENCH_RUN)

.PHONY: soak-steady
soak-steady: setup ## An hour of steady load: memory, lag and cost every five minutes (STEADY_MINUTES)
	$(BENCH_BUILD)
	BENCH=steady $(BENCH_RUN)

.PHONY: soak
soak: setup build ## The long versions of the tests of crashes (SOAK_KILLS), of what comes and goes (SOAK_CHAOS_SECONDS) and of fresh JSON messages (SOAK_MESSAGES)
	DECODE_MODEL_CASES=$${SOAK_MESSAGES:-200000} cargo test $(CARGO_FLAGS) --workspace --test suite -- fresh_messages --nocapture
	E2E_KILLS=$${SOAK_KILLS:-250} cargo test $(CARGO_FLAGS) --workspace --test e2e -- crash --nocapture
	E2E_CHAOS_SECONDS=$${SOAK_CHAOS_SECONDS:-3600} cargo test $(CARGO_FLAGS) --workspace --test e2e -- chaos --nocapture

.PHONY: fuzz
fuzz: ## Any bytes into every reader, FUZZ_SECONDS each (default 60; needs a nightly toolchain and cargo-fuzz)
	cd agent/decode && python3 fuzz/seeds.py && for target in $$(cargo +nightly fuzz list); do \
		cargo +nightly fuzz run "$$target" -- -max_total_time=$${FUZZ_SECONDS:-60} -max_len=65536 -timeout=60; done

.PHONY: deny
deny: ## Licences and bans of every dependency
	@scripts/deny.sh
