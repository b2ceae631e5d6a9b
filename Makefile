# `make help` says what there is to make; doc/building.md says how this works.
# Settings come from $(OBJS)/config.mk, which ./configure writes. Every folder under src/ that has sources becomes one
# archive; a folder is found by being there, no list names it.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# One spelling of a directory, however it was given: objects and what they depend on are found by it.
from_here = $(patsubst $(CURDIR)/%,%,$(1))
OBJS ?= objs
override OBJS := $(call from_here,$(OBJS))
CONFIG ?= $(OBJS)/config.mk
# Builds that give the compiler the same flags can share their objects: those with gperf or valgrind and the normal one do.
OBJDIR ?= $(OBJS)/obj
override OBJDIR := $(call from_here,$(OBJDIR))

goals := $(or $(MAKECMDGOALS),all)
ifneq ($(filter-out help console site clean layers format format-check,$(goals)),)
include $(CONFIG)
endif

# Configures when that was never done, and again, with the same options, when configure itself has changed.
$(CONFIG): configure $(wildcard scripts/configure/*.sh)
	./configure $(CONFIGURE_ARGUMENTS) --objs=$(patsubst %/config.mk,%,$(CONFIG))

# ---- Flags

comma := ,
CXX = $(CONFIG_CXX)
# Functions and lines. Types and variables are a seventh of the compiler's time (doc/decisions/001): --extra-flags=-g.
DEBUG_INFO := $(if $(filter on,$(CONFIG_DEBUG)),-g,-g1)
CXXFLAGS := -std=c++23 $(DEBUG_INFO) -fno-omit-frame-pointer -fstack-clash-protection -Wall -Wextra -Werror -pthread
# Five warnings of g++ 12 are wrong too often: it takes the unused half of std::expected, behind every TRY, for a value
# used uninitialised or freed, and loses count when vectors and strings grow. The sanitizer build sees what they would.
ifeq ($(CONFIG_COMPILER),gcc)
CXXFLAGS += -Wno-maybe-uninitialized -Wno-free-nonheap-object -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict
else
# Clang warns of what libstdc++ 12 calls within std::stable_sort, and does not know the attribute noclone.
CXXFLAGS += -Wno-deprecated-declarations -Wno-unknown-attributes
endif
# research/ is for research/ itself (check_layers keeps src/ from including it); -iquote, so that no file in it hides a
# standard header. A frame larger than a page must not step over a stack's guard page: -fstack-clash-protection.
CPPFLAGS := -Isrc -iquote research -iquote . -DST_SWITCH_CB -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -DSPDLOG_NO_EXCEPTIONS
LDFLAGS := -Wl,--as-needed -pthread $(CONFIG_LINKER) $(EXTRA_LDFLAGS)
OPTIMISE := -O2
ifeq ($(CONFIG_DEBUG),on)
OPTIMISE := -O0
CPPFLAGS += -DSRS_DEBUG
endif
# -Og and not -O1, for which g++ 12 takes up to seven times as long under the sanitizers. For clang -O0, which takes half of
# its -Og (doc/decisions/141).
TOOLS := $(firstword $(filter on,$(CONFIG_SANITIZER) $(CONFIG_GCOV) $(CONFIG_GPROF)))
ifeq ($(TOOLS)-$(CONFIG_DEBUG),on-off)
OPTIMISE := $(if $(filter on-off,$(CONFIG_GPROF)-$(CONFIG_GCOV)),-O2,$(if $(filter clang,$(CONFIG_COMPILER)),-O0,-Og))
endif
# What these three find, an access through a null, wild or freed pointer, the address sanitizer finds too; they are a sixth of
# g++'s time (doc/decisions/001), and a twentieth of clang's.
LEFT_TO_ADDRESSES := $(if $(filter gcc,$(CONFIG_COMPILER)),-fno-sanitize=null$(comma)object-size$(comma)vptr)
# Clang would move locals to the heap, to find their use after the function's return; g++ does not unless it is asked at the
# start. The leak checker does not look there for what a coroutine holds that waits.
LOCALS_ON_STACK := $(if $(filter clang,$(CONFIG_COMPILER)),-fsanitize-address-use-after-return=never)
ifeq ($(CONFIG_SANITIZER),on)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined $(LEFT_TO_ADDRESSES) $(LOCALS_ON_STACK)
CPPFLAGS += -DSRS_SANITIZER
endif
ifeq ($(CONFIG_SANITIZER_STATIC),on)
LDFLAGS += $(CONFIG_SANITIZER_LIBS)
endif
# gmon.out has addresses as they were in the process, which gprof finds again only where nothing was moved: no-pie.
ifeq ($(CONFIG_GPROF),on)
CXXFLAGS += -pg -fno-pie
LDFLAGS += -pg -no-pie
endif
# The log's thread counts too.
ifeq ($(CONFIG_GCOV),on)
CXXFLAGS += --coverage -fprofile-update=atomic
LDFLAGS += --coverage
endif
ifdef LIBFUZZER
SANITIZE := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined $(LOCALS_ON_STACK)
CPPFLAGS += -DSRS_SANITIZER
endif
CXXFLAGS += $(OPTIMISE) $(SANITIZE) $(CONFIG_SPEED_FLAGS) $(CONFIG_EXTRA_FLAGS)
LDFLAGS += $(SANITIZE) $(CONFIG_EXTRA_FLAGS)
# What only tests run need not be fast: half of the compiler's time for them.
TEST_FLAGS := -O0
# CLI11 does not compile without exceptions; nothing else may have them (doc/decisions/040).
WITH_EXCEPTIONS := src/server/command_line.cpp research/bench/command_line.cpp

# Compiled by themselves: in a batch the compiler inlines less of them, which takes 3 to 7 % more instructions.
HOT := src/protocol/rtmp/chunk_reader.cpp src/protocol/mp4/finisher.cpp src/protocol/mp4/movie_fragment.cpp \
    src/protocol/mp4/table_builder.cpp
# Likewise: a build that leaves a service out differs in this object alone (scripts/e2e/test_left_out.py).
LIST_OF_SERVICES := src/server/services.cpp

# ---- What is there

# A folder of research/ with a program in it, which gets the folder's name; the others are archives.
BENCH_DIRS := $(sort $(patsubst %/,%,$(dir $(wildcard research/*/main.cpp research/floor/floor.cpp))))
# What only some builds have stands in x_on.cpp; the others take x_off.cpp. PART=on|off, a word each.
CONFIG_PLANTED := $(if $(filter on,$(CONFIG_DEBUG) $(CONFIG_SANITIZER) $(CONFIG_GPERF) $(CONFIG_GPROF) $(CONFIG_GCOV) $(CONFIG_VALGRIND)),on,off)
CHOICES := server/builds/cpu_profile=$(CONFIG_GCP) server/builds/heap_profile=$(CONFIG_GMP) server/builds/release_rate=$(CONFIG_GPERF) \
    server/builds/leak_check=$(CONFIG_GMC) server/builds/sanitizer_log=$(CONFIG_SANITIZER_LOG) server/builds/planted=$(CONFIG_PLANTED) \
    runtime/loop/memcheck=$(CONFIG_VALGRIND)
not_chosen := $(foreach c,$(CHOICES),src/$(firstword $(subst =, ,$(c)))_$(if $(filter %=on,$(c)),off,on).cpp)
sources := $(sort $(filter-out $(not_chosen),$(shell find src research -name '*.cpp' 2>/dev/null)))
dirs := $(sort $(patsubst %/,%,$(dir $(sources))))
tests := $(filter %_test.cpp %_testing.cpp,$(sources))
fuzzers := $(filter %_fuzz.cpp,$(sources))
mains := $(filter %/main.cpp %_main.cpp research/fuzz/% $(foreach d,$(BENCH_DIRS),$(d)/%),$(sources))
parts := $(filter-out $(tests) $(fuzzers) $(mains),$(sources))

# Sources of a folder are compiled together, at most CONFIG_BATCH at a time: most of a compiler's time goes into headers,
# which they share. A batch is called FOLDER/parts-N or FOLDER/tests-N, and batch.NAME has its sources.
# Compiled by themselves: programs' main sources, sources with flags of their own, and those in which builds that share
# their objects differ.
choices := $(foreach c,$(CHOICES),$(foreach k,on off,src/$(firstword $(subst =, ,$(c)))_$(k).cpp))
batched := $(if $(filter-out 1,$(CONFIG_BATCH)),$(filter-out src/main.cpp %_main.cpp research/fuzz/% $(fuzzers) $(choices) $(WITH_EXCEPTIONS) $(HOT) $(LIST_OF_SERVICES),$(sources)))
$(foreach line,$(shell echo $(batched) | awk -v most=$(CONFIG_BATCH) -f scripts/batches.awk), \
    $(eval batch.$(firstword $(subst =, ,$(line))) := $(subst ;, ,$(lastword $(subst =, ,$(line))))))
batches := $(sort $(patsubst batch.%,%,$(filter batch.%,$(.VARIABLES))))
test_batches := $(foreach b,$(batches),$(if $(findstring /tests-,$(b)),$(b)))

object = $(patsubst %.cpp,$(OBJDIR)/%.o,$(1))
# In this order the server's sources are compiled: those that do not wait for what is precompiled, then batches of many
# sources, so that at the end no processor waits for another one's large batch.
in_order := $(call object,$(filter src/%,$(WITH_EXCEPTIONS))) $(patsubst %,$(OBJDIR)/%.o,$(shell printf '%s\n' \
    $(foreach b,$(filter-out $(test_batches),$(filter src/%,$(batches))),$(if $(findstring /testing/,$(b)),,$(words $(batch.$(b))):$(b))) | sort -t: -k1,1nr | cut -d: -f2))
# The objects of folder $(1) with its sources $(2), which are of kind $(3).
objects_of = $(patsubst %,$(OBJDIR)/%.o,$(filter $(1)/$(3)-%,$(batches))) \
    $(call object,$(filter-out $(batched),$(call of_dir,$(1),$(2))))
flat = $(subst /,_,$(patsubst src/%,%,$(1)))
# The sources among $(2) that lie in folder $(1) itself.
of_dir = $(foreach s,$(2),$(if $(filter $(1)/,$(dir $(s))),$(s)))
archive = $(OBJS)/lib/$(call flat,$(1)).a

# Which folders a folder includes from, itself and through others: so a test links what it uses and is not held up by
# a folder that it has nothing to do with.
$(foreach line,$(shell awk -f scripts/includes.awk $$(find src research -name '*.cpp' -o -name '*.h' -o -name '*.inc' 2>/dev/null)), \
    $(eval uses.$(firstword $(subst =, ,$(line))) := $(subst ;, ,$(lastword $(subst =, ,$(line))))))
archives_for = $(foreach d,$(filter $(sort $(1) $(uses.$(1))),$(part_dirs)),$(call archive,$(d)))
part_dirs := $(sort $(patsubst %/,%,$(dir $(parts))))

LINK_FLAGS = $(CXX) $(LDFLAGS)
LINK = $(LINK_FLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group

# ---- Targets for people

.PHONY: all program help pages console site test e2e standalone compile-commands coverage unit unit-build unit-list unit-syntax fuzz fuzz-build fuzz-list bench install deb dist clean layers format format-check FORCE
all: program pages
# Without the web pages, for builds that test the program alone.
program: $(in_order) $(OBJS)/srs $(if $(CONFIG_PPROF),$(OBJS)/pprof)

# The server needs none of its web pages.
pages:
	@scripts/build_console $(OBJS) || echo "built without the console and the players" >&2
console:
	@scripts/build_console $(OBJS)

site:
	@scripts/build_site $(OBJS)

help:
	@echo "make             build the server: $(OBJS)/srs"
	@echo "make console     bundle the web pages with npm: $(OBJS)/nginx/pages; make does it too, where there is npm"
	@echo "make site        make the site of the documents: $(OBJS)/site/html; broken links in them fail"
	@echo "make test        run every test (scripts/test without installing anything)"
	@echo "make unit        run the unit tests; DIR=src/protocol/rtmp those of one folder, FILTER=Chunk* some of them"
	@echo "make e2e         run the end-to-end tests of TEST=scripts/e2e/test_publish.py"
	@echo "make fuzz        run every fuzz target over its corpus and mutations of it; TARGET=name one of them with"
	@echo "                 libFuzzer (clang++-19) for SECONDS=60"
	@echo "make bench       build what measures: $(addprefix $(OBJS)/,$(notdir $(BENCH_DIRS)))"
	@echo "make coverage    after ./configure --gcov=on and runs of the server: which lines they ran"
	@echo "make layers      check who includes whom"
	@echo "make standalone  check that each source and header includes what it uses"
	@echo "make format      lay out every source as .clang-format says"
	@echo "make install     install the server, its files and pages; PREFIX=DIR, and DESTDIR=DIR put before it"
	@echo "make deb         make the Debian package in $(OBJS)/deb (doc/packages.md)"
	@echo "make clean       delete what was built in $(OBJS); the configuration stays"
	@echo "OBJS=DIR         build somewhere else than in objs/"
	@echo "V=1              show the compiler calls"

# One file of end-to-end tests, or with -k in TEST some of them; in a new clone its Python packages are installed first.
e2e: program
	@[ -n "$(TEST)" ] || { echo "which test? make e2e TEST=scripts/e2e/test_publish.py" >&2; exit 1; }
	@scripts/test --python
	@SRS_OBJS=$(abspath $(OBJS)) objs/venv/bin/python -m pytest -q $(TEST)

test:
	scripts/test --no-install --objs=$(OBJS)

layers:
	scripts/check_layers

# Each source and header by itself, without what is precompiled: it includes what it uses.
standalone: $(patsubst %,$(OBJDIR)/%.alone,$(shell find src research \( -name '*.cpp' -o -name '*.h' \) -not -path '*/corpus/*' -not -name 'precompiled*.h'))
$(OBJDIR)/%.alone: % $(OBJDIR)/flags
	@mkdir -p $(@D)
	$(call say,CHECK,$<)
	$(Q)$(COMPILE) $(if $(filter $<,$(WITH_EXCEPTIONS)),-fexceptions,-fno-exceptions) -Wno-unused-function -fsyntax-only -x c++ -include $< /dev/null && touch $@

formatted = $(shell find src research \( -name '*.cpp' -o -name '*.h' \) -not -path '*/corpus/*')
format:
	clang-format -i $(formatted)
format-check:
	@clang-format --dry-run --Werror $(formatted)

# For editors: how each source is compiled by itself. ./configure makes it.
one_command = {"directory": "$(CURDIR)", "file": "$(1)", "command": "$(subst ",\",$(COMPILE)) \
    $(if $(filter $(1),$(WITH_EXCEPTIONS)),-fexceptions,-fno-exceptions) -c $(1)"}
compile-commands:
	$(file >compile_commands.json,[)
	$(foreach s,$(sources),$(file >>compile_commands.json,$(call one_command,$(s))$(if $(filter $(s),$(lastword $(sources))),,$(comma))))
	$(file >>compile_commands.json,])
	@:

DESTDIR ?=
PREFIX = $(CONFIG_PREFIX)
install: all
	scripts/install $(OBJS) $(PREFIX) $(DESTDIR)

# It compiles in a copy of the tree with Debian's flags. DEB_OPTIONS=--prebuilt packs $(OBJS)/srs.
deb: pages $(if $(filter --prebuilt,$(DEB_OPTIONS)),$(OBJS)/srs)
	scripts/build_deb $(OBJS) $(DEB_OPTIONS)

# What a release consists of, in $(OBJS)/dist.
dist: all pages
	scripts/build_dist $(OBJS)

clean:
	rm -rf $(OBJDIR) $(addprefix $(OBJS)/,lib unit fuzz libfuzzer srs pprof coverage link-flags $(notdir $(BENCH_DIRS)))

# ---- Compiling

same = $(and $(findstring $(strip $(1)),$(strip $(2))),$(findstring $(strip $(2)),$(strip $(1))))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

# Changed flags rebuild everything.
$(OBJDIR)/flags: written = $(CXX) $(CPPFLAGS) $(CXXFLAGS), for tests $(TEST_FLAGS)
$(OBJS)/link-flags: written = $(LINK_FLAGS) $(CONFIG_LIBS)
$(OBJDIR)/flags $(OBJS)/link-flags: FORCE
	@mkdir -p $(@D); echo '$(subst ','\'',$(written))' >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

COMPILE = $(CXX) $(CPPFLAGS) $(CXXFLAGS)

# What `srs --version` says of this build. Only the server links it, and it is compiled again when one of the facts has
# changed: the commit, '+' if what the server is made of differs from it, and the diagnostic options.
BUILD_COMMIT ?= $(shell git ls-files --error-unmatch configure >/dev/null 2>&1 && git rev-parse --short=12 HEAD || \
    echo unknown)$(shell git diff --quiet HEAD -- src Makefile configure scripts/configure 2>/dev/null; [ $$? != 1 ] || echo +)
diagnostic_options := $(strip $(if $(filter on,$(CONFIG_DEBUG)),debug) $(foreach o,sanitizer gperf gcp gmp gmc gmd gprof gcov \
    valgrind,$(if $(filter on,$(CONFIG_$(shell echo $(o) | tr a-z A-Z))),$(o))))
build_facts := $(OBJDIR)/build_facts
$(build_facts).cpp: FORCE
	@mkdir -p $(@D); printf '%s\n' '#include "server/about.h"' 'namespace server {' 'extern const BuildFacts kBuildFacts;' \
	    'const BuildFacts kBuildFacts{"$(BUILD_COMMIT)", "$(diagnostic_options)"};' '}' >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(build_facts).o: flags_of_kind = -fno-exceptions

# What nearly every source includes is compiled once, with the flags of those that use it: what tests includes GoogleTest. The
# sources of services, and of server/, have more headers in common.
part_objects := $(patsubst %,$(OBJDIR)/%.o,$(filter-out $(test_batches),$(batches))) $(call object,$(filter-out $(batched) $(tests) $(WITH_EXCEPTIONS),$(sources)))
test_objects := $(patsubst %,$(OBJDIR)/%.o,$(test_batches)) $(call object,$(filter-out $(batched),$(tests)))
of_services := $(addprefix $(OBJDIR)/src/,service/% server/%)
header.parts := src/base/precompiled.h
header.tests := src/base/precompiled_testing.h
header.services := src/service/precompiled.h
header.service_tests := src/service/precompiled_testing.h
$(OBJDIR)/%.h.gch: $(OBJDIR)/flags
	$(call say,CXX,$(header.$*))
	$(Q)$(COMPILE) -fno-exceptions $(if $(findstring tests,$*),$(TEST_FLAGS)) -MMD -MP -MF $@.d -MT $@ -x c++-header -o $@ $(header.$*)
# Objects $(1) of kind $(2), with flags $(3) of the kind.
define precompiled
$(OBJDIR)/$(2).h.gch: $(header.$(2))
$(1): $(OBJDIR)/$(2).h.gch
$(1): flags_of_kind = -fno-exceptions -Winvalid-pch -include $(OBJDIR)/$(2).h $(3)
endef
$(eval $(call precompiled,$(filter-out $(of_services),$(part_objects)),parts))
$(eval $(call precompiled,$(filter $(of_services),$(part_objects)),services))
$(eval $(call precompiled,$(filter-out $(of_services),$(test_objects) $(test_objects:.o=.syntax)),tests,$(TEST_FLAGS)))
$(eval $(call precompiled,$(filter $(of_services),$(test_objects) $(test_objects:.o=.syntax)),service_tests,$(TEST_FLAGS)))
$(call object,$(WITH_EXCEPTIONS)): flags_of_kind = -fexceptions

define compile
@mkdir -p $(@D)
$(call say,CXX,$(patsubst $(OBJDIR)/%.cpp,%,$<))
$(Q)$(COMPILE) $(flags_of_kind) -MMD -MP -c -o $@ $<
endef
$(OBJDIR)/%.o: %.cpp $(OBJDIR)/flags
	$(compile)
$(OBJDIR)/%.o: $(OBJDIR)/%.cpp $(OBJDIR)/flags
	$(compile)

# A batch's source includes its members; it is written anew where they are others than before.
define batch_source
$(foreach s,$(batch.$(1)),#include "$(s)"
)
endef
$(foreach b,$(batches),$(if $(call same,$(file <$(OBJDIR)/$(b).cpp),$(call batch_source,$(b))),, \
    $(shell mkdir -p $(OBJDIR)/$(dir $(b)))$(file >$(OBJDIR)/$(b).cpp,$(call batch_source,$(b)))))
