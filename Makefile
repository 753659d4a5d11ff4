# Every command a person needs; `make help` lists them.
#
# Sources are found by their place: a new .c file in a folder below is built without a line here.

BUILD := build
SOURCES := $(sort $(wildcard ref/*.c gpu/*.c gpu/*/*.c oracles/*.c reports/*.c cli/*.c))
TESTS := $(sort $(wildcard tests/*.c tests/independent/*.c))
BENCH := $(sort $(wildcard tests/bench/*.c))
WITNESS_MMA := $(wildcard tests/witness_mma/*.c) tests/mma_tiles.c
BANKS := $(sort $(wildcard tests/banks/*.c))
CONFORMANCE := $(sort $(wildcard tests/conformance/*.c tests/independent/*.c))
# Makes tiny models; part of the tests as well, and needs nothing that only they do.
TINY_MODELS := tests/tiny_model.c tests/gguf_sample.c tests/models/main.c
WITNESS := $(sort $(wildcard tests/witness/*.c tests/independent/*.c ref/*.c))

# Planted faults of ref/: fixtures/plants/CHECK/NAME.patch changes one file. CHECK/NAME=FILE of each.
REF_PLANTS := $(shell awk '/^\+\+\+ b\// {sub(/^fixtures\/plants\//, "", FILENAME); sub(/\.patch$$/, "", FILENAME); \
                      print FILENAME "=" substr($$2, 3)}' /dev/null $(sort $(wildcard fixtures/plants/*/*.patch)))

CC := gcc
# Bits are the product: no contraction, no fast-math, and no -march, so that every machine computes the same.
CFLAGS := -std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -ffp-contract=off -fno-fast-math -fopenmp
OPTIMISE := -O2
OPTIMISE_HOT := -O3
HOT := ref/% gpu/machine/%
SANITISE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# Static where there is a static library, so that the binary can be carried to a bare GPU machine. Expanded in the
# recipe, after set-up: pkg-config may not be there before.
STATIC = $(firstword $(wildcard $(shell pkg-config --variable=libdir $(1))/lib$(2).a) -l$(2))
GOMP = $(firstword $(wildcard $(shell $(CC) -print-file-name=libgomp.a)) -lgomp)
LIBS = $(call STATIC,libfyaml,fyaml) $(call STATIC,libcrypto,crypto) $(call STATIC,zlib,z) $(GOMP) -lpthread -ldl -lm

# Lane loops, NAME.isa.c, are compiled once an instruction set, with ISA=<name>; one is chosen at start.
ISAS := base
ISA_FLAGS_base :=
ifeq ($(shell uname -m),x86_64)
ISAS += avx2 avx512
ISA_FLAGS_avx2 := -mavx2 -mfma
ISA_FLAGS_avx512 := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
endif

# As many jobs as processors; a -j of the caller goes before.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build gate device evidence-check plants mutants test conformance witness witness-mma asan fuzz-gguf fuzz-ptx bench-ref bench-machine lint format models tiny-models ptx clean setup-build setup-test

# objects(folder, sources): the object files of these sources; a .isa.c has several.
objects = $(patsubst %.c,$(1)/%.o,$(filter-out %.isa.c,$(2))) \
          $(foreach isa,$(ISAS),$(patsubst %.isa.c,$(1)/%.isa.$(isa).o,$(filter %.isa.c,$(2))))

# planted(folder): a witness binary with each planted fault of ref/.
planted = $(foreach plant,$(REF_PLANTS),$(1)/planted/$(firstword $(subst =, ,$(plant)))/witness)

help: ## this list
	@echo 'warpproof: does the kernel that production runs compute exactly the right bits?'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  ARGS='...' is handed to the command of gate, device, plants, mutants, test, asan, conformance, witness-mma, ptx and bench-*:"
	@echo "  make gate ARGS='-j 1 q4_K/*'"

build: $(BUILD)/warpproof ## the command, build/warpproof

gate: build $(BUILD)/make-models ## run the quick cases on the PTX machine and judge them; real tensors too, when the model can be had
	@ci/setup models && ci/models || echo 'The model is absent: real tensors are not tested, generated cases only.'
	@[ -n "$(ARGS)" ] || { $(BUILD)/make-models $(BUILD)/models-tiny >/dev/null && ci/greedy-tiny $(BUILD); }
	@$(BUILD)/warpproof gate $(ARGS)

