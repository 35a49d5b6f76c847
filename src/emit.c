/* CUDA source from the plan, in the author's names. Every address, count and byte number is read from the plan; the emitter only
 * knows how things are spelled. Here is the kernel around its tasks: parameters, set-up, a role for each task, the way out. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

#include "plan_tc.h"

/* ---- a task -------------------------------------------------------------------------------------------------------------- */

/* Opens the blocks that only the task's CTAs and its threads come into; returns how many. */
static int open_role(emitter *e, const weiri_ptask *t) {
    static const char axes[] = "vmnk";
    const weiri_task *task = t->task;
    const char *here = "";
    int blocks = 0;
    for (int i = 0; i < 4 && task->on_cta; i++)
        if (task->cta[i] >= 0)
            here = em_fmt(e, "%s%s%s == %d", here, *here ? " && " : "", em_cta_expr(e, axes[i]), task->cta[i]);
    if (task->on_cta) blocks++, em_open(e, "if (%s) {", *here ? here : "true");
    if (t->solo) {
        const char *warp = task->num_warps > 1 && !t->lanes ? em_fmt(e, "warp == %d && ", task->first_warp) : "";
        em_open(e, "if (%s%slane == 0) {", t->leader ? "leader && " : "", warp);
        return blocks + 1;
    }
    if (t->leader) blocks++, em_open(e, "if (leader) {");
    if (t->lanes) em_line(e, "const u32 ttid = lane; (void)ttid;  // each warp goes its own way");
    else em_line(e, "const u32 ttid = w_tid() - %d; (void)ttid;", 32 * task->first_warp);
    if (t->wg_actor) em_line(e, "const u32 wtid = ttid %% 128; (void)wtid; W_MMA_TASK();");
    if (t->wg_actor && t->warpgroups > 1) em_line(e, "const u32 wg = warp / 4 - %d;", task->first_warp / 4);
    return blocks;
}

/* Where it begins: where each warp has a lane of its own, the stage is the lane. */
static void emit_cursor(emitter *e, int cur) {
    const weiri_cursor *c = &e->p->cursors.v[cur];
    const char *n = em_cursor_name(e, cur);
    int stage, phase;
    weiri_cursor_at(c->stages, c->stride, c->lane < 0 ? 0 : c->lane, c->producer, 0, &stage, &phase);
    const bool by_warp = c->stride > 1 && c->lane < 0;
    const char *from = by_warp ? em_fmt(e, "warp - %d", e->pt->task->first_warp) : em_fmt(e, "%d", stage);
    if (c->stages > 1) em_line(e, "u32 %s_stage = %s, %s_at = 0; (void)%s_at; (void)%s_stage;", n, from, n, n, n);
    if (e->p->pipes.v[c->pipe].full >= 0) em_line(e, "u32 %s_phase = %d; (void)%s_phase;", n, phase, n);
    if (c->split_close && c->stages > 1) em_line(e, "u32 %s_close = %s;", n, from);
    if (c->needs_held) em_line(e, "int %s_held = 0;", n);
}

static void emit_reg_tile(emitter *e, const weiri_preg *r) {
    const char *n = em_reg(e, r->res);
    em_line(e, "%s %s[%d]%s;  // { %d, %d } of each warpgroup%s", weiri_packed(r->res) ? "u32" : weiri_ctype(r->res->dtype), n,
            r->per_thread, r->zeroed ? " = { 0 }" : "", r->rows, r->cols,
            r->zeroed ? "; stays 0 where the loop that adds to it does not run" : "");
    if (em_has_live_flag(e, r->res)) em_line(e, "u32 %s_live = 0;", n);
}

static void emit_task(emitter *e, int ti) {
    const weiri_plan *p = e->p;
    const weiri_ptask *t = &p->tasks[ti];
    const weiri_task *task = t->task;
    e->task = ti;
    e->pt = t;
    em_line(e, "// task %s: warps %d to %d, %s", task->name, task->first_warp, task->first_warp + task->num_warps - 1,
            t->solo       ? t->lanes ? "one thread of each" : "one thread"
            : t->wg_actor ? "by warpgroup"
                          : "by warp");
    const int blocks = open_role(e, t);
    for (int i = 0; i < p->cursors.n; i++)
        if (p->cursors.v[i].task == ti && p->cursors.v[i].res) emit_cursor(e, i);
    for (int i = 0; i < p->regs.n; i++)
        if (p->regs.v[i].task == ti && p->regs.v[i].per_thread) emit_reg_tile(e, &p->regs.v[i]);
    em_tc_flags(e);
    em_nodes(e, t->root);
    for (int i = 0; i < blocks; i++) em_close(e);
    e->pt = NULL;
}

