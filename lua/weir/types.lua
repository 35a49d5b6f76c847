---@meta weir
-- LuaCATS annotations: what an editor shows. Never loaded at run time.
-- t/lua_types.t compares the names below with the module's own.
-- luacheck: ignore 212 241 431 432 (bodies are empty on purpose)

---@alias weir.dtype "bool"|"i8"|"u8"|"i16"|"u16"|"i32"|"u32"|"i64"|"u64"|"f16"|"bf16"|"f32"|"f64"|"tf32"|"e4m3"|"e5m2"
---@alias weir.signaling "all"|"cta_leader"|"task_warp_leader"|"cta_leader+task_warp_leader"
---@alias weir.grain "thread"|"warp"|"warpgroup"
---@alias weir.scalar weir.value|number|boolean        a value, or a plain number that becomes one
---@alias weir.place weir.value|weir.worktile           at, from, sub, or a work tile
---@alias weir.print_part "all"|"schedule"|"registers"|"smem"|"barriers"|"plan"|"capture"|"dot"|"launch"

-- ---- module -------------------------------------------------------------------------------------------------------------------

---@class weir
---@field version string
---@field pipeline weir.pipelines
---@field npy weir.npy
local weir = {}

---A description of a kernel. arch: the device's own if left out, sm_90a with the simulator. cluster: CTAs along each axis;
---v = 2 (sm_100a): two CTAs share each mma, with half of b's rows each.
---ctas_per_sm: CTAs that are to share an SM, which bounds registers and shared memory; 1 if left out.
---@param desc { name: string, arch?: "sm_80"|"sm_90a"|"sm_100a", cluster?: { v?: integer, m?: integer, n?: integer, k?: integer }, ctas_per_sm?: integer }
---@return weir.kernel
function weir.kernel(desc) end

---The first GPU or, with none, the simulator; weir.device("sim", { seed = 7 }); weir.device(0). nil, message, code if there is
---none.
---@param which? "sim"|integer
---@param options? { seed?: integer, sms?: integer }
---@return weir.device?, string?, string?
function weir.device(which, options) end

---@class weir.explain_desc
---@field pipeline weir.pipeline
---@field arch? "sm_80"|"sm_90a"|"sm_100a"
---@field cluster? { v?: integer, m?: integer, n?: integer, k?: integer }
---@field producer_warps? integer                           of the one task that fills; 1, or what issues an mma
---@field consumer_warps? integer                           of the one task that empties; 4, or what issues an mma
---@field multicast? "none"|"m"|"n"|"mn"                    axes along which a load serves other CTAs
---@field bytes? integer                                    that the copies of one stage bring
---@field mma_reads? boolean                                threads empty the stage by wgmma alone

---What the moves of a pipeline become, and what its two mbarriers count. Of a kernel's own: k:explain(resource).
---@param desc weir.explain_desc
---@return string
function weir.explain(desc) end

-- Layouts by hand: what the plan does for its own.

---@class weir.place_record
---@field name string
---@field size integer                                      bytes; of tensor memory columns
---@field align? integer
---@field alias? integer                                    records of one alias, in phases from 1 on, share bytes
---@field phase? integer

---Offsets of records, their total, what aliases save, what the target has.
---@param desc { arch?: "sm_80"|"sm_90a"|"sm_100a", space?: "smem"|"tmem", records: weir.place_record[], mbarriers?: integer }   mbarriers: behind the data
---@return { [integer]: { name: string, offset: integer, size: integer }, total: integer, saved: integer, capacity: integer, allocated: integer, size: integer, barrier_offset?: integer }   size: with the mbarriers
function weir.place_records(desc) end

---Bytes of a tile in shared memory, times its stages, and the alignment of its base. threads: TMA never touches it.
---@param desc { dtype: weir.dtype, tile: integer[], swizzle?: 0|32|64|128, stages?: integer, threads?: boolean }
---@return integer bytes, integer align
function weir.tile_bytes(desc) end

---mbarriers in one array, by arrivals; the runs of equal arrivals.
---@param desc { records: { name: string, count: integer, arrivals: integer }[] }
---@return { [integer]: { name: string, first: integer, count: integer, arrivals: integer }, runs: { first: integer, last: integer, arrivals: integer }[], used: integer }
function weir.place_barriers(desc) end