gate-all: build ## the same over the whole edge lattice, each case in three orders of warps, lanes, copies and blocks
	@ci/setup models && ci/models || echo 'The model is absent: real tensors are not tested, generated cases only.'
	@$(BUILD)/warpproof gate --all --schedule all $(ARGS)

device: build ## the quick cases on every GPU of this machine; ARGS='whole --device 0': the whole lattice on the first
	@ci/device $(ARGS)

evidence-check: build ## what GPUs gave (reports/evidence), held to today's kernels and contracts
	@ci/setup models && ci/models || echo 'The model is absent: what GPUs gave of its tensors is not checked.'
	@$(BUILD)/warpproof evidence check $(ARGS)

test: build $(BUILD)/tests ## every test; the last line counts them
	@WARPPROOF=$(BUILD)/warpproof $(BUILD)/tests $(ARGS)

asan: $(BUILD)/asan/warpproof $(BUILD)/asan/tests ## every test under the address and undefined-behaviour sanitisers
	@WARPPROOF=$(BUILD)/asan/warpproof $(BUILD)/asan/tests $(ARGS)

witness: $(BUILD)/witness $(call planted,$(BUILD)) ## every format against ggml's libraries and gguf's numpy decoders, both from PyPI
	@ci/setup witness
	@ci/witness $(BUILD)

conformance: $(BUILD)/conformance ## every instruction of the PTX machine against an independent evaluation and a GPU's bytes
	@$(BUILD)/conformance $(ARGS)

witness-mma: $(BUILD)/witness-mma ## floating-point mma against MMA-Sim from PyPI (with torch: 7 GB); not part of CI
	@ci/setup witness-mma
	@ci/witness-mma $(BUILD) $(ARGS)

plants: build ## plant every fault, of the kernels and of the small ones: who names it, and whether its clean twin is silent
	@$(BUILD)/warpproof plants $(ARGS)

MUTATED := mmq_wide_ldb_kd8 mmq_half_t mmq_llama_q4_k_j16 mmq_narrow_raw_kd8 matvec_q4_k quantize_pad40_t gemm_f16 dequantize_q4_k

mutants: build ## 300 mutants of each of eight kernels' PTX: who names them, and what passes; minutes, not part of CI
	@$(BUILD)/warpproof mutate $(if $(ARGS),$(ARGS),--each 300 $(MUTATED))

TIME := 60

fuzz-gguf: ## damaged GGUF files for TIME=60 seconds, under the sanitisers
	@ci/setup build fuzz
	@CC='$(CC)' ci/fuzz-gguf $(TIME) $(BUILD)/fuzz

fuzz-ptx: ## damaged PTX, parsed and run on the PTX machine, for TIME=60 seconds, under the sanitisers
	@ci/setup build fuzz
	@CC='$(CC)' ci/fuzz-ptx $(TIME) $(BUILD)/fuzz-ptx

bench-ref: $(BUILD)/bench-ref ## how fast the reference is, contract by contract; a measurement, never a test
	@$(BUILD)/bench-ref $(ARGS)

bench-machine: $(BUILD)/bench-machine ## how fast the PTX machine is, watches off and on; a measurement, never a test
	@$(BUILD)/bench-machine $(ARGS)

lint: ## includes point one way, format, static analysis
	@ci/setup build test lint
	@ci/check-includes
	@ci/lint

format: ## format the C sources in place
	@ci/setup lint
	@ci/lint --format

models: ## fetch the model that real-tensor cases read (241 MiB) into build/models
	@ci/setup models
	@ci/models

tiny-models: $(BUILD)/make-models ## a tiny random model of each architecture in each format, into build/models-tiny
	@$(BUILD)/make-models $(BUILD)/models-tiny

ptx: ## build fixtures/ptx from gpu/kernels and fixtures/plants; nvcc from PyPI where there is none
	@ci/setup ptx
	@ci/ptx $(ARGS)

clean: ## remove what was built; downloads (build/models, build/venv-*) stay
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name models ! -name 'venv-*' -exec rm -rf {} + 2>/dev/null || true

setup-build:
	@ci/setup build

setup-test:
	@ci/setup test

# planted_rules(folder, extra flags, optimisation, plant, file of ref/): the witness with this file's patched copy.
define planted_rules

$(1)/planted/$(4)/$(5): fixtures/plants/$(4).patch $(5) Makefile | setup-test
	@mkdir -p $$(@D)
	@patch --silent --force --fuzz=0 --no-backup-if-mismatch --output=$$@ $(5) $$< || \
	    { rm -f $$@; echo 'a change of $(5) needs $$< made anew' >&2; exit 1; }

