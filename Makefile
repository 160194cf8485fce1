# Everything a person types. Each target sets up what it needs, says what it does, and needs only
# Python 3.10+, make, git and the package registries; CONTRIBUTING.md says what the further tiers need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXAMPLE := values/examples/deepseek-r1-16xh100.yaml

.DEFAULT_GOAL := help
# Tests on simulated clusters mostly wait: two processes, with a cluster each.
TWO := -n 2 --dist loadfile --no-loadscope-reorder
SIM := PYTHONPATH="$(CURDIR)" $(BIN)/python -m ci.sim
KIND := PATH="$(CURDIR)/$(BIN):$$PATH" ci/kind

.PHONY: help setup demo demo-real demo-kind demo-gitops test test-engine test-sim test-gitops test-kind test-gitops-kind test-gpu \
	lint engine-cpu sim sim-build sim-down kind kind-down format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with lockstep, helm and what the tests need

$(READY): pyproject.toml ci/get_helm.py
	@$(PYTHON) -c 'import sys; sys.exit("lockstep needs Python 3.10 or newer, $(PYTHON) is %d.%d: run make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 10) else 0)'
	@echo "setup: making $(VENV) and installing lockstep with its test and lint tools (about a minute)"
	@$(PYTHON) -m venv $(VENV) || { echo "setup: this Python has no venv module (Debian: apt-get install python3-venv)"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable . --group test --group lint
	@$(BIN)/python ci/get_helm.py $(BIN)
	@touch $@
	@echo "setup: done; lockstep and helm are in $(BIN)"

demo: $(READY) ## Check, refuse and rehearse the README's example
	@$(BIN)/python ci/demo.py $(EXAMPLE)

test: $(READY) ## Run the fast tier: no network, no cluster, no GPU
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 $(ARGS)

engine-cpu: $(READY) ## Install real vLLM on CPU into a cache outside the checkout (PyPI, 7 GB)
	@$(BIN)/python ci/engine-cpu/install

demo-real: engine-cpu ## Rehearse two pods with real vLLM: real tokens from two processes that hold half a model each
	@$(BIN)/python ci/engine-cpu/demo.py

test-engine: engine-cpu ## Run the engine tier: rehearsals with real vLLM on CPU
	@$(BIN)/python -m pytest -m engine tests/engine $(ARGS)

sim-build: $(READY) ## Build the simulated cluster's components with Go (cached; BUDGET=seconds bounds it)
	@$(SIM) build $(PARTS) $(if $(BUDGET),--budget $(BUDGET))

# Argo CD takes long to build: only what needs it does it, and a plain `make sim-build`.
sim test-sim: PARTS ?= etcd kubernetes kwok lws kueue
demo-gitops: PARTS ?= etcd kubernetes kwok lws argocd

sim: sim-build ## Run a simulated cluster until Ctrl-C (ARGS="--nodes 8 --accelerator h200-8")
	@$(SIM) up $(ARGS)

sim-down: $(READY) ## End every simulated cluster
	@$(SIM) down

test-sim: sim-build ## Run the cluster suite on two simulated clusters, one for each of two processes
	@$(BIN)/python -m pytest tests/cluster --cluster-type sim $(TWO) $(ARGS)

test-gitops: sim-build ## Run the GitOps suite: commits through a real Argo CD, on two simulated clusters as well
	@$(BIN)/python -m pytest tests/gitops --cluster-type sim $(TWO) $(ARGS)

demo-gitops: sim-build ## Commit a model, watch Argo CD bring it up, commit a wrong layout and see it refused
	@PYTHONPATH="$(CURDIR)" $(BIN)/python ci/demo_gitops.py

kind: $(READY) ## Make a kind cluster: GPUs on paper, LeaderWorkerSet, Kueue, the stand-in's image (Docker and kind)
	@$(KIND)/up

kind-down: $(READY) ## Delete the kind cluster
	@$(KIND)/down

test-kind: kind ## Run the cluster suite on the kind cluster: real pods
	@$(BIN)/python -m pytest tests/cluster --cluster-type kind --timeout 900 $(ARGS)

test-gitops-kind: kind ## Run the GitOps suite on the kind cluster, with an Argo CD in it
	@$(KIND)/argocd
	@$(BIN)/python -m pytest tests/gitops --cluster-type kind --timeout 1200 $(ARGS)

demo-kind: kind ## Form a group of real pods on the kind cluster, lose a rank, and see it come back
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash -c 'source ci/kind/settings.sh && exec env PYTHONPATH=. python -m ci.kind.demo'

test-gpu: $(READY) ## Serve a site's own values on its cluster: make test-gpu SITE=values.yaml KUBECONFIG=file
	@$(if $(and $(SITE),$(KUBECONFIG)),,echo "test-gpu: which values, on which cluster? make test-gpu SITE=my-values.yaml KUBECONFIG=file"; exit 2)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/lockstep check $(SITE) --live --namespace lockstep-site
	@$(BIN)/python -m pytest tests/cluster/test_site.py --cluster-type existing --app-config-file-path $(SITE) \
		--timeout 0 $(ARGS)

lint: $(READY) ## Run every linter and drift check
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash ci/lint

format: $(READY) ## Let ruff and shfmt rewrite what they can
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .
	@$(BIN)/shfmt -w -i 2 -ci $$(git ls-files '*.sh' ci/run ci/lint ci/actionlint ci/ct ci/kind/up ci/kind/argocd ci/kind/down .ci/run)

clean: ## Remove .venv and caches of this checkout
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist
