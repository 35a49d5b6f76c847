/* The kernels of sim_test.c. Each is one text; BREAK selects what is wrong with it, 0 nothing. */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H

#define SOURCE(...) #__VA_ARGS__

static const char copy_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) copy(float *y, const float *x, i32 n) {
        i32 i = (i32)(w_block() * 128 + w_tid());
        if (i < n) y[i] = x[i];
    }
);

static const char past_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) past(float *y, const float *x, i32 n) {
        i32 i = (i32)(w_block() * 128 + w_tid());
        if (i <= n) y[i] = x[i];
    }
);

static const char wrong_source[] = SOURCE(
    extern "C" __global__ void wrong(float *y) { y[0] = nothing; }
);

static const char asm_source[] = SOURCE(
    extern "C" __global__ void assembly(u32 *y) { asm volatile("mov.u32 %0, 1;" : "=r"(y[0])); }
);

static const char warp_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) warps(float *y, u32 *z) {
        float v = (float)w_tid();
        for (u32 m = 16; m; m /= 2) v += w_shfl_xor(v, m);
        y[w_tid()] = v;
        u32 e = w_elect();
        if (e) atomicAdd(z, 1);
        z[1 + w_tid()] = __shfl_up_sync(0xffffffff, w_tid(), 1) + 1000 * __ballot_sync(0xffffffff, w_lane() == 3);
        *(u32 *)w_ptr(w_smem_base() + 4 * w_tid()) = w_tid();
        w_sync_cta();
        z[200 + w_tid()] = *(u32 *)w_ptr(w_smem_base() + 4 * (127 - w_tid()));
    }
);

static const char diverged_source[] = SOURCE(
    extern "C" __global__ void diverged(u32 *z) {
        if (w_lane() < 7) w_elect();
        else w_sync_warp();
    }
);

static const char named_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) named(u32 *z, i32 threads) {
        u32 a = w_smem_base() + 4 * w_tid();
        if (w_warp() < 2) {
            *(u32 *)w_ptr(a) = w_tid();
            w_bar_arrive(3, 128);
        } else {
            w_bar_sync(3, threads);
            z[w_tid()] = *(u32 *)w_ptr(a - 256);
        }
    }
);

static const char pool_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(256, 1) pool(u32 *z) {
        if (w_warp() < 4) w_reg_dec<40>();
        else w_reg_inc<232>();
        z[w_tid()] = 1;
    }
);

/* 1 producer warp, 1 consumer warp, 2 stages of 32 x 64 bytes; BREAK selects the mutation. */
#define RING(BREAK)                                                                                                      \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(64, 1) ring(const __grid_constant__ w_tmap x_map, u32 *y, i32 n) {      \
        const u32 x_smem = w_smem_base(); const u32 full = x_smem + 4096; const u32 empty = full + 16;                   \
        if (w_tid() == 0) {                                                                                              \
            for (u32 s = 0; s < 2; s++) { w_mbar_init(full + 8 * s, 1); w_mbar_init(empty + 8 * s, BREAK == 7 ? 2 : 1); } \
            w_fence_mbar_init();                                                                                         \
        }                                                                                                                \
        W_AT(1); w_sync_cta();                                                                                           \
        if (w_warp() == 0) {                                                                                             \
            if (w_lane() == 0) {                                                                                         \
                u32 s = 0; u32 ph = 1;                                                                                   \
                for (i32 i = 0; i < n; i++) {                                                                            \
                    W_AT(2); if (BREAK != 5) w_mbar_wait(empty + 8 * s, ph);                                             \
                    W_AT(3); w_mbar_expect(full + 8 * s, BREAK == 1 ? 2048 + 64 : BREAK == 2 ? 2048 - 64 : 2048);        \
                    W_AT(4); w_tma_load(x_smem + 2048 * s, &x_map, full + 8 * s, 0, 32 * i);                             \
                    if (++s == 2) { s = 0; ph ^= 1; }                                                                    \
                }                                                                                                        \
            }                                                                                                            \
        } else {                                                                                                         \
            u32 s = 0; u32 ph = 0;                                                                                       \
            for (i32 i = 0; i < n; i++) {                                                                                \
                W_AT(5); if (BREAK != 3) w_mbar_wait(full + 8 * s, ph);                                                  \
                W_AT(6);                                                                                                 \
                for (u32 j = w_lane(); j < 512; j += 32) y[512 * i + j] = *(u32 *)w_ptr(x_smem + 2048 * s + 4 * j);      \
                if (BREAK != 8) w_fence_async();                                                                         \
                W_AT(7); w_sync_warp();                                                                                  \
                if (BREAK == 6 && i == 1) continue;                                                                      \
                W_AT(8); if (w_lane() == 0 && BREAK != 4) w_mbar_arrive(empty + 8 * s);                                  \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
        }                                                                                                                \
    })