$(1)/planted/$(4)/patched.o: $(1)/planted/$(4)/$(5)
	@echo 'cc   $$<'
	@$(CC) $(CFLAGS) $(3) $(2) -Wno-unused -iquote $(dir $(5)) -MMD -MP -c -o $$@ $$<

$(1)/planted/$(4)/witness: $(1)/planted/$(4)/patched.o $(filter-out $(1)/obj/$(5:.c=.o),$(call objects,$(1)/obj,$(WITNESS)))
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

-include $(1)/planted/$(4)/patched.d
endef

# rules(folder, extra flags, optimisation, optimisation of hot files): binaries and objects in this folder.
define rules
$(1)/warpproof: $$(call objects,$(1)/obj,$(SOURCES))
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/tests: $$(call objects,$(1)/obj,$(filter-out cli/main.c,$(SOURCES)) $(TESTS) $(filter-out %/main.c,$(BANKS))) | setup-test $(1)/witness $(call planted,$(1)) $(1)/fake_cuda/libcuda.so.1 $(1)/fake_cuda/libcublasLt.so $(1)/bank-patterns
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ -lcriterion $$(LIBS)

$(1)/fake_cuda/libcuda.so.1: tests/fake_cuda/libcuda.c ref/half.c ref/half.h Makefile | setup-build
	@mkdir -p $$(@D)
	@echo 'cc   $$<'
	@$(CC) $(CFLAGS) $(3) -fPIC -shared -Wl,-soname,$$(@F) -o $$@ $$(filter %.c,$$^)

$(1)/fake_cuda/libcublasLt.so: tests/fake_cuda/cublas.c ref/half.c ref/half.h Makefile | setup-build
	@mkdir -p $$(@D)
	@echo 'cc   $$<'
	@$(CC) $(CFLAGS) $(3) -fPIC -shared -o $$@ $$(filter %.c,$$^)

$(1)/bench-ref: $$(call objects,$(1)/obj,$(filter ref/%,$(SOURCES)) tests/bench/contracts.c)
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/bench-machine: $$(call objects,$(1)/obj,$(filter ref/% gpu/%,$(SOURCES)) tests/bench/machine.c)
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/conformance: $$(call objects,$(1)/obj,$(filter-out cli/%,$(SOURCES)) $(CONFORMANCE))
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/make-models: $$(call objects,$(1)/obj,$(filter ref/%,$(SOURCES)) $(TINY_MODELS))
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/bank-patterns: $$(call objects,$(1)/obj,$(filter ref/% gpu/%,$(SOURCES)) $(BANKS))
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/witness: $$(call objects,$(1)/obj,$(WITNESS))
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(1)/witness-mma: $$(call objects,$(1)/obj,$(filter ref/% gpu/%,$(SOURCES)) $(WITNESS_MMA))
	@echo 'link $$@'
	@$(CC) $(2) -o $$@ $$^ $$(LIBS)

$(foreach plant,$(REF_PLANTS),$(call planted_rules,$(1),$(2),$(4),$(firstword $(subst =, ,$(plant))),$(lastword $(subst =, ,$(plant)))))

$$(call objects,$(1)/obj,$(filter-out $(TINY_MODELS),$(TESTS))): | setup-test

$(1)/obj/%.o: %.c Makefile | setup-build
	@mkdir -p $$(@D)
	@echo 'cc   $$<'
	@$(CC) $(CFLAGS) $$(if $$(filter $(HOT),$$<),$(4),$(3)) $(2) -MMD -MP -c -o $$@ $$<

$(foreach isa,$(ISAS),
$(1)/obj/%.isa.$(isa).o: %.isa.c Makefile | setup-build
	@mkdir -p $$(@D)
	@echo 'cc   $$< ($(isa))'
	@$(CC) $(CFLAGS) $(4) $(2) -DISA=$(isa) $(ISA_FLAGS_$(isa)) -MMD -MP -c -o $$@ $$<
)

-include $$(patsubst %.o,%.d,$$(call objects,$(1)/obj,$(SOURCES) $(TESTS) $(BENCH) $(WITNESS) $(WITNESS_MMA) $(CONFORMANCE) $(BANKS) $(TINY_MODELS)))
endef
$(eval $(call rules,$(BUILD),,$(OPTIMISE),$(OPTIMISE_HOT)))
$(eval $(call rules,$(BUILD)/asan,$(SANITISE),-O1,-O1))
