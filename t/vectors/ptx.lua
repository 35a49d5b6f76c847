-- The loop of each role of t/ptx.t, instruction by instruction, as NVRTC 13.0 makes it.
local v = { release = "13.0" }

v["async_async, sm_80: empty"] = [[
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r2, %r3, 3;
cvt.u32.u64 %r4, %rd1;
add.s32 %r5, %r2, %r4;
add.s32 %r6, %r5, 1536;
{ .reg .pred p; W_AGAIN: mbarrier.test_wait.parity.shared::cta.b64 p, [%r6], %r7; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r8, %r3, 9;
add.s32 %r9, %r8, %r4;
cvt.u64.u32 %rd2, %r9;
add.s32 %r10, %r11, -128;
mul.wide.u32 %rd3, %r10, 4;
add.s64 %rd4, %rd2, %rd3;
ld.shared.u32 %r12, [%rd4];
add.s64 %rd5, %rd6, %rd3;
st.global.u32 [%rd5], %r12;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r13, %r5, 1560;
mbarrier.arrive.shared::cta.b64 _, [%r13];
L1:
add.s32 %r14, %r14, 1;
setp.lt.s32 %p2, %r14, %r15;
add.s32 %r16, %r3, 1;
setp.eq.s32 %p3, %r16, 3;
selp.b32 %r3, 0, %r16, %p3;
selp.u32 %r17, 1, 0, %p3;
xor.b32 %r7, %r7, %r17;
]]

v["async_async, sm_80: fill"] = [[
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r2, %r3, 3;
cvt.u32.u64 %r4, %rd1;
add.s32 %r5, %r2, %r4;
add.s32 %r6, %r5, 1560;
{ .reg .pred p; W_AGAIN: mbarrier.test_wait.parity.shared::cta.b64 p, [%r6], %r7; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r8, %r3, 9;
add.s32 %r9, %r8, %r4;
cvt.u64.u32 %rd2, %r9;
add.s64 %rd3, %rd2, %rd4;
st.shared.u32 [%rd3], %r10;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r11, %r5, 1536;
mbarrier.arrive.shared::cta.b64 _, [%r11];
L1:
add.s32 %r10, %r10, 1;
setp.lt.s32 %p2, %r10, %r12;
add.s32 %r13, %r3, 1;
setp.eq.s32 %p3, %r13, 3;
selp.b32 %r3, 0, %r13, %p3;
selp.u32 %r14, 1, 0, %p3;
xor.b32 %r7, %r7, %r14;
]]

v["async_async, sm_90a: empty"] = [[
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r2, %r3, 3;
cvt.u32.u64 %r4, %rd1;
add.s32 %r5, %r2, %r4;
add.s32 %r6, %r5, 1536;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r6], %r7; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r8, %r3, 9;
add.s32 %r9, %r8, %r4;
cvt.u64.u32 %rd2, %r9;
add.s32 %r10, %r11, -128;
mul.wide.u32 %rd3, %r10, 4;
add.s64 %rd4, %rd2, %rd3;
ld.shared.u32 %r12, [%rd4];
add.s64 %rd5, %rd6, %rd3;
st.global.u32 [%rd5], %r12;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r13, %r5, 1560;
mbarrier.arrive.shared::cta.b64 _, [%r13];
L1:
add.s32 %r14, %r14, 1;
setp.lt.s32 %p2, %r14, %r15;
add.s32 %r16, %r3, 1;
setp.eq.s32 %p3, %r16, 3;
selp.b32 %r3, 0, %r16, %p3;
selp.u32 %r17, 1, 0, %p3;
xor.b32 %r7, %r7, %r17;
]]

v["async_async, sm_90a: fill"] = [[
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r2, %r3, 3;
cvt.u32.u64 %r4, %rd1;
add.s32 %r5, %r2, %r4;
add.s32 %r6, %r5, 1560;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r6], %r7; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r8, %r3, 9;
add.s32 %r9, %r8, %r4;
cvt.u64.u32 %rd2, %r9;
add.s64 %rd3, %rd2, %rd4;
st.shared.u32 [%rd3], %r10;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r11, %r5, 1536;
mbarrier.arrive.shared::cta.b64 _, [%r11];
L1:
add.s32 %r10, %r10, 1;
setp.lt.s32 %p2, %r10, %r12;
add.s32 %r13, %r3, 1;
setp.eq.s32 %p3, %r13, 3;
selp.b32 %r3, 0, %r13, %p3;
selp.u32 %r14, 1, 0, %p3;
xor.b32 %r7, %r7, %r14;
]]

v["async_async_load, sm_90a: fill"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r1, %r4;
add.s32 %r5, %r3, 1536;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r8, 0, %r7, %p1;
selp.u32 %r9, 1, 0, %p1;
xor.b32 %r6, %r6, %r9;
shl.b32 %r10, %r2, 9;
add.s32 %r11, %r12, %r10;
cvt.s64.s32 %rd1, %r13;
add.s64 %rd2, %rd3, %rd1;
min.s32 %r14, %r15, 16;
max.s32 %r16, %r14, 0;
shl.b64 %rd4, %rd2, 2;
add.s64 %rd5, %rd6, %rd4;
cp.async.cg.shared.global [%r11], [%rd5], 16, %r16;
add.s32 %r17, %r3, 1560;
cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r17];
add.s32 %r15, %r15, -128;
add.s32 %r13, %r13, 32;
add.s32 %r18, %r18, 1;
setp.lt.s32 %p2, %r18, %r19;
mov.u32 %r2, %r8;
]]