$(patsubst %,$(OBJDIR)/%.cpp,$(batches)): ;

# ---- Archives

# An archive's list of members is kept beside it, so that a source which was deleted leaves the archive too.
define archive_rules
$(eval members := $(call objects_of,$(1),$(parts),parts))
ifneq ($$(strip $$(file <$(call archive,$(1)).list)),$$(strip $(members)))
$$(shell mkdir -p $(OBJS)/lib)
$$(file >$(call archive,$(1)).list,$(members))
endif
$(call archive,$(1)): $(members) $(call archive,$(1)).list
	$(call say,AR,$$@)
	$(Q)rm -f $$@ && ar crsT $$@ $$(filter %.o,$$^)
$(call archive,$(1)).list: ;
endef

# ---- Programs

# Program $(1) of the objects $(2), which come from folder $(3), and libraries $(4).
define program_rule
$(1): $(OBJS)/link-flags $(2) $(call archives_for,$(3))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$(Q)$$(LINK) $(4) $$(CONFIG_LIBS)
endef

server_main := $(wildcard src/main.cpp)
ifneq ($(filter-out help console clean layers format format-check,$(goals)),)
$(foreach d,$(part_dirs),$(eval $(call archive_rules,$(d))))
ifneq ($(server_main),)
$(eval $(call program_rule,$(OBJS)/srs,$(call object,$(server_main)) $(build_facts).o,src))
else
$(OBJS)/srs:
	@echo "there is no src/main.cpp yet" >&2; exit 1
endif
$(foreach d,$(BENCH_DIRS),$(eval $(call program_rule,$(OBJS)/$(notdir $(d)),$(call objects_of,$(d),$(filter-out $(tests),$(sources)),parts),$(d),$(if $(filter %/floor %/ideas,$(d)),-luring))))
endif
bench: $(addprefix $(OBJS)/,$(notdir $(BENCH_DIRS)))

# ---- Diagnostic builds

# Where the heap checker and people look for it.
$(OBJS)/pprof: $(CONFIG_PPROF)
	$(Q)install -m 755 $< $@

# Counts are in the objects' directory from the end of each run on, and add up.
coverage:
	@test "$(CONFIG_GCOV)" = on || { echo "coverage needs ./configure --gcov=on" >&2; exit 1; }
	@mkdir -p $(OBJS)/coverage
	gcovr -r . -f src/ $(OBJDIR) --exclude-throw-branches --print-summary --html-details $(OBJS)/coverage/index.html --txt -

# ---- Unit tests: one program per folder

unit_dirs := $(sort $(patsubst %/,%,$(dir $(filter %_test.cpp,$(tests)))))
unit_program = $(OBJS)/unit/$(call flat,$(1))
unit_chosen := $(if $(DIR),$(filter $(DIR:%/=%) $(addsuffix /%,$(DIR:%/=%)),$(unit_dirs)),$(unit_dirs))
$(foreach d,$(unit_dirs),$(eval $(call program_rule,$(call unit_program,$(d)),$(call objects_of,$(d),$(tests),tests),$(d),$$(CONFIG_GTEST_LIBS))))

unit-build: $(foreach d,$(unit_chosen),$(call unit_program,$(d)))
ifeq ($(CONFIG_GTEST),no)
	@echo "the unit tests need GoogleTest: apt install libgtest-dev, then ./configure" >&2; exit 1
endif

# What the compiler says of the tests, without generating code: for .ci/run, whose unit tests are compiled by clang.
unit-syntax: $(patsubst %,$(OBJDIR)/%.syntax,$(test_batches))
$(OBJDIR)/%.syntax: $(OBJDIR)/%.cpp
	$(call say,CHECK,$*)
	$(Q)$(COMPILE) $(flags_of_kind) -MMD -MP -MF $@.d -MT $@ -fsyntax-only $< && touch $@

# Prints the chosen programs, for scripts/test.
unit-list:
	@$(foreach d,$(unit_chosen),echo $(call unit_program,$(d));) :

