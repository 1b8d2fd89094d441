# Every target prints what it does; `make help` lists them.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || echo python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
ROOMS  := metadata drift train_side serving
CODE   := $(ROOMS) tests $(wildcard examples benchmarks)

.DEFAULT_GOAL := help
.PHONY: help $(VENV) ns lint format test demo bench bench-detect bench-train bench-serve soak ops-demo pages-demo clean

help: ## list the targets
	@grep -hE '^[$$().a-zA-Z_-]+:.*## ' $(MAKEFILE_LIST) | sed 's/^$$(VENV)/.venv/' \
	  | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(VENV): $(STAMP) ## make .venv and install everything at the versions of constraints.txt
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -e '.[train,serve,demo,dev]' -c constraints.txt
	touch $@

ns: ## link the rooms into build/ns/driftline, where type checkers find them by their installed names
	@mkdir -p build/ns/driftline
	@for room in $(ROOMS); do ln -sfn ../../../$$room build/ns/driftline/$$room; done

lint: $(STAMP) ns ## ruff, ruff format, mypy --strict, import-linter
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## let ruff mend and format what it can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

test: $(STAMP) ## every test, the MindSpore ones included (ARGS="-k drift" chooses)
	$(BIN)/python -m pytest $(ARGS)

demo: $(STAMP) ## train, package, serve, drift, alert on scikit-learn's digits (KEEP=1 leaves the service up)
	KEEP=$(KEEP) $(BIN)/python -m examples.digits.demo

bench: $(STAMP) ## time the request path of the hooks
	$(BIN)/python -m benchmarks.hooks

bench-detect: $(STAMP) ## how soon drift is seen, how often stable traffic is called drift
	$(BIN)/python -m benchmarks.detect

bench-train: $(STAMP) ## what the callbacks add to a training step
	$(BIN)/python -m benchmarks.train

bench-serve: $(STAMP) ## requests a second: batched, unbatched, unwatched, and the bare route (needs wrk)
	$(BIN)/python -m benchmarks.serve

soak: $(STAMP) ## memory and files of a service under long, gentle load (MINUTES=30)
	$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),30)

ops-demo: $(STAMP) ## the service with Prometheus, Alertmanager and webhook receivers (KEEP=1 leaves them up)
	KEEP=$(KEEP) $(BIN)/python -m examples.ops.demo

pages-demo: $(STAMP) ## the live pages, with a training and traffic to look at
	$(BIN)/python -m examples.pages.demo

clean: ## remove what was built, and caches; .venv stays
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