---The mbarriers of a pipeline (one member, no mode) or of a group.
---@param desc { name: string, mode?: "none"|"merge"|"fork"|"fused_merge", stages: integer, members: { name: string, producers: integer, consumers: integer }[] }
---@return { name: string, count: integer, arrivals: integer }[]
function weir.barrier_records(desc) end

---@class weir.allocator
---@field add fun(self: weir.allocator, record: { name: string, size?: integer, align?: integer, dtype?: weir.dtype, tile?: integer[], swizzle?: integer, stages?: integer, threads?: boolean, producers?: integer, consumers?: integer }): weir.allocator   with producers and consumers also the mbarriers of its pipeline
---@field add_group fun(self: weir.allocator, group: { name: string, mode?: "merge"|"fork"|"fused_merge", stages: integer, members: { name: string, producers: integer, consumers: integer }[] }): weir.allocator
---@field alias fun(self: weir.allocator, phases: string[][]): weir.allocator
---@field compute_layout fun(self: weir.allocator): table
---@field report fun(self: weir.allocator): string

---Shared memory laid out by hand.
---@param options? { arch?: "sm_80"|"sm_90a"|"sm_100a" }
---@return weir.allocator
function weir.smem_allocator(options) end

---Tensor memory laid out by hand, in columns.
---@param options? { arch?: "sm_100a" }
---@return weir.allocator
function weir.tmem_allocator(options) end

---@class weir.barrier_allocator
---@field add fun(self: weir.barrier_allocator, record: { name: string, stages?: integer, producers?: integer, consumers?: integer, count?: integer, arrivals?: integer }|weir.group): weir.barrier_allocator   a group: the mbarriers that the plan has for it
---@field add_group fun(self: weir.barrier_allocator, group: { name: string, mode?: "merge"|"fork"|"fused_merge", stages: integer, members: { name: string, producers: integer, consumers: integer }[] }): weir.barrier_allocator
---@field compute_layout fun(self: weir.barrier_allocator): table
---@field report fun(self: weir.barrier_allocator): string

---@param options? { smem: weir.allocator }                smem: the array lies behind its data
---@return weir.barrier_allocator
function weir.barrier_allocator(options) end

---How many GPUs there are; with none, also why.
---@return integer, string?
function weir.device_count() end

---Compiled kernels on disk, as this process has met them: a miss is of a name without entry (absent), of one whose entries have
---another source, target or compiler (changed), or of a damaged entry. why: of the last miss, "" none.
---@return { dir: string, hits: integer, misses: integer, absent: integer, changed: integer, damaged: integer, why: string }
function weir.cache() end

---Bytes the context holds from its allocator.
---@return integer
function weir.live_bytes() end

---@param dtype weir.dtype
---@return integer bytes
function weir.dtype_size(dtype) end

---Builds one kernel per arch and exports each to dir/arch.
---@param archs string[]
---@param make fun(arch: string): weir.kernel
---@param dir string
---@return table<string, weir.program>?, string?, string?
function weir.export(archs, make, dir) end

---The iterations of a loop: for i in weir.domain_loop(start, stop, step, { unroll = 2 }) do ... end. One bound is the stop.
---@param start weir.scalar
---@param stop? weir.scalar
---@param step? weir.scalar
---@param options? { unroll?: integer }
---@return fun(): weir.index?
function weir.domain_loop(start, stop, step, options) end

---The tiles that a work queue hands to this CTA. skip: which ones tile:skippable() leaves out. lane of lanes: every lanes-th tile.
---@param queue weir.queue
---@param options? { skip?: (fun(tile: weir.worktile): weir.value), lane?: integer, lanes?: integer }
---@return fun(): weir.worktile?
function weir.work_tile_loop(queue, options) end

---In the loop over the queue's tiles: the body runs unless this is the task's first tile, and is given the one it had before.
---@param queue weir.queue
---@return fun(): weir.worktile?
function weir.previous_tile(queue) end

---Behind the loop over the queue's tiles: the body runs if the task had any, and is given its last one.
---@param queue weir.queue
---@return fun(): weir.worktile?
function weir.last_tile(queue) end

---The body runs where the condition holds. Equal keys fire together in every task.
---@param condition weir.scalar
---@param options? { key?: string }
---@return fun(): boolean?
function weir.when_true(condition, options) end