/* ---- roles --------------------------------------------------------------------------------------------------------------- */

/* Has the task warps in that warpgroup? */
static bool is_in(const weiri_task *t, int wg) { return t->first_warp < 4 * wg + 4 && t->first_warp + t->num_warps > 4 * wg; }

/* The setmaxnreg that the whole warpgroup runs: it stands in front of the roles that share it. */
static const weiri_action *regs_action(const weiri_plan *p, int wg) {
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_task *t = p->tasks[i].task;
        const weiri_pnode *r = p->tasks[i].root;
        if (is_in(t, wg) && r && r->kind == PN_ACTION && r->act->kind == ACT_REGS) return r->act;
    }
    return NULL;
}

static void emit_regs(emitter *e, int wg) {
    int n = e->p->reg_split[wg];
    if (!n) return;
    const weiri_action *a = regs_action(e->p, wg);
    const char *at = a ? em_fmt(e, "W_AT(%d); ", a->id) : "";
    em_line(e, "%sw_reg_%s<%d>();", at, n > e->p->entry_registers ? "inc" : "dec", n);
}

/* The task that has the warpgroup, and perhaps further ones, for itself; -1: none. */
static int owner_of(const weiri_plan *p, int wg) {
    int owner = -1;
    for (int i = 0; i < p->ntasks; i++) {
        const weiri_task *t = p->tasks[i].task;
        if (!is_in(t, wg)) continue;
        if (owner >= 0 || t->first_warp % 4 || t->num_warps % 4) return -1;
        owner = i;
    }
    return owner;
}

/* What shares a warpgroup, each by its warps. */
static void emit_shared_warpgroup(emitter *e, int wg) {
    const char * or = "";
    for (int i = 0; i < e->p->ntasks; i++) {
        const weiri_task *t = e->p->tasks[i].task;
        const int lo = t->first_warp, hi = lo + t->num_warps;
        if (!is_in(t, wg)) continue;
        if (hi - lo == 1) em_open(e, "%sif (warp == %d) {", or, lo);
        else if (lo == 0) em_open(e, "%sif (warp < %d) {", or, hi);
        else em_open(e, "%sif (warp >= %d && warp < %d) {", or, lo, hi);
        emit_task(e, i);
        em_close(e);
        or = "else ";
    }
}

static void emit_roles(emitter *e) {
    for (int wg = 0, next; wg < e->p->warps / 4; wg = next) {
        const int owner = owner_of(e->p, wg);
        const weiri_task *t = owner >= 0 ? e->p->tasks[owner].task : NULL;
        next = t ? (t->first_warp + t->num_warps) / 4 : wg + 1;
        em_open(e, "%sif (warp < %d) {", wg ? "else " : "", 4 * next);
        emit_regs(e, wg);
        if (t) emit_task(e, owner);
        else emit_shared_warpgroup(e, wg);
        em_close(e);
    }
}

/* ---- the set-up and the way out ------------------------------------------------------------------------------------------ */

static int common(int x, int y) { return y ? common(y, x % y) : x; }

/* What a run of mbarriers is initialised with: a number, or a number for each CTA, all multiples of one. */
static const char *init_count(emitter *e, const weiri_bar *b) {
    if (!b->counts) return em_fmt(e, "%d", b->count);
    int unit = b->counts[0];
    for (int i = 1; i < e->p->cluster; i++) unit = common(unit, b->counts[i]);
    uint64_t table = 0;
    for (int i = 0; i < e->p->cluster && i < 8; i++) table |= (uint64_t)(b->counts[i] / unit & 0xff) << 8 * i;
    return em_fmt(e, "(u32)(0x%" PRIx64 "ull >> rank * 8 & 0xff)%s", table, unit > 1 ? em_fmt(e, " * %d", unit) : "");
}

static bool counts_alike(const weiri_plan *p, const weiri_bar *x, const weiri_bar *y) {
    for (int i = 0; i < p->cluster; i++)
        if (weiri_bar_count(x, i) != weiri_bar_count(y, i)) return false;
    return true;
}