#define GEMM(BREAK)                                                                                                      \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(384, 1) gemm(const __grid_constant__ w_tmap A_map,                      \
            const __grid_constant__ w_tmap B_map, const __grid_constant__ w_tmap D_map, i32 N, i32 K) {                  \
        const u32 sA = w_smem_base(); const u32 sB = sA + 32768; const u32 sC = sB + 65536; const u32 full = sC + 32768; \
        const u32 empty = full + 16; const u32 tid = w_tid(); const u32 warp = w_warp();                                 \
        if (tid == 0) {                                                                                                  \
            for (u32 s = 0; s < 2; s++) { w_mbar_init(full + 8 * s, 1); w_mbar_init(empty + 8 * s, 2); }                 \
            w_fence_mbar_init();                                                                                         \
        }                                                                                                                \
        w_sync_cta();                                                                                                    \
        const i32 nn = w_ceil_div(N, 256); const i32 tm = (i32)w_block() / nn; const i32 tn = (i32)w_block() % nn;       \
        const i32 kt = w_ceil_div(K, 64);                                                                                \
        if (warp < 4) {                                                                                                  \
            w_reg_dec<40>();                                                                                             \
            if (tid == 0) {                                                                                              \
                u32 s = 0; u32 ph = 1;                                                                                   \
                for (i32 k = 0; k < kt; k++) {                                                                           \
                    w_mbar_wait(empty + 8 * s, ph);                                                                      \
                    w_mbar_expect(full + 8 * s, 49152);                                                                  \
                    w_tma_load(sA + 16384 * s, &A_map, full + 8 * s, 64 * k, 128 * tm);                                  \
                    w_tma_load(sB + 32768 * s, &B_map, full + 8 * s, 64 * k, 256 * tn);                                  \
                    if (++s == 2) { s = 0; ph ^= 1; }                                                                    \
                }                                                                                                        \
            }                                                                                                            \
        } else {                                                                                                         \
            w_reg_inc<232>();                                                                                            \
            const u32 wg = warp / 4 - 1; const u32 t = tid % 128;                                                        \
            float acc[128]; u32 s = 0; u32 ph = 0; u32 before = 0;                                                       \
            for (i32 k = 0; k < kt; k++) {                                                                               \
                w_mbar_wait(full + 8 * s, ph);                                                                           \
                if (BREAK != 6) w_wgmma_fence();                                                                         \
                for (u32 j = 0; j < 4; j++)                                                                              \
                    w_wgmma_ss<256, W_BF16, 0, 0>(acc, w_desc(sA + 16384 * s + 8192 * wg + 32 * j, 16, 1024, 1),         \
                        w_desc(sB + 32768 * s + 32 * j, 16, 1024, 1), BREAK == 7 ? 1 : (k | (i32)j) != 0);               \
                w_wgmma_commit();                                                                                        \
                w_wgmma_wait<1>();                                                                                       \
                if (BREAK == 4) { if (t == 0) w_mbar_arrive(empty + 8 * s); }                                            \
                else if (k > 0 && t == 0) w_mbar_arrive(empty + 8 * before);                                             \
                before = s;                                                                                              \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
            if (BREAK != 3) w_wgmma_wait<0>();                                                                           \
            for (u32 c = 0; c < 4; c++) {                                                                                \
                const u32 buf = sC + 16384 * wg + 8192 * (c & 1);                                                        \
                if (BREAK != 2 && t == 0) w_bulk_wait_read<1>();                                                         \
                w_bar_sync(wg + 1, 128);                                                                                 \
                for (u32 q = 0; q < 4; q++) {                                                                            \
                    u32 at = buf + (16 * (t / 32) + t % 16) * 128 + 32 * q + 16 * (t % 32 / 16);                         \
                    const float *v = acc + 32 * c + 8 * q;                                                               \
                    w_stmatrix4(at ^ (at >> 3 & 0x70), w_pack_bf16(v[0], v[1]), w_pack_bf16(v[2], v[3]),                 \
                        w_pack_bf16(v[4], v[5]), w_pack_bf16(v[6], v[7]));                                               \
                }                                                                                                        \
                if (BREAK != 1 || t == 0) w_fence_async();                                                               \
                w_bar_sync(wg + 1, 128);                                                                                 \
                if (t == 0) {                                                                                            \
                    w_tma_store(&D_map, buf, 256 * tn + 64 * (i32)c, 128 * tm + 64 * (i32)wg);                           \
                    w_bulk_commit();                                                                                     \
                }                                                                                                        \
            }                                                                                                            \
            if (BREAK != 5 && t == 0) w_bulk_wait<0>();                                                                  \
        }                                                                                                                \
    })

