# SPDX-License-Identifier: BSD-3-Clause
# The whole build in one dependency graph; `make help` lists what can be asked for.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all
SHELL := /bin/sh

# --- Knobs: all of them can be set on the command line -----------------------------------------
MODE       ?= release
V          ?= 0
CC         := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
AR         := $(if $(filter default undefined,$(origin AR)),ar,$(AR))
CLANG      := $(findstring clang,$(CC))
CXX        := $(if $(filter default undefined,$(origin CXX)),$(if $(CLANG),clang++,g++),$(CXX))
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
DESTDIR    ?=
LOSS       ?=
SEEDS      ?= 500
FUZZ_SECONDS ?= 30
STATES     ?= 500000
# The GPU's kernels: nvcc (NVCC= for none), machine code for these, and PTX for what comes later.
NVCC       ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_SM    ?= 80 90 100
CUDA_PTX   ?= 75 100
B          := build/$(MODE)$(if $(CLANG),-clang)
VERSION    := $(shell awk '/define TALLY_VERSION_M|define TALLY_VERSION_P/ \
              { printf "%s%s", dot, $$3; dot = "." }' host/include/tally.h 2>/dev/null)

Q    := $(if $(filter 1,$(V)),,@)
say   = $(if $(filter 1,$(V)),@:,@printf '  %-8s%s\n' '$(1)' '$(2)')
have  = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo y)

# --- Modes: a folder each, so that changing the mode never needs a clean -----------------------
OPT_release := -O3 -g
OPT_debug   := -O0 -g3
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
               -fno-omit-frame-pointer
OPT_tsan    := -O1 -g -fsanitize=thread
OPT_cov     := -O0 -g --coverage
# clang's; the targets of tests/fuzz get libFuzzer's main then, and that of replay.c else.
OPT_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
               -fno-omit-frame-pointer
ifeq ($(OPT_$(MODE)),)
$(error MODE=$(MODE) is unknown: use release, debug, asan, tsan, cov or fuzz)
endif

WARN := -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-qual -Wstrict-prototypes \
        -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla -Wwrite-strings \
        -Wimplicit-fallthrough -Wswitch-enum -Werror=implicit-function-declaration
# Warnings are errors with the compilers the project is tested with; others may know new ones.
WERROR ?= $(if $(filter $(if $(CLANG),14,12),$(firstword $(subst ., ,$(CC_VERSION)))),-Werror)

CC_VERSION := $(shell $(CC) -dumpversion 2>/dev/null)
X86        := $(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null))
CPPFLAGS   += -I. -D_GNU_SOURCE $(if $(X86),-DTALLY_X86=1)
# No fused multiply-add unless the source says so: results are the same bits on every machine.
CFLAGS     += -std=c11 -fvisibility=hidden -fPIC -ffp-contract=off $(WARN) $(WERROR) \
              $(OPT_$(MODE))
LDFLAGS    += -pthread -Wl,--as-needed $(filter -fsanitize=% --coverage,$(OPT_$(MODE)))
DEPFLAGS    = -MMD -MP -MF $(@:.o=.d)

# --- Libraries ---------------------------------------------------------------------------------
HAVE_DPDK := $(call have,libdpdk)
HAVE_JSON := $(call have,jansson)
HAVE_TOPO := $(and $(call have,yaml-0.1),$(call have,libnl-route-3.0))

LIB_PCAP  := $(if $(call have,libpcap),-lpcap)
LIB_JSON  := $(if $(HAVE_JSON),-ljansson)

# DPDK is linked from its archives with only the drivers named here: docs/adr/0002.
DPDK_DRIVERS := bus_vdev bus_pci bus_auxiliary bus_vmbus mempool_ring mempool_stack \
                net_af_packet net_af_xdp net_memif net_null net_pcap net_ring net_tap \
                net_virtio net_e1000 net_igc net_ixgbe net_i40e net_ice net_iavf net_ena \
                net_vmxnet3 net_netvsc net_bnxt net_mlx5 common_mlx5