/* Barriers of equal counts from `at` on, in the array's order: where they end, their names; *first: one of them. */
static int run_of(emitter *e, int at, const weiri_bar **first, weiri_buf *names) {
    const weiri_plan *p = e->p;
    int end = at;
    *first = NULL;
    for (bool grew = true; grew;) {
        grew = false;
        for (int i = 0; i < p->bars.n; i++) {
            const weiri_bar *b = &p->bars.v[i];
            if (b->first != end || (*first && !counts_alike(p, *first, b))) continue;
            if (!*first) *first = b;
            end += b->stages;
            weiri_put(names, "%s%s (%s)", names->n ? ", " : "", b->name, b->sum ? b->sum : "");
            grew = true;
        }
    }
    return end;
}

static void emit_init(emitter *e, const weiri_action *a) {
    em_open(e, "if (warp == 0) {  // %d mbarriers", e->p->nbarriers);
    em_line(e, "W_AT(%d);", a->id);
    for (int at = 0, end; at < e->p->nbarriers; at = end) {
        const weiri_bar *first;
        weiri_buf names;
        weiri_buf_init(&names, e->k->ctx);
        end = run_of(e, at, &first, &names);
        if (first) em_line(e, "// %s", names.s);
        weiri_buf_free(&names);
        if (!first) break;
        const char *count = init_count(e, first);
        const int n = end - at;
        if (n == 1) em_line(e, "if (lane == 0) w_mbar_init(mbar + %d, %s);", 8 * at, count);
        else if (n <= 32) em_line(e, "if (lane < %d) w_mbar_init(mbar + %d + 8 * lane, %s);", n, 8 * at, count);
        else em_line(e, "for (u32 q = lane; q < %d; q += 32) w_mbar_init(mbar + %d + 8 * q, %s);", n, 8 * at, count);
    }
    em_line(e, "w_fence_mbar_init();");
    em_close(e);
}

static void emit_frame(emitter *e, const weiri_pnode *n, bool exit) {
    if (n && exit) em_line(e, "w_sync_warp();");
    for (; n; n = n->next) {
        if (n->act->kind == ACT_INIT) {
            emit_init(e, n->act);
            continue;
        }
        if (n->act->note) em_line(e, "// %s", n->act->note);
        em_action(e, n->act);
    }
}

/* ---- the kernel ---------------------------------------------------------------------------------------------------------- */

static void emit_params(emitter *e) {
    const weiri_plan *p = e->p;
    em_line(e, "extern \"C\" __global__ void __launch_bounds__(%d, %d) %s(", p->threads, e->k->ctas_per_sm,
            weiri_kernel_symbol(p));
    e->depth += 2;
    for (int i = 0; i < p->params.n; i++) {
        const weiri_kparam *q = &p->params.v[i];
        const char *comma = i + 1 < p->params.n ? "," : ") {";
        if (q->kind == KP_TMAP) em_line(e, "const __grid_constant__ w_tmap %s%s", q->name, comma);
        else em_line(e, "%s%s%s%s", q->type, q->type[strlen(q->type) - 1] == '*' ? "" : " ", q->name, comma);
    }
    if (!p->params.n) em_line(e, ") {");
    e->depth -= 1;
}

/* Where everything lies in shared memory. */
static void emit_addresses(emitter *e) {
    const weiri_plan *p = e->p;
    for (int i = 0; i < p->smem.n && !p->smem.v[i].tmem; i++) /* tensor memory comes last */
        em_line(e, "const u32 %s = smem_base + %" PRId64 ";  // %d x %" PRId64 " bytes", em_region(e, i), p->smem.v[i].offset,
                p->smem.v[i].stages, p->smem.v[i].stage_bytes);
    if (p->nbarriers) em_line(e, "const u32 mbar = smem_base + %" PRId64 ";", p->barrier_offset);
    for (int i = 0; i < p->bars.n; i++) em_line(e, "const u32 %s = mbar + %d;", em_bar(e, i), 8 * p->bars.v[i].first);
}

/* Are base and pitches of the tensor multiples of so many bytes? */
static void emit_aligned(emitter *e, const weir_tensor *t, const char *what, int bytes) {
    const char *name = em_tensor(e, t), *pitches = "";
    for (int d = 0; d + 1 < t->rank; d++)
        pitches = em_fmt(e, "%s | (u64)%s_stride%d * %d", pitches, name, d, (int)weir_dtype_size(t->dtype));
    em_line(e, "const bool %s_%s = ((u64)%s%s) %% %d == 0; (void)%s_%s;", name, what, em_arg(e, t->name), pitches, bytes, name,
            what);
}

