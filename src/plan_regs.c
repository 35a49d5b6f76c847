/* Registers: the launch block has whole warpgroups, each of which may ask for a number of registers a thread; what nobody asks for
 * is shared out. A register tile alone must leave its task some; more than that the compiler decides (it warns of spills). */
#include "layout.h"
#include "planning.h"

enum { WARPGROUPS = 8 }; /* of a CTA at most */

static int first_wg(const weiri_task *t) { return t->first_warp / 4; }
static int last_wg(const weiri_task *t) { return (t->first_warp + t->num_warps - 1) / 4; }

/* ---- where nobody asks --------------------------------------------------------------------------------------------------- */

/* Do the task's threads move elements themselves, or run the author's code? What only starts copies takes few registers. */
static bool threads_work(const weiri_task *t) {
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));)
        if (n->op->atom == ATOM_STORE || n->op->atom == ATOM_CP_ASYNC || n->op->work) return true;
    return false;
}

/* Boxes that the task's copies by TMA start in one round, about: a tile is cut into swizzle spans. Each has an address of its
 * own. */
static int boxes_of(const weiri_task *t) {
    int boxes = 0;
    for (const weiri_node *n = NULL; (n = weiri_op_next(t->root, n));) {
        const weir_res *r = n->op->res;
        if (n->op->atom != ATOM_TMA_LOAD) continue;
        const int row = r->tile[r->rank - 1] * weir_dtype_size(r->dtype);
        boxes += r->swizzle > 0 && row > r->swizzle ? row / r->swizzle : 1;
    }
    return boxes;
}

/* What the warpgroups of a kernel do. */
typedef struct labour {
    bool math[WARPGROUPS], busy[WARPGROUPS]; /* mathematics; threads that copy, or run bodies */
    int nmath, nbusy;
    bool boxes;  /* a loader starts many */
    int largest; /* registers of a thread that the tiles of one warpgroup take */
} labour;

/* A task has one number: where one of its warpgroups is busy, all are. */
static void spread_busy(const weir_kernel *k, labour *l) {
    for (bool more = l->nbusy > 0; more;) {
        more = false;
        for (int i = 0; i < k->tasks.n; i++) {
            const int first = first_wg(k->tasks.v[i]), last = last_wg(k->tasks.v[i]);
            bool any = false;
            for (int w = first; w <= last; w++) any = any || l->busy[w];
            for (int w = first; w <= last && any; w++)
                if (!l->busy[w]) l->nbusy++, more = l->busy[w] = true;
        }
    }
}

static labour labour_of(const weiri_plan *p) {
    enum { FEW_BOXES = 6 };
    const weir_kernel *k = p->k;
    labour l = { 0 };
    for (int i = 0; i < k->tasks.n; i++) {
        const weiri_task *t = k->tasks.v[i];
        const bool math = p->tasks[i].wg_actor;
        l.boxes = l.boxes || (!math && boxes_of(t) > FEW_BOXES);
        for (int w = first_wg(t); w <= last_wg(t); w++) {
            if (math) l.nmath += !l.math[w], l.math[w] = true;
            else if (threads_work(t)) l.nbusy += !l.busy[w], l.busy[w] = true;
        }
    }
    int tiles[WARPGROUPS] = { 0 };
    for (int i = 0; i < p->regs.n; i++) {
        const int w = first_wg(k->tasks.v[p->regs.v[i].task]);
        tiles[w] += p->regs.v[i].per_thread;
        if (tiles[w] > l.largest) l.largest = tiles[w];
    }
    return l;
}

/* Loaders give up what mathematics needs. Threads that copy keep 128 while the tiles of the mathematics leave them; they would
 * spill with what a loader by TMA is left with. false: all keep what they have at entry. */
