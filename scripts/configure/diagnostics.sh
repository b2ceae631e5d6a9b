# The diagnostic builds: what each one finds, how to start the server, how to read the result; which cannot be together,
# and what each needs. doc/building.md's table is printed from the same rows (diagnostics_table).
# shellcheck shell=sh disable=SC2034,SC2154  # the parts share their variables

# OPTION|FINDS|START|READ|REMARK, a line each. START and READ are commands; @ stands for the directory where it is built.
# What they write is complete when the server has ended: Ctrl-C (INT), QUIT or TERM.
diagnostics_rows() {
    cat <<'ROWS'
gperf|memory and time with another allocator, tcmalloc|@/srs -c conf/console.conf||
gcp|processor time, by call stack|@/srs -c conf/console.conf|@/pprof --text @/srs gperf.srs.gcp|--svg and >cpu.svg for a drawing
gmp|allocated memory, by call stack|@/srs -c conf/console.conf|@/pprof --text @/srs gperf.srs.gmp.*.heap|--svg and >heap.svg for a drawing
gmc|leaks, at the end|env PPROF_PATH=@/pprof HEAPCHECK=normal @/srs -c conf/console.conf||leaks are printed at the end with their call stacks, and the exit status is 1
gmd|an access beyond the end of a block, when it happens|env TCMALLOC_PAGE_FENCE=1 @/srs -c conf/console.conf|env TCMALLOC_PAGE_FENCE=1 gdb -batch -ex run -ex bt --args @/srs -c conf/console.conf|the server ends at the access, and gdb shows where that was
gprof|processor time and counts of calls, by function of the server (not of libraries)|@/srs -c conf/console.conf|gprof -b @/srs gmon.out|
gcov|executed lines and their counts|@/srs -c conf/console.conf|make OBJS=@ coverage|the lines are in @/coverage/index.html
sanitizer|bad accesses, leaks, undefined behaviour|env UBSAN_OPTIONS=print_stacktrace=1 @/srs -c conf/console.conf||the server prints a report with call stacks and ends; with --sanitizer-log the log has it too
valgrind|bad accesses, use of undefined values, leaks|valgrind --leak-check=full @/srs -c conf/console.conf||reports come as it runs; "definitely lost" at the end are leaks
ROWS
}

# The table of doc/building.md, for OBJS=objs.
diagnostics_table() {
    echo '| option | finds | start | read |'
    echo '|---|---|---|---|'
    diagnostics_rows | sed 's|@|./objs|g; s|OBJS=./objs |OBJS=objs |' | awk -F'|' '{
        read = ($4 == "" ? "" : "`" $4 "`") ($4 == "" || $5 == "" ? "" : "; ") $5
        printf "| `--%s=on` | %s | `%s` | %s |\n", $1, $2, $3, read }'
}

# Prints, of those that are on, the lines to start and to read.
diagnostics_usage() {
    diagnostics_rows | sed "s|@|$(diagnostics_here)|g" | while IFS='|' read -r option finds start result remark; do
        eval "[ \"\$opt_$option\" = on ]" || continue
        echo
        echo "--$option finds $finds"
        echo "    start:  $start"
        [ -z "$result" ] || echo "    read:   $result"
        [ -z "$remark" ] || echo "            $remark"
    done
}

# The directory as one types it.
diagnostics_here() {
    case $opt_objs in
        /*) echo "$opt_objs" ;;
        *) echo "./$opt_objs" ;;
    esac
}

# diagnostics_never_with A B REASON: ends when both are on.
diagnostics_never_with() {
    eval "[ \"\$opt_$1\" = on ] && [ \"\$opt_$2\" = on ]" || return 0
    options_die "--$1 and --$2 cannot be together: $3"
}

# diagnostics_only_with A B REASON: ends when A is on and B is not.
diagnostics_only_with() {
    eval "[ \"\$opt_$(echo "$1" | tr - _)\" = on ] && [ \"\$opt_$2\" = off ]" || return 0
    options_die "--$1 needs --$2=on: $3"
}

diagnostics_refuse() {
    for diagnostics_part in gcp gmp gmc gmd; do
        diagnostics_only_with $diagnostics_part gperf "it is a part of gperftools"
    done
    diagnostics_only_with sanitizer-static sanitizer "there is nothing to link otherwise"
    diagnostics_only_with sanitizer-log sanitizer "there are no reports otherwise"
    diagnostics_never_with gmc gmp "both record every allocation, each for itself, and gperftools offers them as two separate runs"
    diagnostics_never_with sanitizer gperf "both replace malloc"
    diagnostics_never_with sanitizer valgrind "both watch every access, and valgrind cannot run what the sanitizer built"
    diagnostics_never_with gperf valgrind "valgrind replaces malloc by its own; it would see nothing of tcmalloc's blocks"
    diagnostics_never_with gprof gcp "both take the one profiling timer, ITIMER_PROF, and SIGPROF"
}

# The libraries that those that are on need.
diagnostics_libraries() {
    if [ "$opt_gperf" = on ]; then
        # tcmalloc must come before the C library, and there can be only one of them in a process.
        libs_tcmalloc=-ltcmalloc
        [ "$opt_gmd" = off ] || libs_tcmalloc=-ltcmalloc_debug
        library "$libs_tcmalloc" required libgoogle-perftools-dev $libs_tcmalloc \
            "gperftools/malloc_extension.h gperftools/tcmalloc.h" \
            'char* block = new char[8];
             if (MallocExtension::instance()->GetOwnership(block) != MallocExtension::kOwned) return 1;
             delete[] block; std::puts(TC_VERSION_STRING);'
    fi
    [ "$opt_gcp" = off ] || library "gperftools' CPU profiler" required libgoogle-perftools-dev -lprofiler \
        gperftools/profiler.h 'ProfilerFlush();'
    if [ "$opt_valgrind" = on ]; then
        library "valgrind's header" required valgrind "" "valgrind/valgrind.h valgrind/memcheck.h" \
            'std::printf("%d.%d", __VALGRIND_MAJOR__, __VALGRIND_MINOR__);'
    fi
}

# And the programs.
diagnostics_programs() {
    pprof=
    if [ "$opt_gperf" = on ]; then
        diagnostics_program pprof google-perftools "google-pprof pprof"
        pprof=$diagnostics_found
        # It draws with dot, which is not needed for text.
        printf 'checking for dot ... '
        command -v dot || echo "not found (apt install graphviz); only pprof's drawings need it"
    fi
    [ "$opt_gprof" = off ] || diagnostics_program gprof binutils gprof
    [ "$opt_gcov" = off ] || diagnostics_program gcovr gcovr gcovr
}

# diagnostics_program NAME PACKAGE CANDIDATES: sets diagnostics_found to the first that is there.
diagnostics_program() {
    printf 'checking for %s ... ' "$1"
    diagnostics_found=
    for diagnostics_candidate in $3; do
        diagnostics_found=$(command -v "$diagnostics_candidate") && break
    done
    if [ -n "$diagnostics_found" ]; then
        echo "found $diagnostics_found"
    else
        echo "not found (apt install $2)"
        missing_packages="$missing_packages $2"
    fi
}