/* One warpgroup: D (64 x N, f32) = A B^T over one slab of 128 bytes of K. Operands come by TMA as panels of SPAN bytes (16: no
 * swizzle); TA, TB 1: the tensor lies [k][m], [k][n]. RS: A comes from registers. */
static const char mm_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(128, 1) mm(const __grid_constant__ w_tmap A_map,
            const __grid_constant__ w_tmap B_map, const ELEMENT *A, float *D) {
        const u32 sA = w_smem_base(); const u32 sB = sA + 32768; const u32 full = sB + 65536; const u32 tid = w_tid();
        const u32 KT = 128 / sizeof(ELEMENT);
        const u32 pa = 64 * 128 / (SPAN * (TA ? 64 * sizeof(ELEMENT) / SPAN : 128 / SPAN));
        const u32 pb = N * 128 / (SPAN * (TB ? N * sizeof(ELEMENT) / SPAN : 128 / SPAN));
        const u32 bytes_a = 64 * 128; const u32 bytes_b = N * 128;
        if (tid == 0) { w_mbar_init(full, 1); w_fence_mbar_init(); }
        w_sync_cta();
        if (tid == 0) {
            w_mbar_expect(full, (RS ? 0 : bytes_a) + bytes_b);
            for (u32 p = 0; !RS && p * pa * SPAN < bytes_a; p++)
                w_tma_load(sA + p * pa * SPAN, &A_map, full, (i32)(p * SPAN / sizeof(ELEMENT)), 0);
            for (u32 p = 0; p * pb * SPAN < bytes_b; p++)
                w_tma_load(sB + p * pb * SPAN, &B_map, full, (i32)(p * SPAN / sizeof(ELEMENT)), 0);
        }
        w_mbar_wait(full, 0);
        w_wgmma_fence();
        float d[N / 2];
        const u32 w = tid / 32; const u32 g = tid % 32 / 4; const u32 q = tid % 4;
        const u32 layout = SPAN == 128 ? 1 : SPAN == 64 ? 2 : SPAN == 32 ? 3 : 0;
        for (u32 j = 0; j < 4; j++) {
            const u32 k_a = TA ? (SPAN == 16 ? 256 * j : 16 * SPAN * j)
                            : SPAN == 16 ? 2 * j * pa * SPAN : 32 * j / SPAN * (pa * SPAN) + 32 * j % SPAN;
            const u32 k_b = TB ? (SPAN == 16 ? 256 * j : 16 * SPAN * j)
                            : SPAN == 16 ? 2 * j * pb * SPAN : 32 * j / SPAN * (pb * SPAN) + 32 * j % SPAN;
            const u64 b = SPAN > 16 ? w_desc(sB + k_b, pb * SPAN, 8 * SPAN, layout)
                          : TB ? w_desc(sB + k_b, 128, pb * SPAN, 0) : w_desc(sB + k_b, pb * SPAN, 128, 0);
            const u64 a = SPAN > 16 ? w_desc(sA + k_a, pa * SPAN, 8 * SPAN, layout)
                          : TA ? w_desc(sA + k_a, 128, pa * SPAN, 0) : w_desc(sA + k_a, pa * SPAN, 128, 0);
            if constexpr (RS) {
                u32 r[4];
                const u32 per = 4 / sizeof(ELEMENT);
                for (u32 i = 0; i < 4; i++)
                    memcpy(&r[i], A + (16 * w + g + 8 * (i & 1)) * KT + KT / 4 * j + per * q + (i >> 1) * KT / 8, 4);
                w_wgmma_rs<N, TYPE, TB>(d, r, b, j > 0);
            } else
                w_wgmma_ss<N, TYPE, TA, TB>(d, a, b, j > 0);
        }
        w_wgmma_commit();
        w_wgmma_wait<0>();
        for (u32 i = 0; i < N / 2; i++) D[(16 * w + g + 8 * (i >> 1 & 1)) * N + 8 * (i >> 2) + 2 * q + (i & 1)] = d[i];
    }
);

