# Every command a person or CI needs. `make help` lists them; each installs what it misses first
# (tools/setup/setup.sh).

PRESET ?= gcc
PREFIX ?= /usr/local
TREE ?= /usr/include

# Development tools run on a pinned Node, whatever the machine has.
NODE := test/runtimes/node_modules/node24-$(subst aarch64,arm64,$(subst x86_64,x64,$(shell uname -m)))/bin/node

# Two tests more at once than there are CPUs: those of JavaScript sleep half of their time.
export CTEST_PARALLEL_LEVEL ?= $(shell echo $$(($$(nproc) + 2)))

# $(call ctest,BUILD PRESET or nothing,TEST PRESET,SHOW): builds, tests, runs SHOW if it is given,
# and sums up; summary.js decides whether they have passed.
ctest = rm -f build/tests.xml; cmake --preset gcc >build/configure.log && \
	$(if $(1),cmake --build --preset $(1) &&) ctest --preset $(2); $(if $(3),echo; $(3);) $(NODE) test/summary.js

.PHONY: help setup setup-bench setup-everywhere setup-site build core check test matrix everywhere amalgamation verify soak fuzz demo page site bench simulate lint format install clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ' *## *' '/^[a-z]+:.*##/ { split($$1, target, ":"); printf "  make %-12s %s\n", target[1], $$2 }' $(MAKEFILE_LIST)

setup: ## install what building and testing need, or say what to install
	@tools/setup/setup.sh

setup-bench:
	@tools/setup/setup.sh bench

setup-everywhere: setup
	@tools/setup/setup.sh everywhere

setup-site:
	@tools/setup/setup.sh site

build: setup ## build the library, C tests and tools in build/$(PRESET); PRESET=gcc, clang, asan, tsan or release
	@cmake --preset $(PRESET) && cmake --build --preset $(PRESET)

core: setup ## print the C core as js/src/core, and build the wasm library
	@$(NODE) tools/core/build.js && $(NODE) tools/core/meanings.js && clang-format -i src/meanings.h && $(NODE) tools/core/wasm.js

check: setup ## the loop while one works: build and run what takes a minute, and say what that leaves out
	@$(call ctest,check,check)

test: setup ## run every test there is and count them; DOCS=1 puts JavaScript's table into docs/
	@$(call ctest,gcc,gcc,$(NODE) test/js/matrix.js $(if $(DOCS),--docs))

matrix: setup ## run the JavaScript suite on every runtime, in all modes, and in every browser
	@$(NODE) test/js/run.js; status=$$?; echo; $(NODE) test/js/matrix.js; exit $$status

everywhere: setup-everywhere ## run the C tests on every system and processor that runs here; DOCS=1 puts the table into docs/
	@$(call ctest,,everywhere); status=$$?; $(NODE) test/everywhere.js $(if $(DOCS),--docs); exit $$status

amalgamation: setup ## write lockword.c and lockword.h, the one-file build, into build/amalgamation
	@$(NODE) tools/amalgamation.js

verify: setup ## explore every interleaving of the core, and of its mutants
	@$(call ctest,gcc,verify)

soak: build ## kill 20,000 processes that share a region, at any instruction; count a million with Node, C and Python; let etcd fail for five minutes; DEATHS=20000 SECONDS=300
	@LW_DEATHS=$(or $(DEATHS),20000) build/$(PRESET)/test/c/test-region-soak
	@LW_DEATHS=$(or $(DEATHS),20000) build/$(PRESET)/test/c/test-region-table
	@LW_COUNT=1000000 LW_KILLS=1000 LOCKWORD_LIBRARY=$(CURDIR)/build/$(PRESET)/liblockword.so \
		$(NODE) test/region/run.js build/$(PRESET)/test/region-peer --only node24 --suite count
	@LW_SECONDS=$(or $(SECONDS),300) unshare -rnm $(abspath $(NODE)) node_modules/mocha/bin/mocha.js test/command/lease/soak.test.js

fuzz: setup ## open a million regions that libFuzzer damages; RUNS=1000000
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz >/dev/null && mkdir -p build/fuzz/corpus
	@build/fuzz/test/c/fuzz-region -runs=$(or $(RUNS),1000000) -timeout=20 -len_control=0 -max_len=400 build/fuzz/corpus

demo: setup ## count the C identifiers under TREE=/usr/include by threads, wasm, JavaScript and dying processes
	@$(NODE) demo/run.js "$(TREE)"

page: setup ## serve the counter page, examples/counter-page, on this machine
	@$(NODE) node_modules/vite/bin/vite.js examples/counter-page

site: setup-site ## build the documentation as a static site, build/site
	@$(NODE) tools/site/build.js
	@echo "To look at it: $(NODE) node_modules/vite/bin/vite.js preview --outDir build/site"

bench: setup-bench ## measure locks beside their peers; QUICK=1: in five minutes; ONLY=loops: one part; DOCS=1 puts tables and plots into docs/
	@$(NODE) bench/run.js $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(DOCS),--docs)

simulate: setup ## simulate locks and their peers' policies, on 2 to 128 CPUs: five minutes; TUNE=1: other constants of the waiting policy; DOCS=1 puts tables and plots into docs/
	@cmake --preset release >/dev/null && cmake --build --preset release --target lockword-simulate$(if $(TUNE),-tune)
	@$(if $(TUNE),$(NODE) bench/simulate/tune.js build/release/bench/simulate/lockword-simulate-tune,build/release/bench/simulate/lockword-simulate --sockets 1,2 $(if $(DOCS),--json docs/simulation.json))
	@$(if $(DOCS),$(NODE) bench/docs.js)

lint: setup ## check formatting, C and JavaScript
	@$(call ctest,,lint)

format: setup ## format C and JavaScript
	@cmake --preset gcc >/dev/null && cmake --build --preset gcc --target format

install: ## install headers, libraries, CMake package and pkg-config file; PREFIX=/usr/local, DESTDIR=
	@cmake -S . -B build/install -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"
	@cmake --build build/install
	@DESTDIR="$(DESTDIR)" cmake --install build/install

clean: ## remove all that was built; node_modules stays
	@rm -rf build js/cjs js/types
