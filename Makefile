# `make run` sets everything up in .venv and shows the program on this clone and on a sample project; `make test`
# checks everything.
# Works with GNU make 3.81. Plain `python3 -m venv` and pip underneath; uv does the installing when present.

VENV := .venv
PYTHON_ := $(VENV)/bin/python
WORKBENCH := $(VENV)/bin/workbench
UV := $(shell command -v uv 2>/dev/null)
# One more than a small machine has cores: tests wait for programs they start.
JOBS ?= 3
# Workers that are forked after collecting cost half a minute less than those of xdist; forking is for Linux alone.
PARALLEL := -n $(JOBS) --dist worksteal
ifeq ($(shell uname),Linux)
PARALLEL := -p tests.workers --workers $(JOBS)
endif
CPU_REPORT := $(VENV)/cpu.tsv
TASK ?= workbench config show names the wrong source when an environment variable is set
BUDGET ?= 3000
SAMPLE := $(VENV)/sample
SAMPLE_TASK := a customer cancelled an order that was paid with a gift card and the balance is not back
SOURCES := workbench store screens

PIP := $(PYTHON_) -m pip --disable-pip-version-check --quiet
ifneq ($(UV),)
PIP := VIRTUAL_ENV=$(VENV) $(UV) --quiet pip
endif
install = $(PIP) install --no-deps --require-hashes -r $(1) && $(PIP) install --no-deps -e .

# Say a command as a user would type it, and run it in the sample project.
show = @echo '  $(1)' >&2
define sample
$(call show,workbench $(1))
@cd $(SAMPLE)/roastery && "$(CURDIR)/$(WORKBENCH)" $(1)
endef

# glibc keeps what tests free instead of asking the system for it anew: 3 to 5 % of the time of all tests.
test deep: export MALLOC_TRIM_THRESHOLD_ := 1000000000
test deep: export MALLOC_MMAP_THRESHOLD_ := 33554432
test deep: export MALLOC_TOP_PAD_ := 4194304
# Threads of NumPy's library spin after each product, for nothing: the program starts none either.
test deep: export OPENBLAS_NUM_THREADS := 1

# Python keeps what it compiled, as it does by default: tests start a few hundred programs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test deep check coverage format bench bench-scale dist docs stubs pictures lock clean fuzz chaos team-server sittings sbom audit
.DEFAULT_GOAL := help

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

$(PYTHON_):
	@python=`.ci/preflight` || exit 1; \
	echo "Making $(VENV) with $$python" >&2; \
	if "$$python" -c 'import venv, ensurepip' 2>/dev/null; then "$$python" -m venv --clear $(VENV); \
	else uv --quiet venv --clear --python "$$python" $(VENV); fi

$(VENV)/.run: requirements.lock pyproject.toml $(PYTHON_)
	@.ci/preflight >/dev/null
	@echo "Installing the packages pinned in requirements.lock (a minute or two)" >&2
	@$(call install,requirements.lock)
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml $(PYTHON_)
	@.ci/preflight >/dev/null
	@echo "Installing the packages pinned in requirements-dev.lock (a minute or two)" >&2
	@$(call install,requirements-dev.lock)
	@touch $(VENV)/.run $@

run: $(VENV)/.run ## set up, plan a task in this very repository, replay a sample project
	@echo "Indexing this repository; the embedding model is made ready first (seconds, once on a machine):" >&2
	@$(WORKBENCH) index
	@echo "Planning in this repository, from its files, its history and its rule files:" >&2
	@echo "  workbench plan \"$(TASK)\" --budget $(BUDGET)" >&2
	@$(WORKBENCH) plan "$(TASK)" --budget $(BUDGET)
	@echo "Making a sample project, 122 commits and 39 sessions of agents, in $(SAMPLE):" >&2
	$(call show,python -m sample_data.build $(SAMPLE); cd $(SAMPLE)/roastery)
	@$(PYTHON_) -m sample_data.build $(SAMPLE) >/dev/null
	@echo "Turning the sessions into past tasks that plans learn from:" >&2
	$(call sample,import sessions ../sessions)
	@echo "Embedding them, so that plans compare tasks by meaning:" >&2
	$(call sample,index)
	@echo "Looking for rules that repeat or contradict each other, in the files of four agents:" >&2
	$(call sample,rules conflicts list)
	@echo "Learning from what went wrong in the sessions, and from what the users said of how things are done:" >&2
	$(call sample,memory ingest ../sessions)
	$(call sample,memory queue)
	@echo "Putting aside what conversations said and decided, and finding it again:" >&2
	$(call sample,stash import "$(CURDIR)/sample_data/stash.jsonl")
	$(call sample,stash search "gift card balance after a cancelled order" --top-k 3)
	@echo "Planning a task there, as an episode that begins:" >&2
	$(call sample,episode start "$(SAMPLE_TASK)" --session gift-card-balance)
	$(call sample,plan "$(SAMPLE_TASK)" --budget 1500 --session gift-card-balance)
	$(call sample,episode running)
	@echo "Training a ranking on its past, which is used where it is better:" >&2
	$(call sample,model train --min-samples 100)
	@echo "Replaying its past: what would each system have shown for a task, and which files were edited then?" >&2
	$(call sample,--replay --report ../replay.html)
	@echo "All of it in the app:  cd $(SAMPLE)/roastery && $(CURDIR)/$(WORKBENCH)" >&2
	@echo "Now in your own repository:  $(CURDIR)/$(WORKBENCH) plan \"what you are about to do\"" >&2