---@param condition weir.scalar
---@param options? { key?: string }
---@return fun(): boolean?
function weir.when_false(condition, options) end

---@class weir.work_desc
---@field code string                                       CUDA; bound tensors, parameters, iter, stage, smem, tid, nthreads, warp, lane, elected
---@field params? string|string[]|table<string, string>     "view up, i32 row, const int slot"
---@field returns? string|string[]|table<string, string>    "f32 v, uniform i32 n"
---@field tx_bytes? integer                                 bytes that producer work moves on the stage's full barrier
---@field async_read? boolean                               it reads the stage asynchronously
---@field aux? boolean                                      auxiliary work

---@class weir.work

---A method of a custom resource that reads it.
---@param desc weir.work_desc
---@return weir.work
function weir.consumer_work(desc) end

---A method of a custom resource that writes it.
---@param desc weir.work_desc
---@return weir.work
function weir.producer_work(desc) end

-- Functions of values, elementwise; of plain numbers they give plain numbers.

---@param a weir.scalar
---@param b weir.scalar
---@param ... weir.scalar
---@return weir.value
function weir.max(a, b, ...) end

---@param a weir.scalar
---@param b weir.scalar
---@param ... weir.scalar
---@return weir.value
function weir.min(a, b, ...) end

---min(max(x, low), high)
---@param x weir.scalar
---@param low weir.scalar
---@param high weir.scalar
---@return weir.value
function weir.clamp(x, low, high) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.ceil_div(a, b) end

---@param x weir.scalar
---@return weir.value
function weir.abs(x) end

---@param x weir.scalar
---@return weir.value
function weir.exp(x) end

---@param x weir.scalar
---@return weir.value
function weir.exp2(x) end

---@param x weir.scalar
---@return weir.value
function weir.log2(x) end

---1 / x
---@param x weir.scalar
---@return weir.value
function weir.rcp(x) end

---1 / sqrt(x)
---@param x weir.scalar
---@return weir.value
function weir.rsqrt(x) end

---@param x weir.scalar
---@return weir.value
function weir.tanh(x) end

---max(x, 0)
---@param x weir.scalar
---@return weir.value
function weir.relu(x) end

---Of a value, or of a number inside a schedule: a value; floats to integers toward zero, to the nearest there is. Of a number
---elsewhere: the number that the dtype holds, an error if it does not fit.
---@param x weir.scalar
---@param dtype weir.dtype
---@return weir.value|number|boolean
function weir.cast(x, dtype) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.lt(a, b) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.le(a, b) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.gt(a, b) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.ge(a, b) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.eq(a, b) end

---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.ne(a, b) end

---a where the condition holds, else b.
---@param condition weir.scalar
---@param a weir.scalar
---@param b weir.scalar
---@return weir.value
function weir.select(condition, a, b) end

-- ---- pipelines ----------------------------------------------------------------------------------------------------------------

---Everything but stages is derived when left out, and checked when given.
---@class weir.pipe_desc
---@field stages integer
---@field bytes? integer                                    per stage
---@field producers? integer|{ [1]: integer, [2]: weir.grain }   arrivals per phase; { 4, "warp" } is 128
---@field consumers? integer|{ [1]: integer, [2]: weir.grain }
---@field cta_layout? integer[]                             { v, m, n, k }
---@field producer_signaling? weir.signaling
---@field consumer_signaling? weir.signaling
---@field consumer_wait_signaling? weir.signaling
---@field interleave? integer|integer[]                     one stride, or { acquire, commit, wait, release }: lanes that take the stages in turn
---@field advance_on_wait? boolean
---@field advance_on_acquire? boolean
---@field producer_op? "thread"|"load"                      load: by cp.async; where bodies fill the stage, thread unless given
---@field bytes_per_warp_per_cta? integer
---@field grain? weir.grain                                 who arrives at a release
---@field producer_grain? weir.grain                        who arrives at a commit

---@class weir.pipeline: weir.pipe_desc
---@field type string

---The name says who fills a stage and who empties it.
---@class weir.pipelines
---@field async_async fun(desc: weir.pipe_desc): weir.pipeline
---@field tma_async fun(desc: weir.pipe_desc): weir.pipeline
---@field tma_umma fun(desc: weir.pipe_desc): weir.pipeline
---@field umma_async fun(desc: weir.pipe_desc): weir.pipeline
---@field async_umma fun(desc: weir.pipe_desc): weir.pipeline
---@field umma_umma fun(desc: weir.pipe_desc): weir.pipeline
---@field clc_fetch_async fun(desc: weir.pipe_desc): weir.pipeline
---@field async_tma fun(desc: weir.pipe_desc): weir.pipeline