/* 2 CTAs; each loads its half of a 32 x 64-byte tile for both, 6 rounds over 2 stages; every consumer warp frees the stage in
 * both. Then CTA 0 pushes 512 bytes to CTA 1. */
#define CLUSTER(BREAK)                                                                                                   \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(64, 1) pair(const __grid_constant__ w_tmap x_map, u32 *y, i32 n) {      \
        const u32 x = w_smem_base(); const u32 full = x + 4096; const u32 empty = full + 16; const u32 pushed = full + 32; \
        const u32 rank = w_cluster_rank();                                                                               \
        if (w_tid() == 0) {                                                                                              \
            for (u32 s = 0; s < 2; s++) { w_mbar_init(full + 8 * s, 1); w_mbar_init(empty + 8 * s, BREAK == 2 ? 1 : 2); } \
            w_mbar_init(pushed, 1);                                                                                      \
            if (BREAK != 4) w_fence_mbar_init();                                                                         \
        }                                                                                                                \
        if (BREAK != 5) { w_cluster_arrive_relaxed(); w_cluster_wait(); }                                                \
        else w_sync_cta();                                                                                               \
        if (w_warp() == 0) {                                                                                             \
            u32 s = 0; u32 ph = 1;                                                                                       \
            for (i32 i = 0; i < n && w_lane() == 0; i++) {                                                               \
                w_mbar_wait(empty + 8 * s, ph);                                                                          \
                w_mbar_expect(full + 8 * s, 2048);                                                                       \
                const u16 mask = BREAK == 1 ? 2 >> rank : 3;                                                             \
                w_tma_load_multicast(x + 2048 * s + 1024 * rank, &x_map, full + 8 * s, mask, 0, 32 * i + 16 * (i32)rank); \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
            w_sync_warp();                                                                                               \
        } else {                                                                                                         \
            u32 s = 0; u32 ph = 0;                                                                                       \
            for (i32 i = 0; i < n; i++) {                                                                                \
                w_mbar_wait(full + 8 * s, ph);                                                                           \
                for (u32 j = w_lane(); j < 512; j += 32) y[(rank * n + i) * 512 + j] = *(u32 *)w_ptr(x + 2048 * s + 4 * j); \
                if (BREAK != 7 || rank == 0) w_fence_async();                                                            \
                w_sync_warp();                                                                                           \
                if (w_lane() < 2) w_mbar_arrive_remote(empty + 8 * s, w_lane());                                         \
                if (++s == 2) { s = 0; ph ^= 1; }                                                                        \
            }                                                                                                            \
        }                                                                                                                \
        if (BREAK == 3) return;                                                                                          \
        w_cluster_arrive(); w_cluster_wait();                                                                            \
        if (rank == 0 && w_tid() == 0) {                                                                                 \
            w_mbar_expect_remote(pushed, 1, 512);                                                                        \
            w_bulk_push(x, x + 512, 512, pushed, 1);                                                                     \
        }                                                                                                                \
        if (rank == 1) {                                                                                                 \
            w_mbar_wait(pushed, 0);                                                                                      \
            for (u32 j = w_tid(); j < 128; j += 64) y[2 * n * 512 + j] = *(u32 *)w_ptr(x + 4 * j);                       \
        }                                                                                                                \
        if (BREAK != 6) { w_cluster_arrive(); w_cluster_wait(); }                                                        \
    })