# Types take a minute on one core, so that tests run beside them; what the checks found is shown after the tests.
CHECKED := $(VENV)/check.txt
CHECK := $(MAKE) --no-print-directory check# in a variable, so that `make -n` runs nothing
test: $(VENV)/.dev ## lint, types, import contracts, tests (without a network, where Linux allows it)
	@$(CHECK) >$(CHECKED) 2>&1 & checking=$$!; trap 'kill $$checking' INT TERM; \
	$(PYTHON_) -m tests.offline --else-with \
		$(PYTHON_) -m pytest $(PARALLEL) -p tests.cpu_report --cpu-report $(CPU_REPORT) $(PYTEST_ARGS); tested=$$?; \
	wait $$checking; checked=$$?; cat $(CHECKED); exit $$((tested || checked))

# Searches end after a few cases in `make test`; here they try all, and sit in a terminal.
deep: $(VENV)/.dev ## search in full where `make test` takes a sample: crashes, damage, drawn inputs (ten minutes)
	@DEEP=1 $(PYTHON_) -m tests.offline --else-with $(PYTHON_) -m pytest $(PARALLEL) -m searches $(PYTEST_ARGS)
	@$(PYTHON_) -m pytest -q -n 0 tests/sittings.py

check: $(VENV)/.dev ## lint, types and import contracts only
	@$(PYTHON_) -m ruff format --check .
	@$(PYTHON_) -m ruff check .
	@$(PYTHON_) -m mypy
	@$(VENV)/bin/lint-imports

# Left out: tests that count what a program imports and how much it may write, which a measured one does more of.
# Programs that tests kill leave broken files of data behind; what they would have added is missing.
coverage: $(VENV)/.dev ## run the tests and report which lines none of them reaches (twice as long)
	@rm -f .coverage .coverage.*
	@$(PYTHON_) -m coverage run -m pytest -n $(JOBS) --dist worksteal -q $(PYTEST_ARGS) \
		--deselect tests/plan/test_crashes.py::test_no_room_for_files \
		--deselect tests/test_imports.py::test_a_plan_on_an_indexed_project_imports_what_it_uses
	-@$(PYTHON_) -W ignore -m coverage combine --quiet
	@$(PYTHON_) -W ignore -m coverage report --ignore-errors --sort=cover

team-server: $(VENV)/.dev ## run a PostgreSQL server to try a team with (docs/team.md), until Ctrl-C
	@$(PYTHON_) -m tests.postgres_server

chaos: $(VENV)/.dev ## kill commands, damage files, fill disks, and see whether the next command works (10 minutes)
	@$(PYTHON_) -m bench.chaos

fuzz: $(VENV)/.dev ## send the HTTP and the MCP server what they allow and what they do not, at length
	@FUZZ_EXAMPLES=100 $(PYTHON_) -m pytest -q -n 0 -o faulthandler_timeout=0 tests/entry/http/test_fuzz.py \
		tests/entry/mcp/test_fuzz.py
sittings: $(VENV)/.dev ## sit through every section in a real terminal, killed and resized in the middle (three minutes)
	@$(PYTHON_) -m pytest -q -n 0 tests/sittings.py

format: $(VENV)/.dev ## format the code
	@$(PYTHON_) -m ruff format .
	@$(PYTHON_) -m ruff check --fix .

bench: $(VENV)/.dev ## measure ranking, packing and speed
	@$(PYTHON_) -m bench

bench-scale: $(VENV)/.dev ## measure how the product grows to a million records, and draw docs/scale.md (hours)
	@$(PYTHON_) -m bench.scale

dist: $(VENV)/.dev ## build the wheel and the sdist, and try them where there is neither lock nor repository
	@rm -rf dist
	@$(PYTHON_) -m hatchling build
	@$(PYTHON_) -m pytest -q -o faulthandler_timeout=1200 tests/test_packages.py tests/distribution.py

sbom: $(VENV)/.dev ## write the bill of materials of what gets installed, with hashes and licences (CycloneDX)
	@$(PYTHON_) -m bench.components --sbom dist/sbom.json

audit: ## ask what is known to be wrong with the pinned packages (online; needs uv)
	@test -n "$(UV)" || { echo "make audit needs uv: python3 -m pip install uv" >&2; exit 1; }
	@$(UV) tool run pip-audit --requirement requirements.lock --require-hashes --disable-pip

docs: $(VENV)/.dev ## write the generated pages and schemas in docs/, and what commands print on the others
	@$(PYTHON_) -m workbench.entry.cli.reference docs/commands.md
	@$(PYTHON_) -m screens.reference docs/keys.md
	@$(PYTHON_) -m workbench.entry.schemas docs/schema
	@$(PYTHON_) -m workbench.entry.http.openapi docs/openapi.json
	@$(PYTHON_) -m store.table_notes docs/tables.md
	@$(PYTHON_) -m workbench.entry.install.plugin plugin
	@$(PYTHON_) -m bench.components --licences docs/licences.md
	@$(PYTHON_) -m tests.docs

stubs: $(VENV)/.dev ## generate what speaks gRPC from workbench/entry/grpc/ingestion.proto
	@$(PYTHON_) -m grpc_tools.protoc -I . --python_out=. workbench/entry/grpc/ingestion.proto

pictures: $(VENV)/.dev ## draw the pictures of the README and the tour
	@$(PYTHON_) -m bench.pictures docs/pictures

COMPILE = $(UV) pip compile --quiet pyproject.toml --group models --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links
lock: ## pin the newest allowed versions, with hashes (needs uv)
	@test -n "$(UV)" || { echo "make lock needs uv: python3 -m pip install uv" >&2; exit 1; }
	@$(COMPILE) --upgrade -o requirements.lock
	@$(COMPILE) --upgrade --group dev -c requirements.lock -o requirements-dev.lock

clean: ## remove everything make made
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find $(SOURCES) bench sample_data tests -name __pycache__ -type d -prune -exec rm -rf {} +