-- ---- kernel -------------------------------------------------------------------------------------------------------------------

---@class weir.kernel
---@field name string
---@field cta { v: weir.value, m: weir.value, n: weir.value, k: weir.value, rank: weir.value }
local kernel = {}

---A size that is bound at launch.
---@param name string
---@param options? { min?: integer, max?: integer, multiple?: integer }
---@return weir.value
function kernel:dim(name, options) end

---A launch argument.
---@param desc { name: string, dtype: weir.dtype }
---@return weir.value
function kernel:scalar(desc) end

---@param desc { name: string, dtype: weir.dtype, shape: weir.scalar[], stride?: weir.scalar[], out?: boolean }
---@return weir.tensor
function kernel:tensor(desc) end

---Promised by the caller, checked at launch, known to the proof.
---@param condition weir.value
function kernel:assume(condition) end

---@param desc { name: string, tensor: weir.tensor, tile: integer[] }
---@return weir.gmem_tile
function kernel:gmem_tile(desc) end

---storage: the bytes of another tile, under barriers of its own.
---@param desc { name: string, dtype?: weir.dtype, tile?: integer[], swizzle?: 0|32|64|128, pipeline?: weir.pipeline, storage?: weir.smem_tile }
---@return weir.smem_tile
function kernel:smem_tile(desc) end

---@param desc { name: string, dtype: weir.dtype, tile: integer[] }
---@return weir.reg_tile
function kernel:reg_tile(desc) end

---split: which way several warpgroups of a task share the tile, and its reg_tiles, stages and stores: "m" rows, "n" columns.
---@param desc { name: string, tile: integer[], split?: "m"|"n" }
---@return weir.wgmma_tile
function kernel:wgmma_tile(desc) end

---@param desc { name: string, tile: integer[], pipeline: weir.pipeline }
---@return weir.tmem_tile
function kernel:tmem_tile(desc) end

---@param desc { name: string, pipeline: weir.pipeline }
---@return weir.barrier
function kernel:barrier(desc) end

---@param desc { name: string }
---@return weir.pdl_wait
function kernel:pdl_wait(desc) end

---@param desc { name: string }
---@return weir.pdl_launch
function kernel:pdl_launch(desc) end

---@class weir.queue_desc
---@field name string
---@field kind? "static"|"atomic"|"clc"|"grid"
---@field over? weir.tensor                                 axes m and n (rank 3: l, m, n), as many tiles as its shape has
---@field tile? integer[]                                   with over
---@field axes? string[]                                    or by hand, with extent
---@field extent? weir.scalar[]
---@field raster? "row"|"column"|"grouped"|fun(i: weir.value, ...: weir.value): ...
---@field group? integer                                    of raster = "grouped": rows of tiles side by side
---@field stages? integer                                   of a dynamic queue
---@field pipeline? weir.pipeline

---@param desc weir.queue_desc
---@return weir.queue
function kernel:work_queue(desc) end

---@class weir.resource_desc
---@field name string
---@field space? "gmem"|"smem"
---@field dtype? weir.dtype
---@field tile? integer[]
---@field swizzle? 0|32|64|128
---@field pipeline? weir.pipeline
---@field bind? table<string, weir.tensor>                  tensors by the name the code has for them
---@field const? table<string, number>
---@field work? table<string, weir.work>

---@param desc weir.resource_desc
---@return weir.custom
function kernel:resource(desc) end

---Lets members share barriers. Raises what does not fit.
---@param desc { name: string, mode?: "merge"|"fork"|"fused_merge", members: weir.resource[], pipeline?: weir.pipeline, fold?: boolean }
---@return weir.group
function kernel:group(desc) end

---{ { down, { up, up } }, ... }, or a table keyed by resource. An entry's release_after = { "work", ... } says which releases of
---its upstreams the edge is about: those that follow that work.
---@param edges table
function kernel:depends(edges) end

---Phases that share bytes in time: { { a, b }, { staging } }.
---@param phases weir.resource[][]
function kernel:alias(phases) end