static bool derive(const weiri_plan *p, int entry, int *want) {
    enum { MOST = 240, COPYING = 128, BESIDE_TILES = 112, MANY_BOXES = 16 };
    const int nwg = p->warps / 4;
    labour l = labour_of(p);
    if (nwg < 3 || !l.nmath || l.nmath == nwg) return false;
    spread_busy(p->k, &l);
    const int least = (nwg == 3 ? 40 : 32) + (l.boxes ? MANY_BOXES : 0);
    int copying = entry < COPYING ? entry : COPYING, high;
    for (;; copying -= 8) {
        high = (entry * nwg - least * (nwg - l.nmath - l.nbusy) - copying * l.nbusy) / l.nmath / 8 * 8;
        if (copying <= least || high >= MOST || high >= l.largest + BESIDE_TILES) break;
    }
    for (int w = 0; w < nwg; w++) want[w] = l.math[w] ? (high > MOST ? MOST : high) : l.busy[w] ? copying : least;
    return true;
}

/* ---- what tasks ask for -------------------------------------------------------------------------------------------------- */

/* What each warpgroup's tasks ask for, into want[]; false: nobody asks, for what can be had. */
static bool requests(weiri_plan *p, int *want) {
    bool given = false;
    for (int i = 0; i < p->k->tasks.n; i++) {
        const weiri_task *t = p->k->tasks.v[i];
        if (!t->registers) continue;
        if (t->registers < 24 || t->registers > 256 || t->registers % 8) {
            weir_finding *f = weiri_find(&p->findings, "PLAN-REGS", weiri_place_of(&t->at),
                                         "task '%s' asks for %d registers per thread", t->name, t->registers);
            f->expected = "24 to 256, a multiple of 8";
            f->got = weiri_arena_fmt(&p->a, "%d", t->registers);
            f->hint = "setmaxnreg takes a multiple of 8 from 24 to 256";
            continue;
        }
        given = true;
        for (int w = first_wg(t); w <= last_wg(t); w++) want[w] = t->registers;
    }
    return given;
}

/* The task that asks, the first or the last of them; NULL: none. */
static const weiri_task *asking(const weir_kernel *k, bool last) {
    const weiri_task *t = NULL;
    for (int i = 0; i < k->tasks.n && (last || !t); i++)
        if (k->tasks.v[i]->registers) t = k->tasks.v[i];
    return t;
}

/* A warpgroup that asked for nothing keeps the entry count, or what is left of the pool. Returns the sum. */
static int share_rest(int *want, int nwg, int entry) {
    int sum = 0, rest = 0;
    for (int w = 0; w < nwg; w++) {
        sum += want[w];
        rest += !want[w];
    }
    if (!rest) return sum;
    const int left = (entry * nwg - sum) / rest / 8 * 8;
    int each = left < entry ? left : entry; /* 256 at most: one warpgroup alone is not free */
    if (each < 24) each = 24;
    for (int w = 0; w < nwg; w++)
        if (!want[w]) want[w] = each;
    return sum + rest * each;
}

static void over_pool(weiri_plan *p, const int *want, int sum, int entry) {
    const int nwg = p->warps / 4, pool = entry * nwg;
    weiri_buf b;
    weiri_buf_init(&b, p->k->ctx);
    for (int w = 0; w < nwg; w++) weiri_put(&b, "%s%d", w ? " + " : "", want[w]);
    weir_finding *f =
        weiri_find(&p->findings, "PLAN-REGS", weiri_place_of(&asking(p->k, true)->at),
                   "register requests %s per warpgroup are %d more than the pool of %d (%d at entry x %d warpgroups)", b.s,
                   sum - pool, pool, entry, nwg);
    weiri_buf_free(&b);
    f->expected = weiri_arena_fmt(&p->a, "a sum of at most %d", pool);
    f->got = weiri_arena_fmt(&p->a, "%d", sum);
    f->hint = "setmaxnreg.inc would wait for ever: lower the largest request";
}

