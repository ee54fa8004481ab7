# The doors of the repository. `.ci/run` uses the same ones, so a desk and CI cannot differ.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO_FLAGS ?= --locked

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## Bring the real parts that the tests use (Kafka, Python readers; Terraform must be on PATH)
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
demo: setup build ## The main job in front of your eyes: broker, agent and Terraform on this machine, cleaned up at the end
	cargo run $(CARGO_FLAGS) -p e2e --bin demo

.PHONY: test
test: setup build ## Every test, with a real Terraform, a real Kafka and foreign Delta readers
	cargo test $(CARGO_FLAGS) --workspace

.PHONY: bench
bench: setup ## CPU-seconds per million records, and the provider's handshake time (release build)
	cargo build $(CARGO_FLAGS) --release --workspace --bins
	cargo run $(CARGO_FLAGS) --release -p e2e --bin bench

.PHONY: soak
soak: setup build ## The long version of the crash test (SOAK_KILLS, default 250)
	E2E_KILLS=$${SOAK_KILLS:-250} cargo test $(CARGO_FLAGS) --workspace --test e2e -- crash --nocapture

.PHONY: deny
deny: ## Licences and bans of every dependency
	@scripts/deny.sh