v["tma_async, sm_90a: empty"] = [[
and.b32 %r1, %r2, 31;
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r3, %r4, 3;
cvt.u32.u64 %r5, %rd1;
add.s32 %r6, %r3, %r5;
add.s32 %r7, %r6, 1536;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r7], %r8; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r9, %r4, 9;
add.s32 %r10, %r9, %r5;
cvt.u64.u32 %rd2, %r10;
add.s32 %r11, %r2, -128;
mul.wide.u32 %rd3, %r11, 4;
add.s64 %rd4, %rd2, %rd3;
ld.shared.u32 %r12, [%rd4];
add.s64 %rd5, %rd6, %rd3;
st.global.u32 [%rd5], %r12;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r13, %r6, 1560;
mbarrier.arrive.shared::cta.b64 _, [%r13];
L1:
add.s32 %r14, %r14, 1;
setp.lt.s32 %p2, %r14, %r15;
add.s32 %r16, %r4, 1;
setp.eq.s32 %p3, %r16, 3;
selp.b32 %r4, 0, %r16, %p3;
selp.u32 %r17, 1, 0, %p3;
xor.b32 %r8, %r8, %r17;
]]

v["tma_async, sm_90a: load"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r1, %r3;
add.s32 %r5, %r4, 1560;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r4, 1536;
mov.u32 %r8, 512;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
add.s32 %r9, %r2, 1;
setp.eq.s32 %p1, %r9, 3;
selp.b32 %r10, 0, %r9, %p1;
selp.u32 %r11, 1, 0, %p1;
xor.b32 %r6, %r6, %r11;
shl.b32 %r12, %r2, 9;
add.s32 %r13, %r12, %r3;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd2, {%r14,%r15}], [%r7];
add.s32 %r14, %r14, 32;
add.s32 %r16, %r16, 1;
setp.lt.s32 %p2, %r16, %r17;
mov.u32 %r2, %r10;
]]

v["tma_async, multicast to 2, sm_90a: empty"] = [[
and.b32 %r1, %r2, 31;
setp.gt.u32 %p1, %r1, 1;
shl.b32 %r3, %r4, 3;
cvt.u32.u64 %r5, %rd1;
add.s32 %r6, %r3, %r5;
add.s32 %r7, %r6, 1536;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r7], %r8; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r9, %r4, 9;
add.s32 %r10, %r9, %r5;
cvt.u64.u32 %rd2, %r10;
add.s32 %r11, %r2, -128;
mul.wide.u32 %rd3, %r11, 4;
add.s64 %rd4, %rd2, %rd3;
ld.shared.u32 %r12, [%rd4];
add.s64 %rd5, %rd6, %rd3;
st.global.u32 [%rd5], %r12;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r13, %r6, 1560;
{ .reg .b32 r; mapa.shared::cluster.u32 r, %r13, %r1; mbarrier.arrive.shared::cluster.b64 _, [r]; }
L1:
add.s32 %r14, %r14, 1;
setp.lt.s32 %p2, %r14, %r15;
add.s32 %r16, %r4, 1;
setp.eq.s32 %p3, %r16, 3;
selp.b32 %r4, 0, %r16, %p3;
selp.u32 %r17, 1, 0, %p3;
xor.b32 %r8, %r8, %r17;
]]

v["tma_async, multicast to 2, sm_90a: load"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r1, %r4;
add.s32 %r5, %r3, 1560;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r3, 1536;
mov.u32 %r8, 512;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
add.s32 %r9, %r2, 1;
setp.eq.s32 %p1, %r9, 3;
selp.b32 %r10, 0, %r9, %p1;
selp.u32 %r11, 1, 0, %p1;
xor.b32 %r6, %r6, %r11;
shl.b32 %r12, %r2, 9;
add.s32 %r13, %r14, %r12;
mov.u16 %rs1, 3;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r13], [%rd1, {%r15,%r16}], [%r7], %rs1;
add.s32 %r15, %r15, 32;
add.s32 %r17, %r17, 1;
setp.lt.s32 %p2, %r17, %r18;
mov.u32 %r2, %r10;
]]

v["fused_merge, sm_90a: empty"] = [[
and.b32 %r1, %r2, 31;
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r3, %r4, 3;
cvt.u32.u64 %r5, %rd1;
add.s32 %r6, %r3, %r5;
add.s32 %r7, %r6, 3072;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r7], %r8; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r9, %r4, 9;
add.s32 %r10, %r9, %r5;
add.s32 %r11, %r10, 1536;
cvt.u64.u32 %rd2, %r11;
add.s32 %r12, %r2, -128;
mul.wide.u32 %rd3, %r12, 4;
add.s64 %rd4, %rd2, %rd3;
ld.shared.u32 %r13, [%rd4];
add.s64 %rd5, %rd6, %rd3;
st.global.u32 [%rd5], %r13;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r14, %r6, 3096;
mbarrier.arrive.shared::cta.b64 _, [%r14];
L1:
add.s32 %r15, %r15, 1;
setp.lt.s32 %p2, %r15, %r16;
add.s32 %r17, %r4, 1;
setp.eq.s32 %p3, %r17, 3;
selp.b32 %r4, 0, %r17, %p3;
selp.u32 %r18, 1, 0, %p3;
xor.b32 %r8, %r8, %r18;
]]

v["fused_merge, sm_90a: load"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r1, %r3;
add.s32 %r5, %r4, 3096;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r4, 3072;
mov.u32 %r8, 512;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
shl.b32 %r9, %r2, 9;
add.s32 %r10, %r9, %r3;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {%r11,%r12}], [%r7];
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
add.s32 %r13, %r2, 1;
setp.eq.s32 %p1, %r13, 3;
selp.b32 %r2, 0, %r13, %p1;
selp.u32 %r14, 1, 0, %p1;
xor.b32 %r6, %r6, %r14;
add.s32 %r15, %r10, 1536;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd3, {%r11,%r12}], [%r7];
add.s32 %r11, %r11, 32;
add.s32 %r16, %r16, 1;
setp.lt.s32 %p2, %r16, %r17;
]]

v["fused_merge, fold, sm_90a: load"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r1, %r3;
add.s32 %r5, %r4, 3096;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r4, 3072;
mov.u32 %r8, 1024;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
shl.b32 %r9, %r2, 9;
add.s32 %r10, %r9, %r3;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%rd2, {%r11,%r12}], [%r7];
add.s32 %r13, %r2, 1;
setp.eq.s32 %p1, %r13, 3;
selp.b32 %r2, 0, %r13, %p1;
selp.u32 %r14, 1, 0, %p1;
xor.b32 %r6, %r6, %r14;
add.s32 %r15, %r10, 1536;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd3, {%r11,%r12}], [%r7];
add.s32 %r11, %r11, 32;
add.s32 %r16, %r16, 1;
setp.lt.s32 %p2, %r16, %r17;
]]

v["async_tma, sm_90a: fill"] = [[
and.b32 %r1, %r2, 31;
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r3, %r4, 3;
cvt.u32.u64 %r5, %rd1;
add.s32 %r6, %r3, %r5;
add.s32 %r7, %r6, 1536;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r7], %r8; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r9, %r4, 9;
add.s32 %r10, %r9, %r5;
cvt.u64.u32 %rd2, %r10;
add.s64 %rd3, %rd2, %rd4;
st.shared.u32 [%rd3], %r11;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r12, %r6, 1560;
mbarrier.arrive.shared::cta.b64 _, [%r12];
L1:
add.s32 %r11, %r11, 1;
setp.lt.s32 %p2, %r11, %r13;
add.s32 %r14, %r4, 1;
setp.eq.s32 %p3, %r14, 3;
selp.b32 %r4, 0, %r14, %p3;
selp.u32 %r15, 1, 0, %p3;
xor.b32 %r8, %r8, %r15;
]]

v["async_tma, sm_90a: store"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r1, %r4;
add.s32 %r5, %r3, 1560;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r8, 0, %r7, %p1;
selp.u32 %r9, 1, 0, %p1;
xor.b32 %r6, %r6, %r9;
shl.b32 %r10, %r2, 9;
add.s32 %r11, %r10, %r4;
cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r12,%r13}], [%r11];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
add.s32 %r14, %r3, 1536;
mbarrier.arrive.shared::cta.b64 _, [%r14];
add.s32 %r12, %r12, 32;
add.s32 %r15, %r15, 1;
setp.lt.s32 %p2, %r15, %r16;
mov.u32 %r2, %r8;
]]

v["tma_umma, sm_90a: load"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r1, %r3;
add.s32 %r5, %r4, 6440;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r4, 6416;
mov.u32 %r8, 2048;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
add.s32 %r9, %r2, 1;
setp.eq.s32 %p1, %r9, 3;
selp.b32 %r10, 0, %r9, %p1;
selp.u32 %r11, 1, 0, %p1;
xor.b32 %r6, %r6, %r11;
shl.b32 %r12, %r2, 11;
add.s32 %r13, %r12, %r3;
add.s32 %r14, %r13, 256;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r15,%r16}], [%r7];
add.s32 %r15, %r15, 16;
add.s32 %r17, %r17, 1;
setp.lt.s32 %p2, %r17, %r18;
mov.u32 %r2, %r10;
]]

v["tma_umma, sm_90a: mma"] = [[
and.b32 %r1, %r2, 127;
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r3, %r4, 3;
add.s32 %r5, %r3, %r6;
add.s32 %r7, %r5, 6416;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r7], %r8; @p bra W_DONE; bra W_AGAIN; W_DONE: }
wgmma.fence.sync.aligned;
shl.b32 %r9, %r4, 11;
add.s32 %r10, %r9, %r6;
add.s32 %r11, %r10, 256;
and.b32 %r12, %r11, 261376;
shr.u32 %r13, %r12, 4;
cvt.u64.u32 %rd1, %r13;
or.b64 %rd2, %rd1, -4611685949707845632;
and.b32 %r14, %r6, 262128;
shr.u32 %r15, %r14, 4;
cvt.u64.u32 %rd3, %r15;
or.b64 %rd4, %rd3, -4611685949707845632;
{ .reg .pred p; setp.ne.b32 p, %r16, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd2, %rd4, p, 1, 1, 0, 0; }
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
@%p1 bra L1;
add.s32 %r17, %r5, 6440;
mbarrier.arrive.shared::cta.b64 _, [%r17];
L1:
add.s32 %r18, %r18, 1;
mov.u32 %r16, 1;
setp.lt.s32 %p2, %r18, %r19;
add.s32 %r20, %r4, 1;
setp.eq.s32 %p3, %r20, 3;
selp.b32 %r4, 0, %r20, %p3;
selp.u32 %r21, 1, 0, %p3;
xor.b32 %r8, %r8, %r21;
]]

v["async_umma, sm_90a: fill"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r1, %r3;
add.s32 %r5, %r4, 6416;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r7, %r2, 11;
add.s32 %r8, %r7, %r3;
add.s32 %r9, %r8, 256;
cvt.u64.u32 %rd2, %r9;
add.s64 %rd3, %rd2, %rd4;
st.shared.u32 [%rd3], %r10;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
setp.ne.s32 %p1, %r11, 0;
@%p1 bra L1;
add.s32 %r12, %r4, 6440;
mbarrier.arrive.shared::cta.b64 _, [%r12];
L1:
add.s32 %r13, %r2, 1;
setp.eq.s32 %p2, %r13, 3;
add.s32 %r10, %r10, 1;
setp.lt.s32 %p3, %r10, %r14;
selp.u32 %r15, 1, 0, %p2;
xor.b32 %r6, %r6, %r15;
selp.b32 %r2, 0, %r13, %p2;
]]

v["async_umma, sm_90a: mma"] = [[
and.b32 %r1, %r2, 127;
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r3, %r4, 3;
add.s32 %r5, %r3, %r6;
add.s32 %r7, %r5, 6440;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r7], %r8; @p bra W_DONE; bra W_AGAIN; W_DONE: }
wgmma.fence.sync.aligned;
shl.b32 %r9, %r4, 11;
add.s32 %r10, %r9, %r6;
add.s32 %r11, %r10, 256;
and.b32 %r12, %r11, 261376;
shr.u32 %r13, %r12, 4;
cvt.u64.u32 %rd1, %r13;
or.b64 %rd2, %rd1, -4611685949707845632;
and.b32 %r14, %r6, 262128;
shr.u32 %r15, %r14, 4;
cvt.u64.u32 %rd3, %r15;
or.b64 %rd4, %rd3, -4611685949707845632;
{ .reg .pred p; setp.ne.b32 p, %r16, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd2, %rd4, p, 1, 1, 0, 0; }
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
@%p1 bra L1;
add.s32 %r17, %r5, 6416;
mbarrier.arrive.shared::cta.b64 _, [%r17];
L1:
add.s32 %r18, %r18, 1;
mov.u32 %r16, 1;
setp.lt.s32 %p2, %r18, %r19;
add.s32 %r20, %r4, 1;
setp.eq.s32 %p3, %r20, 3;
selp.b32 %r4, 0, %r20, %p3;
selp.u32 %r21, 1, 0, %p3;
xor.b32 %r8, %r8, %r21;
]]

v["umma_async, sm_90a: empty"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r1, %r3;
add.s32 %r5, %r4, 12608;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r7, %r2, 11;
add.s32 %r8, %r7, %r3;
add.s32 %r9, %r8, 6400;
cvt.u64.u32 %rd2, %r9;
add.s64 %rd3, %rd2, %rd4;
ld.shared.u32 %r10, [%rd3];
st.global.u32 [%rd5], %r10;
bar.warp.sync -1;
setp.ne.s32 %p1, %r11, 0;
@%p1 bra L1;
add.s32 %r12, %r4, 12632;
mbarrier.arrive.shared::cta.b64 _, [%r12];
L1:
add.s32 %r13, %r2, 1;
setp.eq.s32 %p2, %r13, 3;
add.s32 %r14, %r14, 1;
setp.lt.s32 %p3, %r14, %r15;
selp.u32 %r16, 1, 0, %p2;
xor.b32 %r6, %r6, %r16;
selp.b32 %r2, 0, %r13, %p2;
]]

v["umma_async, sm_90a: mma"] = [[
and.b32 %r1, %r2, 127;
setp.ne.s32 %p1, %r1, 0;
mov.u32 %r3, 0;
shl.b32 %r4, %r5, 3;
add.s32 %r6, %r4, %r7;
add.s32 %r8, %r6, 12632;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r8], %r9; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r10, %r11, 3;
add.s32 %r12, %r10, %r7;
add.s32 %r13, %r12, 12560;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r13], %r14; @p bra W_DONE; bra W_AGAIN; W_DONE: }
wgmma.fence.sync.aligned;
shl.b32 %r15, %r11, 11;
add.s32 %r16, %r15, %r7;
add.s32 %r17, %r16, 256;
and.b32 %r18, %r17, 261376;
shr.u32 %r19, %r18, 4;
cvt.u64.u32 %rd1, %r19;
or.b64 %rd2, %rd1, -4611685949707845632;
and.b32 %r20, %r7, 262128;
shr.u32 %r21, %r20, 4;
cvt.u64.u32 %rd3, %r21;
or.b64 %rd4, %rd3, -4611685949707845632;
{ .reg .pred p; setp.ne.b32 p, %r3, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd2, %rd4, p, 1, 1, 0, 0; }
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
@%p1 bra L1;
add.s32 %r22, %r12, 12584;
mbarrier.arrive.shared::cta.b64 _, [%r22];
L1:
shl.b32 %r23, %r5, 11;
add.s32 %r24, %r23, %r7;
add.s32 %r25, %r24, 6400;
shl.b32 %r26, %r27, 5;
add.s32 %r28, %r25, %r26;
mov.u32 %r29, 1;
shl.b32 %r30, %r27, 2;
and.b32 %r31, %r30, 16;
shl.b32 %r32, %r2, 3;
and.b32 %r33, %r32, 24;
xor.b32 %r34, %r31, %r33;
add.s32 %r35, %r28, %r34;
cvt.u64.u32 %rd5, %r35;
st.shared.v2.f32 [%rd5], {%f1, %f2};
add.s32 %r36, %r27, 8;
shl.b32 %r37, %r36, 5;
add.s32 %r38, %r25, %r37;
shl.b32 %r39, %r36, 2;
and.b32 %r40, %r39, 16;
xor.b32 %r41, %r40, %r33;
add.s32 %r42, %r38, %r41;
cvt.u64.u32 %rd6, %r42;
st.shared.v2.f32 [%rd6], {%f3, %f4};
mov.u32 %r43, 128;
bar.sync %r29, %r43;
@%p1 bra L2;
add.s32 %r44, %r6, 12608;
mbarrier.arrive.shared::cta.b64 _, [%r44];
L2:
add.s32 %r45, %r5, 1;
setp.eq.s32 %p2, %r45, 3;
add.s32 %r46, %r46, 1;
setp.lt.s32 %p3, %r46, %r47;
add.s32 %r48, %r11, 1;
setp.eq.s32 %p4, %r48, 3;
selp.b32 %r11, 0, %r48, %p4;
selp.b32 %r5, 0, %r45, %p2;
selp.u32 %r49, 1, 0, %p2;
xor.b32 %r9, %r9, %r49;
selp.u32 %r50, 1, 0, %p4;
xor.b32 %r14, %r14, %r50;
]]

v["umma_umma, sm_90a: first"] = [[
and.b32 %r1, %r2, 127;
setp.ne.s32 %p1, %r1, 0;
mov.u32 %r3, 0;
shl.b32 %r4, %r5, 3;
add.s32 %r6, %r4, %r7;
add.s32 %r8, %r6, 13160;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r8], %r9; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r10, %r11, 3;
add.s32 %r12, %r10, %r7;
add.s32 %r13, %r12, 13088;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r13], %r14; @p bra W_DONE; bra W_AGAIN; W_DONE: }
wgmma.fence.sync.aligned;
shl.b32 %r15, %r11, 11;
add.s32 %r16, %r15, %r7;
add.s32 %r17, %r16, 768;
and.b32 %r18, %r17, 261888;
shr.u32 %r19, %r18, 4;
cvt.u64.u32 %rd1, %r19;
or.b64 %rd2, %rd1, -4611685949707845632;
and.b32 %r20, %r7, 262128;
shr.u32 %r21, %r20, 4;
cvt.u64.u32 %rd3, %r21;
or.b64 %rd4, %rd3, -4611685949707845632;
{ .reg .pred p; setp.ne.b32 p, %r3, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, %rd2, %rd4, p, 1, 1, 0, 0; }
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
@%p1 bra L1;
add.s32 %r22, %r12, 13112;
mbarrier.arrive.shared::cta.b64 _, [%r22];
L1:
shl.b32 %r23, %r5, 11;
add.s32 %r24, %r25, %r23;
cvt.rn.bf16x2.f32 %r26, %f2, %f1;
cvt.rn.bf16x2.f32 %r27, %f4, %f3;
cvt.rn.bf16x2.f32 %r28, %f6, %f5;
cvt.rn.bf16x2.f32 %r29, %f8, %f7;
stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r24], {%r26,%r27,%r28,%r29};
fence.proxy.async.shared::cta;
mov.u32 %r30, 1;
mov.u32 %r31, 128;
bar.sync %r30, %r31;
@%p1 bra L2;
add.s32 %r32, %r6, 13136;
mbarrier.arrive.shared::cta.b64 _, [%r32];
L2:
add.s32 %r33, %r5, 1;
setp.eq.s32 %p2, %r33, 3;
add.s32 %r34, %r11, 1;
setp.eq.s32 %p3, %r34, 3;
add.s32 %r35, %r35, 1;
setp.lt.s32 %p4, %r35, %r36;
selp.b32 %r5, 0, %r33, %p2;
selp.u32 %r37, 1, 0, %p2;
xor.b32 %r9, %r9, %r37;
selp.b32 %r11, 0, %r34, %p3;
selp.u32 %r38, 1, 0, %p3;
xor.b32 %r14, %r14, %r38;
]]

v["umma_umma, sm_90a: mma"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r1, %r4;
add.s32 %r5, %r3, 13136;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
wgmma.fence.sync.aligned;
shl.b32 %r7, %r2, 11;
add.s32 %r8, %r7, %r4;
add.s32 %r9, %r8, 6912;
and.b32 %r10, %r9, 261888;
shr.u32 %r11, %r10, 4;
cvt.u64.u32 %rd1, %r11;
or.b64 %rd2, %rd1, -4611685949707845632;
{ .reg .pred p; setp.ne.b32 p, %r12, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd2, %rd3, p, 1, 1, 0, 0; }
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
setp.ne.s32 %p1, %r13, 0;
@%p1 bra L1;
add.s32 %r14, %r3, 13160;
mbarrier.arrive.shared::cta.b64 _, [%r14];
L1:
add.s32 %r15, %r2, 1;
mov.u32 %r12, 1;
setp.eq.s32 %p2, %r15, 3;
add.s32 %r16, %r16, 1;
setp.lt.s32 %p3, %r16, %r17;
selp.u32 %r18, 1, 0, %p2;
xor.b32 %r6, %r6, %r18;
selp.b32 %r2, 0, %r15, %p2;
]]

v["clc_fetch_async, sm_90a: fetch"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r3, 72;
add.s32 %r5, %r1, %r4;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r3, 48;
add.s32 %r8, %r1, %r7;
mov.u32 %r9, 16;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], %r9;
add.s32 %r10, %r2, 1;
setp.eq.s32 %p1, %r10, 3;
selp.b32 %r11, 0, %r10, %p1;
selp.u32 %r12, 1, 0, %p1;
xor.b32 %r6, %r6, %r12;
shl.b32 %r13, %r2, 4;
add.s32 %r14, %r13, %r3;
atom.global.add.u32 %r15, [%rd2], 1;
add.s32 %r16, %r15, %r17;
st.shared::cta.v4.u32 [%r14], {%r16, %r16, %r16, %r16}; fence.acq_rel.cta; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r8], 16;
shl.b32 %r18, %r19, 3;
add.s32 %r20, %r18, %r7;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r20], %r21; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r22, %r19, 1;
setp.eq.s32 %p2, %r22, 3;
selp.b32 %r23, 0, %r22, %p2;
selp.u32 %r24, 1, 0, %p2;
xor.b32 %r21, %r21, %r24;
shl.b32 %r25, %r19, 4;
add.s32 %r26, %r25, %r3;
cvt.u64.u32 %rd3, %r26;
ld.shared.u32 %r27, [%rd3];
add.s32 %r28, %r18, %r4;
mbarrier.arrive.shared::cta.b64 _, [%r28];
setp.lt.s32 %p3, %r27, %r29;
mov.u32 %r19, %r23;
mov.u32 %r2, %r11;
]]

v["clc_fetch_async, sm_90a: use"] = [[
and.b32 %r1, %r2, 31;
setp.ne.s32 %p1, %r1, 0;
mul.wide.s32 %rd1, %r3, 4;
add.s64 %rd2, %rd3, %rd1;
add.s32 %r4, %r2, -128;
st.global.u32 [%rd2], %r4;
shl.b32 %r5, %r6, 3;
cvt.u32.u64 %r7, %rd4;
add.s32 %r8, %r5, %r7;
add.s32 %r9, %r8, 48;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r9], %r10; @p bra W_DONE; bra W_AGAIN; W_DONE: }
shl.b32 %r11, %r6, 4;
add.s32 %r12, %r11, %r7;
cvt.u64.u32 %rd5, %r12;
ld.shared.u32 %r3, [%rd5];
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r13, %r8, 72;
mbarrier.arrive.shared::cta.b64 _, [%r13];
L1:
setp.lt.s32 %p2, %r3, %r14;
add.s32 %r15, %r6, 1;
setp.eq.s32 %p3, %r15, 3;
selp.b32 %r6, 0, %r15, %p3;
selp.u32 %r16, 1, 0, %p3;
xor.b32 %r10, %r10, %r16;
]]

v["tma_umma, sm_100a: load"] = [[
shl.b32 %r1, %r2, 3;
cvt.u32.u64 %r3, %rd1;
add.s32 %r4, %r3, %r1;
add.s32 %r5, %r4, 6440;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r4, 6416;
mov.b32 %r8, 2048;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
add.s32 %r9, %r2, 1;
setp.eq.s32 %p1, %r9, 3;
selp.b32 %r10, 0, %r9, %p1;
selp.u32 %r11, 1, 0, %p1;
xor.b32 %r6, %r6, %r11;
shl.b32 %r12, %r2, 11;
add.s32 %r13, %r3, %r12;
add.s32 %r14, %r13, 256;
mov.b32 %r15, 0;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r16,%r15}], [%r7];
add.s32 %r17, %r17, 1;
setp.eq.s32 %p2, %r17, 0;
add.s32 %r16, %r16, 16;
mov.u32 %r2, %r10;
@%p2 bra L1;
]]

v["tma_umma, sm_100a: mma"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r4, %r1;
add.s32 %r5, %r3, 6416;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
tcgen05.fence::after_thread_sync;
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r8, 0, %r7, %p1;
selp.u32 %r9, 1, 0, %p1;
xor.b32 %r6, %r6, %r9;
shl.b32 %r10, %r2, 11;
add.s32 %r11, %r4, %r10;
add.s32 %r12, %r11, 256;
shr.u32 %r13, %r12, 4;
and.b32 %r14, %r13, 16336;
cvt.u64.u32 %rd1, %r14;
or.b64 %rd2, %rd1, -4611615580963667968;
mov.b32 %r15, 67241104;
{ .reg .pred p; setp.ne.b32 p, %r16, 0; tcgen05.mma.cta_group::1.kind::f16 [%r17], %rd2, %rd3, %r15, p; }
add.s32 %r18, %r3, 6440;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r18];
add.s32 %r19, %r19, 1;
setp.ne.s32 %p2, %r19, 0;
mov.b32 %r16, 1;
mov.u32 %r2, %r8;
]]

v["async_umma, sm_100a: fill"] = [[
setp.ne.s32 %p1, %r1, 0;
shl.b32 %r2, %r3, 3;
add.s32 %r4, %r5, %r2;
add.s32 %r6, %r4, 6416;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r6], %r7; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r8, %r3, 1;
shl.b32 %r9, %r3, 11;
add.s32 %r10, %r5, %r9;
add.s32 %r11, %r10, 256;
cvt.u64.u32 %rd1, %r11;
add.s64 %rd2, %rd1, %rd3;
st.shared.u32 [%rd2], %r12;
fence.proxy.async.shared::cta;
bar.warp.sync -1;
@%p1 bra L1;
add.s32 %r13, %r4, 6456;
mbarrier.arrive.shared::cta.b64 _, [%r13];
L1:
setp.eq.s32 %p2, %r8, 3;
add.s32 %r12, %r12, 1;
add.s32 %r14, %r14, 1;
setp.eq.s32 %p3, %r14, 0;
selp.u32 %r15, 1, 0, %p2;
xor.b32 %r7, %r7, %r15;
selp.b32 %r3, 0, %r8, %p2;
@%p3 bra L2;
]]

v["async_umma, sm_100a: mma"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r4, %r1;
add.s32 %r5, %r3, 6456;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
tcgen05.fence::after_thread_sync;
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r8, 0, %r7, %p1;
selp.u32 %r9, 1, 0, %p1;
xor.b32 %r6, %r6, %r9;
shl.b32 %r10, %r2, 11;
add.s32 %r11, %r4, %r10;
add.s32 %r12, %r11, 256;
shr.u32 %r13, %r12, 4;
and.b32 %r14, %r13, 16336;
cvt.u64.u32 %rd1, %r14;
or.b64 %rd2, %rd1, -4611615580963667968;
mov.b32 %r15, 67241104;
{ .reg .pred p; setp.ne.b32 p, %r16, 0; tcgen05.mma.cta_group::1.kind::f16 [%r17], %rd2, %rd3, %r15, p; }
add.s32 %r18, %r3, 6416;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r18];
add.s32 %r19, %r19, 1;
setp.ne.s32 %p2, %r19, 0;
mov.b32 %r16, 1;
mov.u32 %r2, %r8;
]]

v["umma_async, sm_100a: empty"] = [[
setp.gt.u32 %p1, %r1, 15;
shl.b32 %r2, %r3, 3;
cvt.u32.u64 %r4, %rd1;
add.s32 %r5, %r4, %r2;
add.s32 %r6, %r5, 6464;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r6], %r7; @p bra W_DONE; bra W_AGAIN; W_DONE: }
tcgen05.fence::after_thread_sync;
add.s32 %r8, %r3, 1;
add.s32 %r9, %r10, %r2;
tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r11,%r12,%r13,%r14,%r15,%r16,%r17,%r18}, [%r9];
tcgen05.wait::ld.sync.aligned;
@%p1 bra L1;
setp.lt.u32 %p2, %r19, 64;
add.s32 %r20, %r21, -3;
cvt.u64.u32 %rd2, %r20;
add.s64 %rd3, %rd4, %rd2;
shl.b64 %rd5, %rd3, 2;
add.s64 %rd6, %rd7, %rd5;
add.s64 %rd8, %rd9, %rd5;
setp.lt.s32 %p3, %r21, %r22;
and.pred %p4, %p2, %p3;
not.pred %p5, %p4;
and.b64 %rd10, %rd8, 15;
setp.ne.s64 %p6, %rd10, 0;
or.pred %p7, %p5, %p6;
@%p7 bra L2;
st.global.v4.u32 [%rd6], {%r11, %r12, %r13, %r14};
bra.uni L3;
L2:
setp.gt.u32 %p8, %r19, 63;
setp.ge.s32 %p9, %r20, %r22;
or.pred %p10, %p8, %p9;
@%p10 bra L4;
st.global.u32 [%rd6], %r11;
L4:
setp.gt.u32 %p11, %r19, 63;
add.s32 %r23, %r21, -2;
setp.ge.s32 %p12, %r23, %r22;
or.pred %p13, %p11, %p12;
@%p13 bra L5;
st.global.u32 [%rd6+4], %r12;
L5:
setp.gt.u32 %p14, %r19, 63;
add.s32 %r24, %r21, -1;
setp.ge.s32 %p15, %r24, %r22;
or.pred %p16, %p14, %p15;
@%p16 bra L6;
st.global.u32 [%rd6+8], %r13;
L6:
@%p5 bra L3;
st.global.u32 [%rd6+12], %r14;
L3:
setp.lt.u32 %p17, %r19, 64;
add.s64 %rd11, %rd8, 16;
add.s32 %r25, %r21, 4;
setp.lt.s32 %p18, %r25, %r22;
and.pred %p19, %p17, %p18;
and.b64 %rd12, %rd11, 15;
setp.eq.s64 %p20, %rd12, 0;
and.pred %p21, %p19, %p20;
@%p21 bra L7;
setp.gt.u32 %p22, %r19, 63;
add.s32 %r26, %r21, 1;
setp.ge.s32 %p23, %r26, %r22;
or.pred %p24, %p22, %p23;
@%p24 bra L8;
st.global.u32 [%rd6+16], %r15;
L8:
setp.gt.u32 %p25, %r19, 63;
add.s32 %r27, %r21, 2;
setp.ge.s32 %p26, %r27, %r22;
or.pred %p27, %p25, %p26;
@%p27 bra L9;
st.global.u32 [%rd6+20], %r16;
L9:
setp.gt.u32 %p28, %r19, 63;
add.s32 %r28, %r21, 3;
setp.ge.s32 %p29, %r28, %r22;
or.pred %p30, %p28, %p29;
@%p30 bra L10;
st.global.u32 [%rd6+24], %r17;
L10:
not.pred %p31, %p19;
@%p31 bra L1;
st.global.u32 [%rd6+28], %r18;
bra.uni L1;
L7:
st.global.v4.u32 [%rd6+16], {%r15, %r16, %r17, %r18};
L1:
setp.ne.s32 %p32, %r1, 0;
tcgen05.fence::before_thread_sync;
bar.warp.sync -1;
@%p32 bra L11;
add.s32 %r29, %r5, 6496;
mbarrier.arrive.shared::cta.b64 _, [%r29];
L11:
setp.eq.s32 %p33, %r8, 3;
add.s32 %r30, %r30, 1;
setp.eq.s32 %p34, %r30, 0;
add.s32 %r21, %r21, 8;
selp.u32 %r31, 1, 0, %p33;
xor.b32 %r7, %r7, %r31;
selp.b32 %r3, 0, %r8, %p33;
@%p34 bra L12;
]]

v["umma_async, sm_100a: mma"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r4, %r1;
add.s32 %r5, %r3, 6496;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r2, 0, %r7, %p1;
selp.u32 %r8, 1, 0, %p1;
xor.b32 %r6, %r6, %r8;
shl.b32 %r9, %r10, 3;
add.s32 %r11, %r4, %r9;
add.s32 %r12, %r11, 6416;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r12], %r13; @p bra W_DONE; bra W_AGAIN; W_DONE: }
tcgen05.fence::after_thread_sync;
add.s32 %r14, %r10, 1;
setp.eq.s32 %p2, %r14, 3;
selp.b32 %r15, 0, %r14, %p2;
selp.u32 %r16, 1, 0, %p2;
xor.b32 %r13, %r13, %r16;
shl.b32 %r17, %r10, 11;
add.s32 %r18, %r4, %r17;
add.s32 %r19, %r18, 256;
shr.u32 %r20, %r19, 4;
and.b32 %r21, %r20, 16336;
cvt.u64.u32 %rd1, %r21;
or.b64 %rd2, %rd1, -4611615580963667968;
add.s32 %r22, %r1, %r23;
mov.b32 %r24, 67241104;
mov.b32 %r25, 0;
{ .reg .pred p; setp.ne.b32 p, %r25, 0; tcgen05.mma.cta_group::1.kind::f16 [%r22], %rd2, %rd3, %r24, p; }
add.s32 %r26, %r11, 6440;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r26];
add.s32 %r27, %r3, 6464;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r27];
add.s32 %r28, %r28, 1;
setp.ne.s32 %p3, %r28, 0;
mov.u32 %r10, %r15;
]]

v["umma_umma, sm_100a: first"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r4, %r1;
add.s32 %r5, %r3, 13928;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r8, 0, %r7, %p1;
selp.u32 %r9, 1, 0, %p1;
xor.b32 %r6, %r6, %r9;
shl.b32 %r10, %r11, 3;
add.s32 %r12, %r4, %r10;
add.s32 %r13, %r12, 13856;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r13], %r14; @p bra W_DONE; bra W_AGAIN; W_DONE: }
tcgen05.fence::after_thread_sync;
add.s32 %r15, %r11, 1;
setp.eq.s32 %p2, %r15, 3;
selp.b32 %r16, 0, %r15, %p2;
selp.u32 %r17, 1, 0, %p2;
xor.b32 %r14, %r14, %r17;
shl.b32 %r18, %r11, 12;
add.s32 %r19, %r4, %r18;
add.s32 %r20, %r19, 1536;
shr.u32 %r21, %r20, 4;
and.b32 %r22, %r21, 16352;
cvt.u64.u32 %rd1, %r22;
or.b64 %rd2, %rd1, -4611615580963667968;
shl.b32 %r23, %r2, 4;
add.s32 %r24, %r23, %r25;
mov.b32 %r26, 134481040;
mov.b32 %r27, 0;
{ .reg .pred p; setp.ne.b32 p, %r27, 0; tcgen05.mma.cta_group::1.kind::f16 [%r24], %rd2, %rd3, %r26, p; }
add.s32 %r28, %r12, 13880;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r28];
add.s32 %r29, %r3, 13904;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r29];
add.s32 %r30, %r30, 1;
setp.ne.s32 %p3, %r30, 0;
mov.u32 %r11, %r16;
mov.u32 %r2, %r8;
]]

v["umma_umma, sm_100a: mma"] = [[
shl.b32 %r1, %r2, 3;
add.s32 %r3, %r4, %r1;
add.s32 %r5, %r3, 13904;
{ .reg .pred p; W_AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], %r6; @p bra W_DONE; bra W_AGAIN; W_DONE: }
tcgen05.fence::after_thread_sync;
add.s32 %r7, %r2, 1;
setp.eq.s32 %p1, %r7, 3;
selp.b32 %r8, 0, %r7, %p1;
selp.u32 %r9, 1, 0, %p1;
xor.b32 %r6, %r6, %r9;
shl.b32 %r10, %r2, 4;
add.s32 %r11, %r10, %r12;
mov.b32 %r13, 134482192;
{ .reg .pred p; setp.ne.b32 p, %r14, 0; tcgen05.mma.cta_group::1.kind::tf32 [%r15], [%r11], %rd1, %r13, p; }
add.s32 %r16, %r11, 8;
mov.b32 %r14, 1;
{ .reg .pred p; setp.ne.b32 p, %r14, 0; tcgen05.mma.cta_group::1.kind::tf32 [%r15], [%r16], %rd2, %r13, p; }
add.s32 %r17, %r3, 13928;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r17];
add.s32 %r18, %r18, 1;
setp.ne.s32 %p2, %r18, 0;
mov.u32 %r2, %r8;
]]

return v