---@class weir.task_desc
---@field name string
---@field warps integer[]                                   { first, count }
---@field registers? integer                                per thread after the split
---@field cta? { v?: integer, m?: integer, n?: integer, k?: integer }   only CTAs with these coordinates
---@field src? weir.resource[]
---@field dst? weir.resource[]
---@field schedule fun()

---Runs the schedule once and records it.
---@param desc weir.task_desc
function kernel:task(desc) end

---@param options? { prove?: boolean, warn_only?: boolean }
---@return weir.report
function kernel:verify(options) end

---Validates, plans, proves and emits; raises the report when anything is wrong.
---unsafe: builds what was refused, if it can be planned; for the simulator and the watchdog. watchdog: seconds that a wait may last
---on a GPU before the kernel gives up and says where. notes: what becomes of program:notes().
---@param options? { device?: weir.device, warn_only?: boolean, unsafe?: boolean, watchdog?: number, notes?: "warn"|"ignore"|"error" }
---@return weir.program
function kernel:build(options) end

---The CUDA source that build would emit.
---@return string
function kernel:source() end

---Text of what was described and planned.
---@param part? weir.print_part
---@return string
function kernel:print(part) end

---@return string
function kernel:schedule_table() end

---The dependency graph, for Graphviz.
---@return string
function kernel:dot() end
--- The barrier protocol with these sizes, as a model for spin. Every dim needs a size; `tiles`: work tiles of each CTA, default 1.
---@param sizes? table<string, integer>
---@return string
function kernel:promela(sizes) end

---Who arrives on the mbarriers of a pipelined resource or a group, how often, with how many bytes, and the sum their counts come
---from.
---@param resource weir.piped
---@return string
function kernel:explain(resource) end

---@return { name: string, offset: integer, size: integer, align: integer, stage_bytes: integer, stages: integer, phase: integer }[]
function kernel:smem_layout() end

---Tensor memory, of sm_100a: offset, size and stage_bytes count columns; `total` are laid out, `allocated` asked for.
---@return { name: string, offset: integer, size: integer, align: integer, stage_bytes: integer, stages: integer, phase: integer }[]
function kernel:tmem_layout() end

---@return { name: string, first: integer, stages: integer, offset: integer, arrivals: integer, tx_bytes: integer }[]
function kernel:barrier_layout() end

function kernel:close() end

---@class weir.tensor
---@field name string
---@field dtype weir.dtype
---@field shape weir.scalar[]
---@field stride? weir.scalar[]
---@field out? boolean

-- ---- resources ----------------------------------------------------------------------------------------------------------------

---@class weir.resource
---@field name string
---@field kind string

---The four moves. release(n) and commit(n) keep the n newest stages held; without n they give back the oldest, and a place where
---none is ever held is a finding.
---@class weir.piped: weir.resource
local piped = {}
function piped:try_acquire() end
function piped:acquire() end
---@param keep? integer
function piped:commit(keep) end
function piped:try_wait() end
function piped:wait() end
---@param keep? integer
function piped:release(keep) end

---@class weir.gmem_tile: weir.resource
---@field tensor weir.tensor
---@field tile integer[]
local gmem_tile = {}

---The tile with these tile indices.
---@param ... weir.scalar
---@return weir.value
function gmem_tile:at(...) end

---The tile that starts at this element.
---@param ... weir.scalar
---@return weir.value
function gmem_tile:from(...) end

---@param x weir.scalar
---@param place weir.place
function gmem_tile:store(x, place) end

---@param view weir.value
---@param place weir.place
function gmem_tile:tma_store(view, place) end

---@param view weir.value
---@param place weir.place
function gmem_tile:tma_reduce_add(view, place) end

---At most n bulk stores not yet visible.
---@param n? integer
function gmem_tile:drain(n) end

---@class weir.smem_tile: weir.piped
---@field dtype weir.dtype
---@field tile integer[]
local smem_tile = {}

---The stage waited for `back` waits ago.
---@param back? integer
---@return weir.value view
function smem_tile:read(back) end

---The i-th slab of the first axis.
---@param i weir.scalar
---@return weir.value view
function smem_tile:sub(i) end

---multicast: each CTA along the axis loads its slice for all of them. issue = "first": the first loads the whole tile for all, the
---others only arm and wait; the tile need not divide into slices, and a release arrives at the own CTA and the one that loads.
---@param view weir.value
---@param options? { multicast?: "none"|"m"|"n"|"mn", issue?: "slices"|"first", cache?: "evict_first"|"evict_last" }
function smem_tile:tma_load(view, options) end

---@param view weir.value
function smem_tile:cp_async(view) end

---@param x weir.scalar
---@param place? weir.place
function smem_tile:store(x, place) end

---A bulk copy of a stage (or slabs of it) into the same stage of this tile in the CTA with coordinate k, bytes on that CTA's
---barrier; between acquire and commit. acquire waits until the stage there has been released, and arms it. The source is free once
---the stage has been acquired again. place: a slab, s:sub(i), of several senders each its own. k follows from numbers and k.cta.
---@param view weir.value
---@param place weir.place
---@param options { k: weir.scalar }
---@overload fun(self: weir.smem_tile, view: weir.value, options: { k: weir.scalar })
function smem_tile:push(view, place, options) end

---@class weir.reg_tile: weir.resource
local reg_tile = {}

---@return weir.value tile
function reg_tile:read() end

---@param x weir.scalar
function reg_tile:set(x) end
function reg_tile:zero() end

---{ rows, 1 }, counted over the whole tile.
---@return weir.value
function reg_tile:row_index() end

---{ 1, cols }
---@return weir.value
function reg_tile:col_index() end

---At most n batches of this tile in flight.
---@param n? integer
function reg_tile:drain(n) end

---@class weir.wgmma_tile: weir.reg_tile
local wgmma_tile = {}

---self += a * transpose(b)
---@param a weir.value { M, K } view or 16-bit value
---@param b weir.value { N, K } view
function wgmma_tile:mma(a, b) end

---@class weir.tmem_tile: weir.piped
local tmem_tile = {}
---@return weir.value view
function tmem_tile:read() end
---@param a weir.value
---@param b weir.value
function tmem_tile:mma(a, b) end
function tmem_tile:zero() end

---@class weir.queue: weir.piped
local queue = {}
---try_wait, wait, get_and_advance_work_tile, release
function queue:next() end
---try_acquire, acquire, fetch_work_tile, commit
function queue:fetch() end
function queue:get_and_advance_work_tile() end
function queue:fetch_work_tile() end
function queue:init_work_tile() end

---@class weir.barrier: weir.piped
---@class weir.pdl_wait: weir.resource
---@field wait_griddep fun(self)
---@class weir.pdl_launch: weir.resource
---@field launch_griddep fun(self)

---Its own methods are those of `work`.
---@class weir.custom: weir.piped
local custom = {}
---@param back? integer
---@return weir.value view
function custom:read(back) end

---Members are fields.
---@class weir.group: weir.piped
---@field mode string
---@field is_heterogeneous boolean                          members of more than one pipeline type
---@field num_barriers_per_stage integer                    fused_merge: 2; else one per member and a shared one
---@field group_pipeline weir.pipeline                      what moves on the group follow
---@field barriers table<string, { first: integer, count: integer, address: integer, arrivals: integer, tx_bytes: integer }>
local group = {}
---@param name string
---@return weir.piped?
function group:member(name) end

-- ---- values -------------------------------------------------------------------------------------------------------------------

---A dim, scalar, coordinate, loop index, register tile, view, or what arithmetic makes of them. Never changes.
---@class weir.value
---@field kind "scalar"|"register tile"|"view"|"condition"
---@field dtype weir.dtype
---@field uniform boolean                                   equal in all threads
---@field shape? integer[]                                  of a register tile
---@operator add(weir.scalar): weir.value
---@operator sub(weir.scalar): weir.value
---@operator mul(weir.scalar): weir.value
---@operator div(weir.scalar): weir.value
---@operator idiv(weir.scalar): weir.value
---@operator mod(weir.scalar): weir.value
---@operator unm: weir.value
---@operator band(weir.scalar): weir.value
---@operator bor(weir.scalar): weir.value
---@operator bnot: weir.value
local value = {}

---f(self, ...)
---@param f fun(x: weir.value, ...: any): ...
---@param ... any
---@return weir.value
function value:map(f, ...) end

---{ rows, n }: n = 4 keeps what each lane of a quad holds.
---@param n? 1|4
---@return weir.value
function value:row_max(n) end

---@param n? 1|4
---@return weir.value
function value:row_min(n) end

---@param n? 1|4
---@return weir.value
function value:row_sum(n) end

---@param first integer
---@param count integer
---@return weir.value
function value:cols(first, count) end

---@param first integer
---@param count integer
---@return weir.value
function value:rows(first, count) end

---@param i weir.scalar
---@return weir.value
function value:sub(i) end

---Transposed.
---@return weir.value
function value:t() end

---Only n elements of the last axis exist.
---@param n weir.scalar
---@return weir.value
function value:limit(n) end

---@return weir.value
function value:load() end

---@class weir.index: weir.value
local index = {}
---@return fun(): boolean?
function index:first_iter() end
---@return fun(): boolean?
function index:last_iter() end
---@param period integer
---@param start? integer
---@return fun(): boolean?
function index:every(period, start) end

---This CTA's tile: its axes are fields (m, n, or the queue's own).
---@class weir.worktile
---@field [string] weir.value
local worktile = {}
---@return fun(): boolean?
function worktile:skippable() end

-- ---- results ------------------------------------------------------------------------------------------------------------------

---@class weir.finding
---@field rule string
---@field severity "note"|"warning"|"error"
---@field message string
---@field hint? string                                      the change that mends it
---@field file? string
---@field line? integer
---@field other_file? string
---@field other_line? integer
---@field other_what? string
---@field objects string[]
---@field expected? string
---@field got? string

---tostring gives its text, # the number of findings.
---@class weir.report
---@field ok boolean
---@field findings weir.finding[]
---@field proof { verdict: "NOT_PROVED"|"SAFE"|"SAFE_BOUNDED"|"UNSAFE"|"INCOMPLETE", text?: string, trace?: string, states: integer, ms: number }
---@field text string

---@alias weir.argument weir.buffer|weir.foreign|number|boolean|{ address: integer, shape?: integer[], stride?: integer[], dtype?: weir.dtype }
---@class weir.launch_options
---@field stream? integer|lightuserdata
---@field grid? integer
---@field device? weir.device
---@field pdl? boolean

---@class weir.program
---@field name string
---@field report weir.report
---@field kernel weir.kernel
local program = {}

---Asynchronous on a GPU, done on return in the simulator. true, or nil, message, code; bad arguments raise.
---@param args table<string, weir.argument>
---@param options? weir.launch_options
---@return true?, string?, string?
function program:launch(args, options) end

---Would a launch take these sizes? Runs nothing, needs no device. Tensors may be given as { shape = }, or left out where every dim
---is given; so may scalars of float dtypes. true, with a text where tensors left out must have rows padded to 16 bytes (as
---dev:tensor makes them); or false and the reason.
---@param args table<string, weir.argument|{ shape: integer[], stride?: integer[], dtype?: weir.dtype }>
---@param options? weir.launch_options
---@return boolean, string?
function program:accepts(args, options) end

---Median milliseconds of `reps` launches.
---@param args table<string, weir.argument>
---@param options? { reps?: integer, stream?: integer|lightuserdata, grid?: integer, device?: weir.device, pdl?: boolean }
---@return number?, string?, string?
function program:time(args, options) end

---A launch, and when each actor of the first `ctas` CTAs (one cluster if left out) did what. When the run stopped early there is a
---timeline up to there, with message and code behind it. In the simulator tensors may be left out where the dims are given: zeros
---stand in.
---@param args table<string, weir.argument>
---@param options? { ctas?: integer, stream?: integer|lightuserdata, grid?: integer, device?: weir.device, pdl?: boolean }
---@return weir.timeline?, string?, string?
function program:trace(args, options) end

---A launch in the simulator with many seeds (100): true; or nil, message, code and the first seed that fails.
---@param args table<string, weir.argument>
---@param options? { seeds?: integer, grid?: integer, device?: weir.device }
---@return true?, string?, string?, integer?
function program:explore(args, options) end

---Arguments bound once, for many launches.
---@param args table<string, weir.argument>
---@param options? weir.launch_options
---@return weir.bound
function program:bind(args, options) end