/* What may be accessed 16 bytes, or two elements, at a time. */
static void emit_alignments(emitter *e) {
    for (int i = 0; i < e->k->tensors.n; i++) {
        const weir_tensor *t = e->k->tensors.v[i];
        if (!e->p->touches[i]) continue;
        emit_aligned(e, t, "wide", 16);
        const bool pairs = t->dtype == WEIR_BF16 || t->dtype == WEIR_F16 || t->dtype == WEIR_F32;
        if (t->out && pairs && t->rank >= 2) emit_aligned(e, t, "pairs", 2 * (int)weir_dtype_size(t->dtype));
    }
}

static void count_uses(emitter *e) {
    const weir_kernel *k = e->k;
    const weir_res *q = e->p->queue;
    uint8_t *seen = WEIRI_NEW_N(e->a, uint8_t, k->values.n + 1);
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *n = NULL; (n = weiri_op_next(k->tasks.v[t]->root, n));)
            for (int i = 0; i < n->op->nargs; i++)
                if (n->op->arg[i]) em_count_uses(e, n->op->arg[i], seen);
    for (int i = 0; q && q->raster == WEIR_RASTER_CUSTOM && i < q->qrank; i++) em_count_uses(e, q->raster_coord[i].id, seen);
}

/* In front of the kernel: the type of a tile, the author's bodies. */
static void emit_declarations(emitter *e) {
    const weir_kernel *k = e->k;
    const weir_res *q = e->p->queue;
    if (q) weiri_put(e->o, "struct %s_tile { i32 ", em_queue(e, q));
    for (int i = 0; q && i < q->qrank; i++) weiri_put(e->o, "%s%s", i ? ", " : "", q->axis[i]);
    if (q) weiri_put(e->o, "; };\n");
    for (int i = 0; i < k->res.n; i++)
        for (int w = 0; k->res.v[i]->kind == WEIR_RES_CUSTOM && w < k->res.v[i]->nwork; w++)
            em_body(e, k->res.v[i], &k->res.v[i]->work[w]);
    weiri_put(e->o, "\n");
}

static void emit_kernel(emitter *e) {
    const weiri_plan *p = e->p;
    emit_params(e);
    em_line(e, "const u32 warp = w_warp(), lane = w_lane(), smem_base = w_smem_base(); (void)lane; (void)smem_base;");
    em_line(e, "W_ENTER();");
    if (p->cluster > 1) em_line(e, "const u32 rank = w_cluster_rank(); (void)rank;");
    if (weiri_tc_pair(e->k))
        em_line(e, "const bool leader = rank %% 2 == 0; (void)leader;  // of the pair of CTAs that share each mma");
    emit_addresses(e);
    emit_alignments(e);
    weiri_put(e->o, "\n");
    if (p->tmaps.n) { /* hides the first fetch of each descriptor behind the set-up */
        em_open(e, "if (w_tid() == 0) {");
        for (int i = 0; i < p->tmaps.n; i++) em_line(e, "w_tma_prefetch(&%s);", em_map(e, i));
        em_close(e);
    }
    emit_frame(e, p->prologue, false);
    em_tc_addresses(e);
    weiri_put(e->o, "\n");
    emit_roles(e);
    em_line(e, "W_LEAVE();");
    emit_frame(e, p->epilogue, true);
    em_close(e);
}

bool weiri_emit(const weiri_plan *p, weiri_buf *out) {
    const weir_kernel *k = p->k;
    const int n = k->values.n + 1;
    emitter e = { .p = p, .k = k, .a = (weiri_arena *)&p->a, .o = out, .task = -1 };
    e.uses = WEIRI_NEW_N(e.a, uint16_t, n);
    e.made = WEIRI_NEW_N(e.a, uint8_t, n);
    e.shared = em_shared_uses(&e);
    e.part = WEIRI_NEW_N(e.a, value_part, n);
    e.sign = WEIRI_NEW_N(e.a, uint8_t, n);
    e.range = WEIRI_NEW_N(e.a, value_range, n);
    count_uses(&e);
    weiri_put(out, "#line 1 \"%s.cu\"\n", k->name);
    e.counted = out->n; /* the line after #line is 1 */
    em_line(&e, "// kernel %s: %d threads, %" PRId64 " bytes of shared memory%s", k->name, p->threads, p->smem_total,
            p->cluster > 1 ? em_fmt(&e, ", cluster of %d", p->cluster) : "");
    if (p->tmem_columns)
        em_line(&e, "// %d of %d columns of tensor memory; sm_100a: " WEIRI_UNCHECKED, p->tmem_columns, p->tmem_alloc);
    emit_declarations(&e);
    emit_kernel(&e);
    return !out->oom && !p->a.oom;
}
