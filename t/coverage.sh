#!/bin/sh
# Branch coverage (gcov) of the stages that decide: protocol, layout, plan, lower, the prover, and the counting around them.
#
#   t/coverage.sh [-v] [tests ...]       -v lists the branches that no test took, line by line; default: the tests that need no run
#                                        of a kernel and no compiler
# Builds in build-cov. Debian's gcc brings gcov.
set -eu
cd "$(dirname "$0")/.."
verbose=
if [ "${1-}" = -v ]; then verbose=1; shift; fi
files="protocol layout plan plan_tc lower tmap number prove prove_plan prove_run prove_access prove_code prove_end prove_state prove_trips unroll promela"
if [ $# -eq 0 ]; then
    set -- t/validation.t t/layout.t t/protocol.t t/group.t t/lua_capture.t t/lua_mistakes.t t/lua_report.t t/print.t t/emit.t t/rules.t t/rejects.t \
        t/plan.t t/plans.t t/lengths.t t/deadlocks.t t/explain.t t/sm100a.t t/checker.t t/cases.t t/perturb.t t/mutants.t t/oracle.t t/spin.t build-cov/t/prove_test build-cov/t/validate_test \
        build-cov/t/print_test build-cov/t/number_test build-cov/t/model_test
fi
cmake -S . -B build-cov -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="--coverage -fprofile-update=single" >/dev/null
cmake --build build-cov -j "$(nproc)" >build-cov/build.log 2>&1 || { tail -n 20 build-cov/build.log; exit 1; }
find build-cov -name '*.gcda' -delete
LUA_PATH="lua/?.lua;lua/?/init.lua;t/?.lua;;" LUA_CPATH="build-cov/lua/?.so;;" WEIR_BUILD=build-cov
export LUA_PATH LUA_CPATH WEIR_BUILD
for test; do
    case $test in
    *.t) lua5.4 "$test" ;;
    *) "$test" ;;
    esac >build-cov/test.log 2>&1 || echo "$test fails: its coverage counts all the same"
done
rm -rf build-cov/gcov
mkdir build-cov/gcov
objects=$PWD/build-cov/CMakeFiles/weir_objects.dir/src
printf '%-14s %8s %9s %8s\n' file branches untaken covered
(
    cd build-cov/gcov
    for file in $files; do
        [ -e "$objects/$file.c.gcda" ] || continue
        gcov -b -c -o "$objects" "$objects/$file.c.gcda" >/dev/null 2>&1
        awk -v file="$file" -v verbose="$verbose" '
            /^ *[0-9#=*-]+\*?: *[0-9]+:/ { split($0, part, ":"); line = part[2] + 0; text = $0; sub(/^[^:]*:[^:]*:/, "", text) }
            /^branch/ {
                n++
                if ($3 == "never" || ($4 == 0 && $3 == "taken")) {
                    untaken++
                    if (verbose && line != last) { printf "  %s.c:%d:%s\n", file, line, text; last = line }
                }
            }
            END { if (n) printf "%-14s %8d %9d %7.1f%%\n", file, n, untaken, 100 * (n - untaken) / n; print n, untaken > "/dev/stderr" }' "$file.c.gcov"
    done 2>total
    awk '{ n += $1; u += $2 } END { printf "%-14s %8d %9d %7.1f%%\n", "all", n, u, 100 * (n - u) / n }' total
)