---@return string
function program:source() end
---@return string
function program:full_source() end
---@return string?, string?, string?
function program:ptx() end
---@return string?, string?, string?
function program:cubin() end
---@return string
function program:log() end
---What ptxas notes of the last compilation that costs speed, and the compiler's version: spills, wgmma that is serialised,
---setmaxnreg that is ignored (C75xx), warnings. nil: nothing, or not compiled yet.
---@return string?
function program:notes() end
---Milliseconds of the last build.
---@return { validate: number, plan: number, prove: number, emit: number, compile: number, nvrtc: number, load: number, cache_hit: boolean }
function program:times() end
---Writes NAME.cubin and NAME.h.
---@param dir string
---@return true?, string?, string?
function program:export(dir) end
function program:close() end

---@class weir.bound
local bound = {}
---@param stream? integer|lightuserdata
---@return true?, string?, string?
function bound:launch(stream) end
---Another address for a tensor: of the same shape and strides, on the same device.
---@param tensor string
---@param address weir.buffer|integer|lightuserdata
---@return true?, string?, string?
function bound:set_address(tensor, address) end
function bound:close() end

---@class weir.span
---@field task? string
---@field cta integer
---@field warp integer                                      the actor's first
---@field what string                                       "wait ab_full", "mma acc"
---@field action integer                                    id in the plan
---@field nth integer                                       how many times this actor has begun it, from 1
---@field stage? integer
---@field waits boolean
---@field stuck boolean                                     had not ended when the run stopped
---@field file? string
---@field line? integer
---@field from number
---@field to number

---@class weir.timeline
---@field unit "ns"|"steps"
---@field complete boolean
local timeline = {}

---@return weir.span[]
function timeline:spans() end
---JSON for ui.perfetto.dev.
---@param path string
---@return weir.timeline?, string?, string?
function timeline:perfetto(path) end
---@param path string
---@return weir.timeline?, string?, string?
function timeline:svg(path) end
function timeline:close() end

-- ---- devices ------------------------------------------------------------------------------------------------------------------

---@class weir.device
---@field name string
---@field is_sim boolean
---@field sms integer
---@field seed integer                                      of the simulator's last run
local device = {}

---Rows are padded so that the pitch is a multiple of `pitch` bytes, 16 if left out.
---@param desc { dtype: weir.dtype, shape: integer|integer[], pitch?: integer }
---@return weir.buffer?, string?, string?
function device:tensor(desc) end
---@return true?, string?, string?
function device:sync() end
---Every launch on this simulator is run with `seeds` seeds (100) from now on, from its own on, until one fails.
---@param desc { seeds?: integer }
---@return weir.device
function device:explore(desc) end
---What the simulator found in the last run, or the watchdog on a GPU.
---@return string
function device:findings() end
function device:close() end

---Another library's tensor, taken over with weir.dlpack: a launch argument.
---@class weir.foreign
---@field dtype weir.dtype
---@field rank integer
---@field shape integer[]
---@field stride integer[]  elements
---@field address integer
---@field place string      "GPU 0", "the host", "host and GPU"
local foreign = {}
---Gives it back (its deleter runs, once); also when collected or at the end of a block (`local t <close>`). Launches that use it
---must be done.
function foreign:close() end

---A tensor that another library hands over through DLPack: `pointer` is the address of a DLManagedTensor, or, with `versioned`, of
---a DLManagedTensorVersioned (version 1.x). Raises for a device, dtype or rank that weir has not; then it is still the caller's.
---@param pointer lightuserdata|integer
---@param options? { versioned?: boolean }
---@return weir.foreign
function weir.dlpack(pointer, options) end

---@class weir.buffer
---@field dtype weir.dtype
---@field rank integer
---@field shape integer[]
---@field stride integer[]                                  elements
---@field address integer
---@field device weir.device
local buffer = {}

---@param seed? integer
---@return weir.buffer
function buffer:randn(seed) end
---@param x number
---@return weir.buffer
function buffer:fill(x) end
---Numbers row by row, nested or flat; or bytes without padding.
---@param data table|string
---@return weir.buffer
function buffer:set(data) end
---All elements in one list, row by row; get "bytes": a string without padding.
---@param as? "list"|"bytes"
---@return number[]|string
function buffer:get(as) end
---@param device? weir.device
---@return weir.buffer
function buffer:copy(device) end
function buffer:close() end

---@class weir.npy
---@field load fun(path: string, device: weir.device, options?: { dtype?: weir.dtype }): weir.buffer?, string?, string?
---@field save fun(path: string, tensor: weir.buffer): true?, string?

return weir