# Whole as well: their start-up constructors are referenced by nobody.
DPDK_WHOLE   := $(DPDK_DRIVERS) eal ethdev mbuf mempool ring telemetry kvargs log
DPDK_LINK    ?= $(if $(wildcard $(DPDK_LIBDIR)/librte_eal.a),static,shared)
ifeq ($(HAVE_DPDK),y)
DPDK_LIBDIR  := $(shell $(PKG_CONFIG) --variable=libdir libdpdk)
# DPDK's inline functions need SSE4.2; its own -march would also change everything else's code.
DPDK_CFLAGS  := $(patsubst -I%,-isystem %,$(filter-out -march=%,\
                $(shell $(PKG_CONFIG) --cflags libdpdk))) $(if $(X86),-msse4.2)
DPDK_ALL     := $(shell $(PKG_CONFIG) --static --libs libdpdk)
DPDK_AR      := $(filter $(notdir $(wildcard $(DPDK_LIBDIR)/librte_*.a)),\
                $(sort $(patsubst -l:%,%,$(filter -l:librte_%.a,$(DPDK_ALL)))))
DPDK_AR_MAIN := $(filter $(DPDK_WHOLE:%=librte_%.a),$(DPDK_AR))
# pkg-config also names what only a fully static program would need (RDMA providers, systemd).
DPDK_SYS     := $(filter $(patsubst %,-l%,bsd numa pcap xdp bpf elf z jansson mlx5 ibverbs crypto \
                fdt isal atomic dl),$(sort $(DPDK_ALL)))
# Tests pull in what they call and no driver, so that they stay small.
DPDK_PART    := -L$(DPDK_LIBDIR) -Wl,--start-group $(DPDK_AR:%=-l:%) -Wl,--end-group $(DPDK_SYS)
DPDK_static  := -L$(DPDK_LIBDIR) -Wl,--whole-archive $(DPDK_AR_MAIN:%=-l:%) \
                -Wl,--no-whole-archive -Wl,--start-group \
                $(patsubst %,-l:%,$(filter-out $(DPDK_AR_MAIN),$(DPDK_AR))) -Wl,--end-group \
                $(DPDK_SYS)
DPDK_shared  := $(shell $(PKG_CONFIG) --libs libdpdk)
DPDK_LIBS    := $(DPDK_$(DPDK_LINK))
DPDK_TEST    := $(if $(filter static,$(DPDK_LINK)),$(DPDK_PART),$(DPDK_shared))
endif
ifneq ($(HAVE_TOPO),)
TOPO_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags yaml-0.1 libnl-route-3.0))
TOPO_LIBS   := $(shell $(PKG_CONFIG) --libs yaml-0.1 libnl-route-3.0)
endif

# --- Layers: a folder each; ALLOW_x are the folders whose headers x may include ----------------
LAYERS := proto kernels kernels/cuda switch/core switch/io switch host/core host/transport host host/tools \
          host/examples topologies
ALLOW_proto          := proto
ALLOW_kernels        := kernels
ALLOW_kernels/cuda   := kernels/cuda kernels
ALLOW_switch/core    := switch/core proto
ALLOW_switch/io      := switch/io switch/core proto
ALLOW_switch         := switch switch/io switch/core proto
ALLOW_host/core      := host/core proto
ALLOW_host/transport := host/transport proto
ALLOW_host           := host host/include host/core host/transport proto kernels kernels/cuda
ALLOW_host/tools     := host/tools host/include host
ALLOW_host/examples  := host/examples host/include
ALLOW_topologies     := topologies switch switch/io switch/core host host/include host/core \
                        host/transport host/tools proto kernels kernels/cuda
# The embedded switch is the one transport that knows a machine of the other side.
ALLOW_host/transport/inproc.c := switch/core
PURE := proto switch/core host/core

ifneq ($(filter check check-unit tests,$(MAKECMDGOALS)),)
ifeq ($(call have,cmocka),)
$(error The unit tests need cmocka: `make deps` installs it (Debian package libcmocka-dev))
endif
endif

# A file's name says what it needs: *_dpdk.c, *_sse42.c, *_avx2.c, *_avx512.c, *_avx512fp16.c.
skipped := $(if $(HAVE_DPDK),,%_dpdk.c %_dpdk_test.c) \
           $(if $(X86),,%_sse42.c %_avx2.c %_avx512.c %_avx512fp16.c) \
           $(if $(HAVE_JSON),,switch/tallyctl%.c tests/unit/tallyctl%.c)