/* All warpgroups of a task change to one number. */
static void check_one_number(weiri_plan *p, const weiri_task *t, const int *want) {
    for (int w = first_wg(t) + 1; w <= last_wg(t); w++) {
        if (p->reg_split[w] == p->reg_split[first_wg(t)]) continue;
        weir_finding *f = weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&t->at),
                                     "task '%s' has warps %d to %d, in warpgroups of %d and %d registers", t->name,
                                     t->first_warp, t->first_warp + t->num_warps - 1, want[first_wg(t)], want[w]);
        f->objects[0] = t->name;
        f->hint =
            "setmaxnreg is for whole warpgroups: give the task one warpgroup, or all of its warpgroups the same registers";
        return;
    }
}

/* ---- the split ----------------------------------------------------------------------------------------------------------- */

/* The launch block; what each thread has at entry, 0: it cannot be, and that is said. More than 32 warps are refused where the task
 * is described (X-WARP-02). */
static int launch_block(weiri_plan *p) {
    enum { THREADS = 2048 }; /* of an SM */
    const weir_kernel *k = p->k;
    for (int i = 0; i < k->tasks.n; i++)
        if (4 * (last_wg(k->tasks.v[i]) + 1) > p->warps) p->warps = 4 * (last_wg(k->tasks.v[i]) + 1);
    p->threads = 32 * p->warps;
    const int threads = p->threads * k->ctas_per_sm;
    if (!p->warps) {
        weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&k->at), "kernel '%s' has no tasks; a CTA has 1 to 32 warps",
                   k->name);
        return 0;
    }
    if (threads > THREADS) {
        weiri_find(&p->findings, "PLAN-WARPS", weiri_place_of(&k->at),
                   "kernel '%s': %d CTAs of %d threads do not fit an SM, which has %d", k->name, k->ctas_per_sm, p->threads,
                   THREADS)
            ->hint = "lower ctas_per_sm, or take fewer warps";
        return 0;
    }
    const int entry = weiri_layout_entry_registers(k->arch, threads); /* 32 at least */
    p->entry_registers = entry > 255 ? 255 : entry;
    return entry;
}

void pl_split_registers(weiri_plan *p) {
    const weir_kernel *k = p->k;
    const int entry = launch_block(p), nwg = p->warps / 4;
    int want[WARPGROUPS] = { 0 };
    if (!entry) return;
    const bool given = requests(p, want);
    if (k->arch < WEIR_ARCH_SM_90A) {
        const weiri_task *t = asking(k, false);
        if (t)
            weiri_find(&p->findings, "PLAN-ARCH", weiri_place_of(&t->at),
                       "task '%s': `registers` needs setmaxnreg, which sm_80 lacks (sm_90a and sm_100a have it)", t->name);
        return;
    }
    if (!given && !derive(p, entry, want)) return;
    const int sum = share_rest(want, nwg, entry);
    if (sum > entry * nwg) over_pool(p, want, sum, entry);
    for (int w = 0; w < nwg; w++) p->reg_split[w] = want[w] == entry ? 0 : want[w];
    for (int i = 0; i < k->tasks.n; i++) check_one_number(p, k->tasks.v[i], want);
    for (int i = 0; i < k->tasks.n; i++) p->tasks[i].registers = want[first_wg(k->tasks.v[i])];
}

void pl_check_tile_registers(weiri_plan *p) {
    for (int i = 0; i < p->regs.n; i++) {
        const weiri_preg *g = &p->regs.v[i];
        const weiri_task *t = p->k->tasks.v[g->task];
        int have = p->tasks[g->task].registers ? p->tasks[g->task].registers : p->entry_registers;
        if (have > 255) have = 255; /* a thread names no more */
        if (have < 1 || g->per_thread < have) continue;
        weir_finding *f = weiri_find(&p->findings, "PLAN-REGS", weiri_place_of(&g->res->at),
                                     "tile '%s' takes %d registers of each thread of task '%s', which has %d", g->res->name,
                                     g->per_thread, t->name, have);
        f->expected = weiri_arena_fmt(&p->a, "fewer than %d", have);
        f->got = weiri_arena_fmt(&p->a, "%d", g->per_thread);
        f->hint = "deal a smaller tile, or more warpgroups; fewer warps in all leave each thread more registers";
        weiri_second_place(f, &t->at, "the task");
    }
}
