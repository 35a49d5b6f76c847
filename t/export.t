#!/usr/bin/env lua5.4
-- An exported program: the header compiles on its own and says what the plan decided. Needs NVRTC and a C compiler.
local tap = require "tap"
package.path = "./?.lua;" .. package.path
local program = require "weir.kernels.gemm".build({ config = { bm = 128, bn = 256, cluster_m = 2, cluster_n = 1 } }).program
local pipe = assert(io.popen "mktemp -d")
local dir = pipe:read()
pipe:close()
local ok, message, code = program:export(dir .. "/out")
if code == "no_compiler" then
  tap.skip_all(message)
end
tap.is(true, ok, "exported")
local header = (function()
  local file <close> = assert(io.open(dir .. "/out/gemm.h"))
  return file:read "a"
end)()
tap.like("#define GEMM_THREADS 384 ", header, "threads")
tap.like("#define GEMM_CLUSTER 2 ", header, "cluster")
tap.like('{ "B", "bf16", 2, { 64, 128, 0, 0, 0 }, 128, 256 },', header, "B's map: half the tile, since two CTAs load it")
tap.like("ceil_div(M, 128)", header, "the queue's extent in the author's names")
local main <close> = assert(io.open(dir .. "/main.c", "w"))
main:write [[
#include <stdio.h>
#include "out/gemm.h"
int main(void) {
    gemm_args a = { 0 };
    void *params[GEMM_PARAMS];
    gemm_params(&a, params);
    a.M = 7;
    printf("%d %d %d\n", (int)(sizeof gemm_maps / sizeof *gemm_maps), *(int32_t *)params[3], params[0] == a.A_map);
    return 0;
}
]]
main:close()
pipe = assert(io.popen(("cd '%s' && ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror main.c -o main 2>&1 && ./main; stat -c %%s out/gemm.cubin"):format(dir)))
tap.is("3 7 1\n" .. #assert(program:cubin()) .. "\n", pipe:read "a", "the header compiles without a warning; parameters point at their fields; the cubin is whole")
pipe:close()
tap.is(nil, (program:export "/proc/nowhere/x"), "a folder that cannot be made")
tap.like("cannot be made", select(2, program:export "/proc/nowhere/x"), "is named")
os.execute("rm -rf '" .. dir .. "'")
tap.done()