unit: unit-build
	@test -n "$(unit_chosen)" || { echo "no tests in $(DIR)" >&2; exit 1; }
	@failed=; for program in $(foreach d,$(unit_chosen),$(call unit_program,$(d))); do \
	    echo "== $$program"; \
	    SRS_OBJS=$(OBJS) $$program --gtest_brief=1 $(if $(FILTER),--gtest_filter='$(FILTER)') || failed="$$failed $$program"; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

# ---- Fuzz targets: with our own driver by default, with libFuzzer when TARGET names one

fuzz_name = $(call flat,$(patsubst %_fuzz.cpp,%,$(1)))
fuzz_program = $(OBJS)/fuzz/$(call fuzz_name,$(1))
fuzz_corpus = $(patsubst %/,%,$(dir $(1)))/corpus/$(notdir $(patsubst %_fuzz.cpp,%,$(1)))
# Words that inputs are made of: the target's own, or those of all targets of its folder. Where there are none: nothing.
fuzz_words = $(addprefix -dict=,$(firstword $(wildcard $(call fuzz_corpus,$(1)).dict $(dir $(call fuzz_corpus,$(1)))all.dict)))
fuzz_chosen := $(if $(TARGET),$(foreach f,$(fuzzers),$(if $(filter $(TARGET),$(call fuzz_name,$(f)) $(notdir $(patsubst %_fuzz.cpp,%,$(f)))),$(f))),$(fuzzers))
fuzz_programs := $(foreach f,$(fuzz_chosen),$(call fuzz_program,$(f)))
RUNS ?= 20000
SECONDS ?= 60

define fuzz_rule
$(call fuzz_program,$(1)): $(OBJS)/link-flags $(call object,$(1) $(if $(LIBFUZZER),,research/fuzz/driver.cpp)) $(call archives_for,$(patsubst %/,%,$(dir $(1))))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$(Q)$$(LINK) $(if $(LIBFUZZER),-fsanitize=fuzzer) $$(CONFIG_LIBS)
endef
$(foreach f,$(fuzzers),$(eval $(call fuzz_rule,$(f))))

fuzz-build: $(fuzz_programs)

# Prints NAME CORPUS [-dict=WORDS] of each chosen target, for scripts/test.
fuzz-list:
	@$(foreach f,$(fuzz_chosen),echo "$(strip $(call fuzz_program,$(f)) $(call fuzz_corpus,$(f)) $(call fuzz_words,$(f)))";) :

ifdef LIBFUZZER
fuzz: fuzz-build
	@test -n "$(fuzz_programs)" || { echo "no fuzz target $(TARGET)" >&2; exit 1; }
	@set -e; mkdir -p $(OBJS)/found; $(foreach f,$(fuzz_chosen),mkdir -p $(OBJS)/found/$(call fuzz_name,$(f)); \
	    $(call fuzz_program,$(f)) -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 $(call fuzz_words,$(f)) \
	    -artifact_prefix=$(OBJS)/found/ $(OBJS)/found/$(call fuzz_name,$(f)) $(wildcard $(call fuzz_corpus,$(f)));) :
else ifneq ($(TARGET),)
fuzz:
	@command -v $(FUZZ_CXX) >/dev/null || { echo "libFuzzer needs $(FUZZ_CXX): apt install clang-19 libclang-rt-19-dev" >&2; exit 1; }
	$(MAKE) fuzz LIBFUZZER=1 OBJS=$(OBJS)/libfuzzer CONFIG=$(CONFIG) CONFIG_CXX=$(FUZZ_CXX) CONFIG_COMPILER=clang \
	    CONFIG_SPEED_FLAGS= TARGET='$(TARGET)' SECONDS=$(SECONDS)
else
fuzz: fuzz-build
	@failed=; $(foreach f,$(fuzz_chosen),$(call fuzz_program,$(f)) -runs=$(RUNS) $(call fuzz_words,$(f)) $(wildcard $(call fuzz_corpus,$(f))) || \
	    failed="$$failed $(call fuzz_name,$(f))";) \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }
endif
FUZZ_CXX ?= clang++-19

-include $(patsubst %,$(OBJDIR)/%.syntax.d,$(test_batches))
-include $(wildcard $(OBJDIR)/*.h.gch.d)
-include $(patsubst %.o,%.d,$(part_objects) $(test_objects) $(call object,$(WITH_EXCEPTIONS)) $(build_facts).o)