/* 32 threads copy 2 KiB by cp.async (the last 3 floats do not exist), then TMA adds it to y. */
#define CP(BREAK)                                                                                                        \
    "enum { BREAK = " #BREAK " };" SOURCE(                                                                               \
    extern "C" __global__ void __launch_bounds__(64, 1) cp(const __grid_constant__ w_tmap y_map, const float *x, i32 n) { \
        const u32 s = w_smem_base(); const u32 bar = s + 2048; const u32 lane = w_lane();                                \
        if (w_tid() == 0) { w_mbar_init(bar, 32); w_fence_mbar_init(); }                                                 \
        w_sync_cta();                                                                                                    \
        if (w_warp() == 0) {                                                                                             \
            for (u32 i = lane; i < 128; i += 32) {                                                                       \
                i32 left = n - 4 * (i32)i; left = left < 0 ? 0 : left > 4 ? 4 : left;                                    \
                w_cp_async<16>(s + 16 * i, x + (left ? 4 * i : 0), 4 * left);                                            \
                if (i / 32 == 1) w_cp_commit();                                                                          \
            }                                                                                                            \
            if (BREAK == 3) { w_cp_commit(); w_cp_wait<1>(); w_mbar_arrive(bar); w_mbar_wait(bar, 0); w_cp_wait<0>(); }  \
            else if (BREAK == 4) { w_cp_commit(); w_cp_wait<0>(); w_mbar_arrive(bar); }                                  \
            else w_mbar_cp_async_arrive(bar);                                                                            \
            if (BREAK != 3 && BREAK != 4) w_mbar_wait(bar, 0);                                                           \
        } else {                                                                                                         \
            if (BREAK != 2) w_mbar_wait(bar, 0);                                                                         \
            float v = 0;                                                                                                 \
            for (u32 i = lane; i < 512; i += 32) v += *(float *)w_ptr(s + 4 * i);                                        \
            if (BREAK != 1) w_fence_async();                                                                             \
            w_sync_warp();                                                                                               \
            if (lane == 0 && v < 1e30f) {                                                                                \
                w_tma_reduce_add(&y_map, s, 0, (i32)w_block() / 2);                                                      \
                w_bulk_commit();                                                                                         \
                w_bulk_wait<0>();                                                                                        \
            }                                                                                                            \
        }                                                                                                                \
    })

static const char poll_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(64, 1) poll(u32 *z, i32 arrive) {
        const u32 bar = w_smem_base();
        if (w_tid() == 0) { w_mbar_init(bar, 1); w_fence_mbar_init(); }
        w_sync_cta();
        if (w_warp() == 0) { while (!w_mbar_try(bar, 0)) {} z[w_lane()] = 1; }
        else if (arrive && w_lane() == 0) w_mbar_arrive(bar);
    }
);

static const char spin_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(32, 1) spin(u32 *z, i32 n) {
        if (w_block() == 0) { while (*(volatile u32 *)z != 7) {} z[1] = 1; }
        else if (n) *(volatile u32 *)z = 7;
    }
);

static const char map_source[] = SOURCE(
    extern "C" __global__ void __launch_bounds__(32, 1) maps(const __grid_constant__ w_tmap x_map, i32 what) {
        const u32 s = w_smem_base(); const u32 bar = s + 4096;
        if (w_tid() == 0) {
            w_mbar_init(bar, 1);
            w_fence_mbar_init();
            w_mbar_expect(bar, 2048);
            if (what == 0) w_tma_load(s, &x_map, bar, 0);
            if (what == 1) w_tma_load(s + 64, &x_map, bar, 0, 0);
            if (what == 2) w_tma_load(s + 3072, &x_map, bar, 0, 0);
            if (what == 3) w_tma_store(&x_map, s, -4, 0);
            if (what == 4) *(u32 *)w_ptr(bar) = 0;
            if (what == 5) w_mbar_arrive(bar);
            if (what == 6) w_mbar_wait(bar + 8, 0);
            if (what == 7) w_tma_store(&x_map, s, 0, 0);
            if (what == 8) w_sim_trap("a trap");
            if (what == 9) w_tma_load(s, &x_map, bar, -4, 20);
            if (what == 9) {
                w_mbar_wait(bar, 0);
                for (u32 i = 0; i < 512; i++)
                    if (*(u32 *)w_ptr(s + 4 * i) != (i % 16 < 4 || i >= 192 ? 0 : 7)) __trap();
            }
        }
    }
);

#endif