src      = $(filter-out $(skipped),$(wildcard $(1)/*.c))
# A file that defines main is a program; the other files of its folder belong to all of them.
MAINS   := $(shell grep -lsw '^int main' $(wildcard switch/*.c host/tools/*.c \
           host/examples/*.c topologies/*.c tests/explore/*.c tests/perf/*.c tests/e2e/*.c \
           tests/sim/*.c tests/second/*.c tests/numerics/*.c tests/replay/*.c))
mains    = $(filter $(MAINS),$(call src,$(1)))
obj      = $(patsubst %.c,$(B)/%.o,$(1))
objs     = $(call obj,$(filter-out $(MAINS),$(call src,$(1))))

$(B)/%_sse42.o: ISA := -msse4.2 -mpclmul
$(B)/%_avx2.o: ISA := -mavx2
AVX512   := -mavx512f -mavx512bw -mavx512vl -mavx512dq
$(B)/%_avx512.o: ISA := $(AVX512)
$(B)/%_avx512fp16.o: ISA := $(AVX512) -mavx512vbmi -mavx512bf16 -mavx512fp16
$(B)/kernels/quant_avx2.o: ISA := -mavx2 -mfma -mf16c
# The definition: what it is compared with must not be the same vector code.
$(B)/kernels/quant_scalar.o: EXTRA := -fno-tree-vectorize -fno-tree-slp-vectorize
$(B)/%_dpdk.o $(B)/%_dpdk_test.o: EXTRA := $(DPDK_CFLAGS)
$(B)/topologies/%.o $(B)/tests/unit/%.o: EXTRA += $(TOPO_CFLAGS)
# A stack may be small (`ulimit -s`, a thread of the user's): what is large is not on it.
ifeq ($(MODE),release)
$(B)/proto/%.o $(B)/switch/%.o $(B)/host/%.o $(B)/topologies/%.o: FRAME := -Wframe-larger-than=49152
endif

# --- Kernels for the GPU: a fat binary in the library, where nvcc is -------------------------------
CUDA_SRC   := $(wildcard kernels/cuda/*.cu kernels/cuda/*.cuh) kernels/cuda/quant_cuda.h kernels/quant.h \
              kernels/quant_math.h
# Numbers are exact: nothing is fused, subnormals are kept. The kernels' bounds leave 32 registers.
NVCCFLAGS  := -I. -std=c++17 -O3 --ftz=false --fmad=false --Werror all-warnings \
              -Xptxas --warn-on-spills,--warn-on-local-memory-usage,--warning-as-error
FATBIN     := $(if $(NVCC),$(B)/kernels/cuda/quant.fatbin)
CUDA_CODE  := $(foreach a,$(CUDA_SM),-gencode arch=compute_$(a),code=sm_$(a)) \
              $(foreach a,$(CUDA_PTX),-gencode arch=compute_$(a),code=compute_$(a))
$(B)/kernels/cuda/quant.fatbin: kernels/cuda/quant_cuda.cu $(CUDA_SRC) Makefile
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) $(CUDA_CODE) \
	    $$($(NVCC) --help | grep -q compress-mode && echo --compress-mode=size) -fatbin $< -o $@
# What the kernels were made with last: something else, or nothing, makes them anew.
FATBIN_AS  := $(strip $(NVCC) $(CUDA_CODE))
ifneq ($(FATBIN_AS),$(shell cat $(B)/kernels/cuda/made-with 2>/dev/null))
.PHONY: $(B)/kernels/cuda/made-with
endif
$(B)/kernels/cuda/made-with:
	$(Q)mkdir -p $(@D) && echo '$(FATBIN_AS)' >$@
$(B)/kernels/cuda/quant.fatbin $(B)/kernels/cuda/quant_fatbin.o: $(B)/kernels/cuda/made-with
ifneq ($(FATBIN),)
$(B)/kernels/cuda/quant_fatbin.o: EXTRA := -DQUANT_FATBIN_FILE='"$(FATBIN)"'
$(B)/kernels/cuda/quant_fatbin.o: $(FATBIN)
endif

# --- Products ----------------------------------------------------------------------------------
# The library never links DPDK: its *_dpdk.c files, if any, are left to plug-ins.
OBJ_LIB     := $(filter-out %_dpdk.o,$(foreach l,host host/core host/transport proto kernels \
               kernels/cuda switch/core,$(call objs,$(l))))
OBJ_SWITCH  := $(strip $(call objs,switch) $(call objs,switch/io))
OBJ_TOPO    := $(if $(HAVE_TOPO),$(call objs,topologies))
LIB         := $(if $(OBJ_LIB),$(B)/libtally.a)
LIB_SO      := $(if $(OBJ_LIB),$(if $(wildcard host/tally.map),$(B)/libtally.so.0))
LIB_SWITCH  := $(if $(OBJ_SWITCH),$(B)/libtallyswitch.a)
OBJ_TOOLS   := $(call objs,host/tools) $(call objs,host/examples)
LIB_TOOLS   := $(if $(strip $(OBJ_TOOLS)),$(B)/libtallytools.a)
LIB_TOPO    := $(if $(OBJ_TOPO),$(B)/libtallytopo.a)

prog         = $(foreach m,$(call mains,$(1)),$(B)/$(notdir $(m:.c=)))
SWITCHES    := $(if $(HAVE_DPDK),$(call prog,switch))
TOOLS       := $(call prog,host/tools)
EXAMPLES    := $(call prog,host/examples)
FABRIC      := $(if $(HAVE_TOPO),$(call prog,topologies))
PROGRAMS    := $(SWITCHES) $(TOOLS) $(EXAMPLES) $(FABRIC)

test         = $(patsubst %.c,$(B)/%,$(1))
UNIT_SRC    := $(filter %_test.c,$(call src,tests/unit))
UNIT_OBJ    := $(filter-out %_test.o,$(call objs,tests/unit))
UNIT        := $(call test,$(UNIT_SRC))
EXPLORE     := $(call test,$(call mains,tests/explore))
SIM         := $(call test,$(call mains,tests/sim))
# Each of tests/fuzz is a program by itself.
FUZZ_SRC    := $(filter-out $(if $(HAVE_TOPO),,%_topology.c),$(wildcard tests/fuzz/fuzz_*.c))
FUZZ        := $(call test,$(FUZZ_SRC))
PERF        := $(call test,$(call mains,tests/perf))
E2E_PROG    := $(call test,$(call mains,tests/e2e))
SECOND      := $(call test,$(call mains,tests/second))
FAKE        := $(if $(shell command -v $(firstword $(CXX))),$(B)/tests/cuda/fake/libcuda.so.1)
CUDA_TESTS  := $(if $(shell command -v $(firstword $(CXX))),$(B)/tests/cuda/emulate) $(B)/tests/cuda/piece.so
REPLAY      := $(call test,$(call mains,tests/replay))
NUMERICS    := $(call test,$(call mains,tests/numerics))
E2E         := $(filter-out tests/e2e/lib%,$(wildcard tests/e2e/*.sh))

.PHONY: all lib deps tests check check-unit check-explore check-proof check-sim check-fuzz \
        check-numerics check-replay numerics fuzz fuzz-run coverage coverage-run check-style check-e2e check-gpu check-kill demo figures screenshot bench \
        install uninstall clean format help
all: lib $(PROGRAMS)  ## libtally, the switch, tools, examples, the fabric runner
	@$(if $(HAVE_DPDK),:,echo 'tally-switch is not built: DPDK is missing; `make deps` \
	installs it (Debian package libdpdk-dev).')
	@$(if $(HAVE_JSON),:,echo 'tallyctl is not built: jansson is missing; `make deps` installs \
	it (Debian package libjansson-dev).')
	@$(if $(HAVE_TOPO),:,echo 'tally-fabric is not built: libyaml or libnl-route is missing; \
	`make deps` installs them (Debian packages libyaml-dev and libnl-route-3-dev).')
lib: $(LIB) $(LIB_SO) $(if $(LIB_SO),$(B)/libtally.so)
tests: all $(UNIT) $(EXPLORE) $(SECOND) $(SIM) $(FUZZ) $(PERF) $(E2E_PROG) \
       $(FAKE) $(CUDA_TESTS) $(NUMERICS) $(REPLAY)  ## everything the checks run

$(B)/libtally.a: $(OBJ_LIB)
$(B)/libtallyswitch.a: $(OBJ_SWITCH)
$(B)/libtallytopo.a: $(OBJ_TOPO)
$(B)/libtallytools.a: $(OBJ_TOOLS)
# A sanitiser's run-time symbols come from the program that loads the library.
SO_DEFS := $(if $(filter asan tsan,$(MODE)),,-Wl,-z,defs)
$(B)/libtally.so.0: host/tally.map $(LIB)
	$(call say,SO,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtally.so.0 -Wl,--version-script=host/tally.map \
	    $(SO_DEFS) -Wl,--whole-archive $(LIB) -Wl,--no-whole-archive $(LDFLAGS) -o $@
$(B)/libtally.so: $(B)/libtally.so.0
	$(Q)ln -sf libtally.so.0 $@

# link-programs and link-tests: $(1) sources that define main, $(2) objects and archives that
# they share, $(3) libraries. A program lies in $(B), a test below it where its source lies.
define link
$(1): $(2)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS) $$(filter %.o,$$^) $$(filter %.a,$$^) $(3) -lm -o $$@
endef
link-programs = $(foreach m,$(1),$(eval $(call link,$(B)/$(notdir $(m:.c=)),\
                $(call obj,$(m)) $(2),$(3))))
link-tests    = $(foreach m,$(1),$(eval $(call link,$(m:%.c=$(B)/%),$(call obj,$(m)) $(2),$(3))))

ALL_LIBS  := $(LIB_TOPO) $(LIB_TOOLS) $(LIB_SWITCH) $(LIB)
TEST_LIBS := $(TOPO_LIBS) $(LIB_PCAP) $(LIB_JSON)
$(call link-programs,$(if $(HAVE_DPDK),$(filter switch/tally-switch.c,$(call mains,switch))),\
    $(LIB_SWITCH) $(LIB),$(DPDK_LIBS) $(LIB_PCAP))
$(call link-programs,$(if $(HAVE_DPDK),$(filter switch/tallyctl.c,$(call mains,switch))),\
    $(LIB_SWITCH) $(LIB),$(LIB_JSON))
$(call link-programs,$(if $(HAVE_DPDK),$(filter switch/tally-replay.c,$(call mains,switch))),\
    $(LIB_SWITCH) $(LIB),$(LIB_PCAP))
$(call link-programs,$(call mains,host/tools),$(call objs,host/tools) $(LIB))
$(call link-programs,$(call mains,host/examples),$(call objs,host/examples) $(LIB))
$(call link-programs,$(if $(HAVE_TOPO),$(call mains,topologies)),$(ALL_LIBS),$(TOPO_LIBS) $(LIB_PCAP))
# A test of a *_dpdk.c file has the drivers; the others pull in what they call.
$(call link-tests,$(filter %_dpdk_test.c,$(UNIT_SRC)),$(UNIT_OBJ) $(ALL_LIBS),\
    $(TEST_LIBS) $(DPDK_LIBS) -lcmocka)
$(filter $(B)/tests/unit/gpu_%,$(UNIT)): | $(FAKE)
$(call link-tests,$(filter-out %_dpdk_test.c,$(UNIT_SRC)),$(UNIT_OBJ) $(ALL_LIBS),\
    $(TEST_LIBS) $(DPDK_TEST) -lcmocka)
$(foreach d,tests/perf tests/e2e,$(call link-tests,$(call mains,$(d)),\
    $(call objs,$(d)) $(ALL_LIBS),$(TEST_LIBS) $(DPDK_TEST)))

$(call link-tests,$(call mains,tests/explore),$(call objs,tests/explore) $(LIB))
$(call link-tests,$(call mains,tests/second),$(LIB))
$(call link-tests,$(call mains,tests/numerics),$(call objs,tests/numerics) $(LIB_TOOLS) $(LIB))
$(call link-tests,$(call mains,tests/sim),$(call objs,tests/sim) $(LIB),$(LIB_PCAP))
$(call link-tests,$(call mains,tests/replay),$(call objs,tests/replay) $(LIB_SWITCH) $(LIB),$(LIB_PCAP))
$(call link-tests,$(FUZZ_SRC),$(if $(filter fuzz,$(MODE)),,$(B)/tests/fuzz/replay.o) \
    $(call objs,tests/sim) $(ALL_LIBS),$(TEST_LIBS) $(DPDK_TEST) \
    $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer))

# A driver for tests: the kernels' source, run by the emulator.
$(FAKE): $(call obj,$(wildcard tests/cuda/fake/*.c)) $(B)/tests/cuda/emulator.o
	$(call say,SO,$@)
	$(Q)$(CXX) -shared -Wl,-soname,libcuda.so.1 $^ $(LDFLAGS) -o $@
# The emulator runs the kernels' source, so a C++ compiler will do.
$(B)/tests/cuda/emulate: $(patsubst %,$(B)/tests/cuda/%.o,emulate emulator piece) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) -o $@

# Read by tests/cuda/ptx_check.py, so that its names are to be seen.
$(B)/tests/cuda/piece.o: EXTRA := -fvisibility=default
$(B)/tests/cuda/piece.so: $(B)/tests/cuda/piece.o $(LIB)
	$(call say,SO,$@)
	$(Q)$(CC) -shared $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -o $@

# --- Rules -------------------------------------------------------------------------------------
$(B)/%.o: %.c Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(ISA) $(EXTRA) $(FRAME) $(DEPFLAGS) -c $< -o $@
$(B)/%.o: %.cc Makefile
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) -std=c++11 -fPIC -ffp-contract=off -fno-strict-aliasing -Wall -Wextra \
	    $(WERROR) $(OPT_$(MODE)) $(DEPFLAGS) -c $< -o $@
$(B)/%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# --- Checks: each `check` goes through the one runner that counts --------------------------------
STYLE := layers pure headers dpdk exports size spdx format words shell manuals mutants
list   = $(foreach l,$(2),$(l): $($(1)_$(l));)
# What a pure layer may call is what it may include.
STYLE_ENV := MODE='$(MODE)' CC='$(CC)' CXX='$(CXX)' STYLE_CFLAGS='$(CPPFLAGS) $(CFLAGS)' \
             DPDK_CFLAGS='$(DPDK_CFLAGS)' PURE='$(call list,ALLOW,$(PURE))' \
             LAYERS='$(call list,ALLOW,$(LAYERS) host/transport/inproc.c)' \
             UNBUILT='$(if $(HAVE_DPDK),,switch) $(if $(HAVE_TOPO),,topologies)'
CHECK     := SEEDS='$(SEEDS)' NVCC='$(NVCC)' SECOND_DRIVER='$(SECOND)' $(STYLE_ENV) tests/check.sh $(B)
RUN_UNIT  := $(UNIT:%=unit:%)
# Without arguments these check what is committed, and end with a verdict, as explorers do.
RUN_SIM   := $(SIM:%=explore:%)
PYTHON    := $(shell command -v python3)
RUN_SECOND := $(if $(PYTHON),explore:tests/second/second.py,\
              'skip:second implementation:python3 is missing (Debian package python3)')
RUN_CUDA  := $(if $(filter %/emulate,$(CUDA_TESTS)),$(B:%=explore:%/tests/cuda/emulate),\
             'skip:emulator of the CUDA kernels:$(CXX) is missing (Debian package g++)') \
             $(if $(filter release,$(MODE)),'proof:tests/cuda/ptx.sh $(B)' proof:tests/cuda/embed.sh)
# They build what they need themselves, the same in every mode.
RUN_PROOF := $(if $(filter release,$(MODE)),proof:tests/proof/check.sh \
             $(if $(PYTHON),'proof:tests/mutants/run.py --sample',\
             'skip:mutants:python3 is missing (Debian package python3)'))
RUN_REPLAY := $(if $(HAVE_DPDK),'proof:tests/replay/check.sh $(B)')
RUN_NUMERICS := 'proof:tests/numerics/check.sh $(B)'
RUN_REST  := $(EXPLORE:%=explore:%) $(RUN_CUDA) $(RUN_PROOF) $(RUN_REPLAY) $(RUN_NUMERICS) $(RUN_SECOND) \
             $(RUN_SIM) $(FUZZ:%=explore:%) \
             $(STYLE:%=style:%) $(E2E:%=e2e:%)
ifeq ($(MODE),tsan)
RUN_REST  := 'skip:explore, style and e2e:MODE=tsan runs the unit tests only'
endif

check: tests  ## all tests: unit, explorers, simulator, models, mutants, fuzz inputs, style, end to end
	@$(CHECK) $(RUN_UNIT) $(RUN_REST)
check-unit: $(UNIT)  ## unit tests
	@$(CHECK) $(RUN_UNIT)
check-explore: $(EXPLORE) $(SECOND)  ## explorers of the machines; a second implementation
	@$(CHECK) $(EXPLORE:%=explore:%) $(RUN_SECOND)
check-proof: $(EXPLORE)  ## models of the protocol; explorers, further; a mutant of the product for each rule
	@tests/proof/check.sh $(foreach e,$(EXPLORE),$(e) $(if $(filter %tree_join,$(e)),$(STATES))); rc=$$?; \
	$(if $(PYTHON),tests/mutants/run.py,\
	echo 'skip mutants: python3 is missing (Debian package python3)') && exit $$rc
check-numerics: $(NUMERICS) $(CUDA_TESTS) $(filter %/gpu_allreduce_test,$(UNIT))  ## vectors, expected and seen; all ways to compute are equal
	@NVCC='$(NVCC)' tests/numerics/check.sh $(B) all
check-replay: $(REPLAY) $(B)/tally-replay  ## golden captures: replayed twice, byte-identical, as expected; what is changed is found
	@tests/replay/check.sh $(B)
check-sim: $(SIM)  ## simulator: SEEDS=N or A..B runs, past failures, mutants
	@$(CHECK) $(RUN_SIM)
check-fuzz: $(FUZZ)  ## the committed inputs of the fuzz targets
	@$(CHECK) $(FUZZ:%=explore:%)
check-style: all  ## layers, purity, headers, exports, sizes, layout
	@$(CHECK) $(STYLE:%=style:%)
check-e2e: all $(E2E_PROG)  ## end-to-end tests; as root most also run as an ordinary user
	@$(CHECK) $(E2E:%=e2e:%)
check-gpu: $(B)/tests/unit/gpu_allreduce_test $(B)/tests/perf/bench_gpu  ## all-reduces and bandwidth on a real GPU
	@tests/cuda/gpu.sh $(B)
check-kill: all $(E2E_PROG)  ## worker, leaf and root killed, stopped, cut off: a table (3 minutes)
	@tests/e2e/kill.sh $(B) all
check-mutants:  ## the list of mutants: one for each rule, its text in its file (check-proof runs them)
.PHONY: $(STYLE:%=check-%)
$(STYLE:%=check-%): check-%: all
	@$(STYLE_ENV) tests/style/$*.sh $(B)

# --- Longer searches ----------------------------------------------------------------------------
fuzz:  ## libFuzzer (clang), FUZZ_SECONDS for each target
	@+$(MAKE) --no-print-directory MODE=fuzz CC=clang FUZZ_SECONDS=$(FUZZ_SECONDS) fuzz-run
fuzz-run: $(FUZZ)
	@tests/fuzz/run.sh $(B) $(FUZZ_SECONDS)
coverage:  ## lines of the machines that the checks run (gcc, gcov)
	@+$(MAKE) --no-print-directory MODE=cov SEEDS=$(SEEDS) coverage-run
coverage-run: $(UNIT) $(EXPLORE) $(SIM) $(FUZZ)
	@SEEDS=$(SEEDS) tests/sim/coverage.sh $(B) '$(PURE)' $(UNIT) $(EXPLORE) $(SIM) $(FUZZ)

# --- Trying it out -----------------------------------------------------------------------------
demo: all  ## train on the digits through a switch; LOSS=1% drops packets
	@$(B)/tally-fabric run topologies/demo.yaml $(if $(LOSS),--loss $(LOSS))
numerics: $(NUMERICS)  ## errors of sums: the tables and the plot of docs/numerics.md; GRADS=FILES: of these
	@$(if $(PYTHON),tests/numerics/numerics.py $(B) $(GRADS),\
	echo 'make numerics needs python3 (Debian package python3)' && exit 1)
figures: $(B)/tally-fabric  ## simulated: line rate, loss, timeline, 2 to 1024 workers: tables, and plots in build/figures
	@$(if $(PYTHON),tests/figures/figures.py $(B) build/figures $(FIGURES),\
	echo 'make figures needs python3 (Debian package python3)' && exit 1)
screenshot: $(B)/tally-fabric  ## docs/report.png, a page of --report as headless Chromium shows it
	@tests/figures/screenshot.sh $(B) docs/report.png
bench: all $(PERF)  ## measure; a table and JSON
	@$(if $(wildcard tests/perf/run.sh),tests/perf/run.sh $(B),set -e; for p in $(PERF); do $$p; done)

# --- Housekeeping ------------------------------------------------------------------------------
deps:  ## install what the build and its checks need (apt)
	@.ci/deps
format:  ## lay the sources out with clang-format
	clang-format -i $(shell find . \( -path ./build -o -path ./.git \) -prune -o -name '*.[ch]' -print)
clean:  ## remove what this MODE has built
	rm -rf $(B)
help:  ## this text
	@echo 'make [TARGET] [MODE=release|debug|asan|tsan|cov|fuzz] [CC=gcc|clang] [V=1] [WERROR=]'
	@awk -F ':.*##  *' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

# --- Installation: uninstall removes exactly what install puts -----------------------------------
D         := $(DESTDIR)$(PREFIX)
MAN       := $(wildcard docs/man/*.[1-9])
man_dest   = share/man/man$(patsubst .%,%,$(suffix $(1)))/$(notdir $(1))
YAML      := $(wildcard topologies/*.yaml topologies/*.csv)
DATA      := $(filter-out %.c %.h,$(wildcard host/examples/data/*))
WIRESHARK := $(wildcard docs/wireshark/*)
INST_BIN  := $(TOOLS) $(FABRIC) $(SWITCHES)
INSTALLED := $(if $(wildcard host/include/tally.h),include/tally.h) \
             $(if $(LIB),lib/libtally.a lib/pkgconfig/tally.pc) \
             $(if $(LIB_SO),lib/libtally.so.0 lib/libtally.so) \
             $(INST_BIN:$(B)/%=bin/%) \
             $(EXAMPLES:$(B)/%=lib/tally/examples/%) $(foreach m,$(MAN),$(call man_dest,$(m))) \
             $(YAML:%=share/tally/%) $(patsubst host/examples/%,share/tally/%,$(DATA)) \
             $(WIRESHARK:docs/%=share/tally/%)

put = install -D -m $(1) $(2) '$(D)/$(3)'
define newline


endef
install: all  ## install below DESTDIR and PREFIX
	$(if $(wildcard host/include/tally.h),$(call put,644,host/include/tally.h,include/tally.h))
	$(if $(LIB),$(call put,644,$(LIB),lib/libtally.a))
	$(if $(LIB),install -d '$(D)/lib/pkgconfig')
	$(if $(LIB),printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' \
	    'libdir=$${prefix}/lib' '' 'Name: tally' 'Description: all-reduce through a switch' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -ltally' \
	    'Libs.private: -pthread' >'$(D)/lib/pkgconfig/tally.pc')
	$(if $(LIB_SO),$(call put,755,$(LIB_SO),lib/libtally.so.0))
	$(if $(LIB_SO),ln -sf libtally.so.0 '$(D)/lib/libtally.so')
	$(foreach p,$(INST_BIN),$(call put,755,$(p),bin/$(notdir $(p)))$(newline)	)
	$(foreach p,$(EXAMPLES),$(call put,755,$(p),lib/tally/examples/$(notdir $(p)))$(newline)	)
	$(foreach m,$(MAN),$(call put,644,$(m),$(call man_dest,$(m)))$(newline)	)
	$(foreach y,$(YAML),$(call put,644,$(y),share/tally/$(y))$(newline)	)
	$(foreach f,$(DATA),$(call put,644,$(f),$(f:host/examples/%=share/tally/%))$(newline)	)
	$(foreach f,$(WIRESHARK),$(call put,644,$(f),$(f:docs/%=share/tally/%))$(newline)	)
uninstall:  ## remove what install has put there
	rm -f $(INSTALLED:%='$(D)/%')
	-@rmdir '$(D)/lib/tally/examples' '$(D)/lib/tally' '$(D)/share/tally/topologies' \
	    '$(D)/share/tally/data' '$(D)/share/tally/wireshark' '$(D)/share/tally' 2>/dev/null || :

-include $(shell find $(B) -name '*.d' 2>/dev/null)
