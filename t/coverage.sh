#!/bin/sh
# Branch coverage (gcov) of the stages that decide: protocol, layout, plan, lower, the prover, and the counting around them.
#
#   t/coverage.sh [-v] [tests ...]       -v lists the branches that no test took, line by line; default: the tests that need no run
#                                        of a kernel and no compiler, and then it fails when a file is below its floor
# Builds in build-cov. Debian's gcc brings gcov. Takes some minutes, so it is no part of .ci/run.
#
# A branch whose line has a comment beginning with `cover:` is not counted, but the column `apart` tells how many there are:
#   cover: memory    only when the allocator refuses (t/c/memory_test.c takes those that a build can meet)
#   cover: assert    cannot be taken unless the code around it is wrong; the comment says why
# Raise a floor when a file has risen; lower one only with the reason in the commit.
set -eu
cd "$(dirname "$0")/.."
verbose=
if [ "${1-}" = -v ]; then verbose=1; shift; fi
floors="protocol:100 protocol_rows:100 protocol_count:100 protocol_group:100 layout:100 place:100 group:100 number:100 balance:100 walk:100 tmap:100 tcgen05:100
    plan:100 plan_view:100 plan_task:100 plan_side:100 plan_pipe:100 plan_bar:100 plan_smem:100 plan_regs:100 plan_param:100 plan_print:100
    plan_tc:100 plan_push:100 lower:100 lower_held:100 lower_copy:100 lower_check:100 lower_work:100 lower_lanes:100 lower_flow:100 lower_ways:100 unroll:100 deal:100
    prove:100 prove_exact:100 prove_index:100 prove_plan:100 prove_run:100 prove_access:100
    prove_code:100 prove_compile:100 prove_key:100 prove_ask:100 prove_nest:100 prove_tape:100 prove_units:100 prove_who:100 prove_ring:100 prove_rec:100
    prove_end:100 prove_state:100 prove_keep:100
    forms:100 forms_same:100 forms_truth:100 forms_part:100 forms_low:100 forms_span:100 forms_fact:100 forms_ask:100 forms_loop:100 forms_sum:100
    range:100 raster:100 prove_gmem:100 promela:100"
floor=1
if [ $# -eq 0 ]; then
    set -- t/validation.t t/layout.t t/protocol.t t/group.t t/lua_capture.t t/lua_mistakes.t t/lua_report.t t/print.t t/emit.t t/rules.t t/rejects.t \
        t/group_config.t t/vectors.t t/plan.t t/branches.t t/plan_branches.t t/unroll.t t/lower.t t/previous.t t/targets.t t/lengths.t t/units.t t/written.t t/runs.t t/deadlocks.t t/explain.t t/checker.t t/cases.t t/parts.t t/views.t t/edit.t t/shared_values.t t/allocators.t \
        t/bad_input.t t/store_places.t t/clusters.t t/push.t t/split.t t/subs.t t/perturb.t t/sm100a.t t/sim/scaled.t t/spin.t \
        t/forms.t t/tensors.t t/counts.t t/large_values.t t/index_conditions.t t/ways.t t/lanes.t t/value_types.t t/tables.t t/keeps.t t/zeros.t t/sizes.t t/accepts.t t/shares.t t/fragments.t t/value_numbers.t t/sim/pdl.t \
        build-cov/t/branches_test build-cov/t/prove_test build-cov/t/validate_test build-cov/t/print_test build-cov/t/number_test build-cov/t/model_test \
        build-cov/t/memory_test build-cov/t/launch_test
else floor=
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
printf '%-14s %8s %8s %9s %8s %6s\n' file branches apart untaken covered floor
cd build-cov/gcov
for entry in $floors; do
    file=${entry%:*}
    [ -e "$objects/$file.c.gcda" ] || continue
    gcov -b -c -o "$objects" "$objects/$file.c.gcda" >/dev/null 2>&1
    awk -v file="$file" -v verbose="$verbose" -v least="${floor:+${entry#*:}}" '
        /^ *[0-9#=*-]+\*?: *[0-9]+:/ { split($0, part, ":"); line = part[2] + 0; text = $0; sub(/^[^:]*:[^:]*:/, "", text) }
        /^branch/ {
            if (text ~ /\/\* cover: /) { apart++; next }
            n++
            if ($3 == "never" || ($4 == 0 && $3 == "taken")) {
                untaken++
                if (verbose && line != last) { printf "  %s.c:%d:%s\n", file, line, text; last = line }
            }
        }
        END {
            covered = n ? 100 * (n - untaken) / n : 100
            low = least != "" && covered < least
            printf "%-14s %8d %8d %9d %7.1f%% %6s%s\n", file, n, apart, untaken, covered, least, low ? "  below its floor" : ""
            print n, apart + 0, untaken + 0, low + 0 > "/dev/stderr"
        }' "$file.c.gcov"
done 2>total
awk '{ n += $1; a += $2; u += $3; low += $4 } END { printf "%-14s %8d %8d %9d %7.1f%%\n", "all", n, a, u, 100 * (n - u) / n; exit low > 0 }' total
