/* Inside the prover: the plan compiled to flat code per task, the state that the search walks over, and one run of it.
 * docs/proof.md argues why each piece may be as small as it is. */
#ifndef WEIRI_PROVE_H
#define WEIRI_PROVE_H

#include "forms.h"
#include "plan.h"
#include "range.h"

/* ---- symbols ------------------------------------------------------------------------------------------------------------ */

typedef enum weiri_tape_kind {
    TAPE_TRIPS,
    TAPE_KEY,                /* a letter per firing */
    TAPE_CONST               /* one letter for good */
} weiri_tape_kind;
typedef struct weiri_tape {
    weiri_tape_kind kind;
    bool tile;               /* one a tile, else one a launch */
    int cta;                 /* CTA whose symbol it is, -1: all share it */
    int least, most;         /* TRIPS: units that always / at most exist; most < 0: no bound */
    int multiple;            /* TRIPS: what their number is a multiple of, as far as lanes ask; 1: of nothing */
    int form;                /* TRIPS: the class of trip counts */
    bool steady;             /* value fixed for the launch: every instance has the same number of units */
    bool apart;              /* TRIPS: not of all tasks, but of those that ask alike */
    bool named;              /* KEY: by its author */
    const weiri_node *node;  /* the first block that asks */
} weiri_tape;
uint32_t weiri_key_condition(const weiri_tape *t);
/* Of a tape TAPE_KEY: how a condition on nothing but its loop's index comes out the i-th time; false: it is no such condition. */
bool weiri_key_at(const weir_kernel *k, const weiri_tape *t, int i, bool *truth);

/* A condition on a loop's index alone, in iteration j: bit j, or bit pre + (j - pre) % period. false: it is none, or does not repeat itself
 * that soon. */
typedef struct weiri_truths { const weiri_node *loop; int pre, period; uint64_t truth; } weiri_truths;
bool weiri_index_truths(const weir_kernel *k, uint32_t condition, weiri_truths *out);

/* ---- code --------------------------------------------------------------------------------------------------------------- */

typedef enum weiri_ins_op {
    IN_ACT, IN_LOOP, IN_TEST, IN_BACK, IN_DEAL, IN_TILES, IN_FIRST, IN_LAST, IN_EVERY, IN_TRUTHS, IN_WHEN, IN_RAN, IN_UNITS, IN_CTA, IN_BEFORE,
    IN_HELD, IN_SPENT, IN_JUMP, IN_END
} weiri_ins_op;
typedef struct weiri_ins {
    weiri_ins_op op;
    int jump;                /* where to go when the test fails, or at a JUMP or BACK */
    int a, b;                /* LOOP to TRUTHS: loop; TRUTHS: iteration from which on it repeats itself; WHEN: key, wanted truth;
                              * RAN: loop, wanted truth; UNITS: tape of CTA 0, wanted truth;
                              * HELD: cursor (task-local), keep; BEFORE: tiles of its own that the task has begun, at least; its lane */
    uint64_t ctas;           /* CTA: those that go on, a bit each. TRUTHS: so iterations */
    int from, by; /* FIRST, LAST, EVERY: of a lane's loop, its first iteration and the step to the next; else 0, 1. UNITS: from:
                              * 1 + a loop, whose iteration counts with `by` */
    int period, phase;       /* EVERY, TRUTHS; DEAL: lanes, and the actor's (-1: its number in the task); RAN: a question's tape */
    int skip;                /* TILES: where a tile of another lane (not a of b) goes on; jump: when there are no more */
    const weiri_action *act; /* ACT */
    const weiri_node *guard; /* TRUTHS, WHEN: who asks, for texts */
    uint32_t of;             /* WHEN: the condition as it is written here; `is`: the truth under which it goes on */
    bool is;
    bool equal;              /* RAN: the loop has run `by` times (or left that over, divided by `period`); else by times at most. UNITS: so many
                              * units are unread */
} weiri_ins;

typedef struct weiri_loop {
    weiri_trips trips;       /* part[].tape: index in tapes of CTA 0; per CTA: see tape_of */
    int deal, lane;          /* as in weiri_pnode */
    int count_to;            /* iteration number is kept up to here, then modulo `period` */
    int period;
    int slot;                /* place of its variables: loops that do not stand in one another share it, unless they tell something later */
    int end, told;           /* where it is left; behind the last question that is answered by how often it has run, 0: there is none */
    bool units;              /* ... by how many units it was given */
    int cap, but;            /* cap > 0: it runs once for each unread unit of part[0].tape but the last `but`, so often at most, and reads none */
    int behind;              /* ... 1 + a loop: for each unit which that was given */
    const weiri_node *node;
} weiri_loop;

typedef struct weiri_key { int tape; int scope; bool constant; } weiri_key;  /* scope: loop, -1 tile, -2 never; tape of CTA 0 */

typedef struct weiri_code {  /* of one task */
    WEIRI_LIST(weiri_ins) ins;
    WEIRI_LIST(weiri_loop) loops; int nslots;
    WEIRI_LIST(weiri_key) keys;
    int ncursors; int *cursor;       /* plan cursor of each */
    bool *matters[2],
        *moves[2];           /* by C_OPEN or C_CLOSE, and cursor: does anything depend on how often it was done? is it ever? */
    int from, to;            /* the task's own part, between the kernel's prologue and epilogue */
    bool tiles;              /* it has a work-tile loop */
    bool looks_back;         /* it asks for the tile that it had before, or last */
    int skip_from, skip_to;          /* what it does in tiles of other lanes */
    int *tape_end;                   /* by tape of the program: pc after which this task asks it no more within a tile */
    int *skip_end;                   /* ... within a tile of another lane */
} weiri_code;

/* Threads of an actor, as far as what they know differs. */
enum { BY_ALL, BY_EACH, BY_LANE, BY_ONE, BY_COUNT };

typedef struct weiri_actor {
    int task, cta, index;    /* index inside the task and CTA */
    int code;
    int row;                 /* first knowledge row; BY_* offsets through `by` */
    int by[BY_COUNT];
    int nrows;
    int vars;                /* ints: pc, stop, tile, turn, cl, had, then keys, loops, cursors, tape offsets */
    int keys, loops, cursors, offs;
    int threads;             /* that it brings to a named barrier */
    int *ring;               /* by cursor of its code */
    int *eff;                /* by instruction: first of its records in prog.eff: effect by effect, target by target */
    int *gmem;               /* by instruction: first of its records in tensors, in prog.gmem; the next one's: their end */
    WEIRI_LIST(int) recs;    /* its records */
    uint64_t *async_mask;    /* by word: what of its threads' knowledge that which completes by itself does not hand on */
    const char *name;
} weiri_actor;

/* STOP: nonzero: inside a rendezvous. TURN: lane of the next tile. HAD, of code that looks back: tiles of its own begun so far, 0, 1 or more */
enum { V_PC, V_STOP, V_TILE, V_TURN, V_CLUSTER, V_HAD, V_FIXED };
enum { L_PART, L_SUB, L_IDX, L_RAN /* iterations, once it is left, where that tells something */, L_VARS };
static inline int loop_at(const weiri_actor *me, const weiri_code *c, int loop) { return me->loops + L_VARS * c->loops.v[loop].slot; }
enum { C_OPEN, C_CLOSE, C_VARS };
/* a tape: how many letters, units of the last instance (COUNT saturated, TOTAL exact and kept in a replay only), the letters */
enum { T_LEN, T_COUNT, T_LO, T_HI, T_TOTAL, T_VARS };
enum { B_PHASE, B_PENDING, B_TX, B_VARS };
enum { R_AGE, R_GEN, R_OVER /* overwritten since, through other storage */, R_VARS };

/* A ring: cursors, barriers and storage that turn together. */
typedef struct weiri_ring {
    int stages;
    bool turns;              /* its stages may be renamed: nothing outside tells them apart */
    int ref_actor, ref_cur;  /* whose next open (ref_var) is the origin; -1: none, nothing moves */
    int ref_var;             /* C_OPEN, or C_CLOSE where that alone moves */
    int lanes;               /* every lanes-th stage is a ring of its own, with an origin of its own; 1: one ring */
    int first_lane;          /* these rings of their own: index in prog.lanes of the first, where lanes > 1 */
    int bits;                /* knowledge bits per stage */
    int at, stride;          /* first bit in a row, distance of the stages: whole words, or all stages lie in one word */
} weiri_ring;

/* Who has which elements of a place. */
typedef enum weiri_share {
    SHARE_ORDER,                 /* the threads of the task, in order */
    SHARE_HELD,                  /* ... as a register tile holds them */
    SHARE_TENSOR,                /* ... as tensor memory does */
    SHARE_ALL,                   /* every thread, all of it: one element */
    SHARE_LATER,                 /* nobody yet: a tile's load() is made where the tile is used */
    SHARE_BULK,                  /* one thread; of each warpgroup, its rows or columns */
    SHARE_CP                     /* the threads, by cp.async */
} weiri_share;
/* Whose tile a place in a tensor is about: none's, for it stands outside of the loop over tiles; that of the turn; the one before; the
 * last, behind the loop. */
typedef enum weiri_of_tile { OF_NONE, OF_TURN, OF_PREVIOUS, OF_LAST } weiri_of_tile;

/* Where an op accesses a tensor that the kernel writes. */
typedef struct weiri_gplace {
    const weiri_op *op;
    const weir_tensor *tensor;
    uint32_t view;
    int task;
    weiri_share share;
    bool one;                    /* by one thread of the task for all */
    bool write, adds;            /* adds: sums that commute */
    weiri_of_tile of;
    bool adrift;                 /* which tile that is, a run does not tell: with lanes, or made of two tiles at once */
    bool mixed;                  /* made of two tiles at once */
    bool whole;                  /* every element of its spans is accessed, none left out at run time */
    bool vague, turned;          /* its spans are more than it is; rows and columns are exchanged */
    bool clashes;                /* it may meet another, or itself, at some other time */
    int next;                    /* of its op, -1: none */
    const weiri_node *node;      /* where the op stands */
    int rank; weiri_span span[WEIR_MAX_RANK];
} weiri_gplace;
typedef WEIRI_LIST(weiri_gplace) weiri_gplaces;

typedef struct weiri_lane { int ref_actor, ref_cur, ref_var; } weiri_lane;

/* Bytes that accesses name: part of every stage of a region, or a register tile of an actor. */
typedef struct weiri_loc {
    int ring;
    int cta, region, actor;  /* actor: whose share, -1 whole; region -1: register tile `reg` of `actor` */
    int reg;
    int64_t lo, hi;          /* inside a stage */
    WEIRI_LIST(int) recs;    /* records of accesses here */
    WEIRI_LIST(int) over;    /* locations that share bytes, itself included */
} weiri_loc;

typedef enum weiri_rec_kind {
    REC_READ, REC_WRITE, REC_MMA_READ, REC_MMA_WRITE, REC_BULK_READ, REC_LOAD, REC_CP_WRITE,
    REC_PUSH_READ,               /* of a copy into another CTA: over for who has waited for the phase there */
    REC_PASSED                   /* no access: all threads of a warpgroup have passed a wait, or all its lanes an arrival. Its bit
                                  * is the waiter's or the arriver's */
} weiri_rec_kind;
typedef struct weiri_rec {
    int loc, actor, by;          /* loc -1: REC_PASSED */
    weiri_rec_kind kind;
    int ring, bit, fence_bit;    /* bits inside a stage of the ring; fence_bit: known to the async proxy, which
                                  * sees what was written, or comes behind what was read */
    int seen; /* 0, or 1 + bit. Tensor memory: known, and a fence of the knower's own behind it. Never handed on */
    int aux;                     /* first int of R_VARS, stages of them */
    bool body;                   /* made by a body: its mmas are taken to be over when its kernel's are */
    bool joins;                  /* made by a body that joins the threads of its task itself */
    int filled;                  /* -1, or a bit: the write has happened once (in every run that a state stands for) */
    int place;                   /* 0, or 1 + place in a tensor; a stage a tile then, stage 0 outside of tiles, stage 1 of the tile that all have
                                  * left last, where one is looked back at (prog.gmem_back) */
    int deal;                    /* by threads: which of them has what; index in the plan's deals[] */
    bool pushed;                 /* the write of a push: others into the stage lie beside it (plan_push.c) */
} weiri_rec;

typedef struct weiri_waiter { int actor, passed; } weiri_waiter;           /* passed: a warpgroup's record REC_PASSED, or -1 */
typedef struct weiri_arriver { int actor, row, passed; } weiri_arriver;    /* passed: of lanes of a warpgroup two, for its bits */

typedef struct weiri_bari {      /* a barrier run in one CTA */
    int ring;
    int vars;                    /* ints, B_VARS a stage */
    int row;                     /* two rows a stage: gathering, complete */
    int bit;                     /* of a stage: newest completion, the one before, the arrivers' pairs, then one a waiter */
    WEIRI_LIST(weiri_waiter) waiters;
    WEIRI_LIST(weiri_arriver) arrivers;
    int pairs;                   /* of bits: open phase, last one; as many as arrivers, or none */
    bool lands;                  /* bytes or arrivals come by themselves: who has arrived says nothing */
    bool data;                   /* storage is filled for it: of `res` */
    const weir_res *res;
} weiri_bari;

/* Words that a row of knowledge keeps, in runs: the rest cannot matter there (prove_keep.c). */
typedef struct weiri_words { int first, end, at; } weiri_words;                 /* at: where the first lies in a row */
typedef struct weiri_keep { int n; WEIRI_LIST(weiri_words) run; } weiri_keep;
typedef struct weiri_known { int first; const weiri_keep *keep; } weiri_known;  /* a row: its first word in a state */
typedef struct weiri_held { int n; int *row, *at; } weiri_held;                 /* rows that keep a word, and where in a state */

typedef struct weiri_prog {
    const weiri_plan *p;
    int without;                 /* WEIRI_STILL, WEIRI_APART, WEIRI_EVERYWHERE, WEIRI_STAGEWISE, WEIRI_ASKED */
    weiri_arena *a;
    WEIRI_LIST(weiri_code) code;
    WEIRI_LIST(weiri_actor) actors;
    WEIRI_LIST(weiri_tape) tapes;
    WEIRI_LIST(weiri_ring) rings;
    WEIRI_LIST(weiri_lane) lanes;
    int *ring_origin,
        *lane_origin; /* of the state that is brought to its canonical form: what is taken off uses (prove_state.c) */
    WEIRI_LIST(weiri_loc) locs;
    WEIRI_LIST(weiri_rec) recs;
    WEIRI_LIST(int) eff;
    WEIRI_LIST(int) gmem;
    weiri_gplaces places; int *place_of; /* by op id: its first, -1 */
    uint8_t *meets, *beside;     /* weiri_meet, [place][place], for those of which one writes: in one actor; in two, be they of one task or not */
    bool *unordered;             /* [place][place]: may meet, and were found in no order (filled by runs) */
    uint8_t *slabs;              /* [action * ctas + cta]: 1: the slabs that it names are known to be in their tiles; 2: not all; 0: not asked */
    bool *early;                 /* by action id: it was come to while nothing said that the launch before is complete */
    bool *unfenced;              /* ... and were found in an order that holds for threads: the one is a store of theirs, the other TMA's */
    int gmem_ring;               /* -1: no tensor is shared */
    int gmem_back;               /* 1: a task accesses one at a place of the tile it had before */
    int *local;                  /* by cursor: its number in its task's code */
    int *mate;                   /* by cursor of a pipeline without barriers, which one task fills and empties: the other side's; -1 */
    weiri_bari *bars;            /* [cta * nbars + bar] */
    int nbars, nctas;
    int *root_tape, *tile_tape;  /* by tape: index among its kind */
    int nroot, ntile;
    uint64_t *work;              /* instructions run, words of states touched and of memory taken, so far */
    int deals;                   /* smallest number that the lanes of every dealt loop divide; 1: none is dealt */
    bool one_tile;               /* a grid queue: exactly one tile */
    const weiri_node *tiles;     /* a work-tile loop, for messages */
    weiri_forms *forms;
    /* layout of a state: ints, then words */
    int root_at, tile_at, stream_at, named_at, cluster_at;
    int ncontrol, nints;         /* the first decide what happens; the rest only what is a fault */
    int nrows, nwords;           /* rows of knowledge, words there are */
    int nknow;                   /* words of all rows */
    weiri_known *rows;           /* where each row lies */
    bool narrow;                 /* rows keep less than could be shown to suffice */
    bool told;                   /* conditions are worked out from how often loops have run */
    bool counted;                /* ... or from units, or loops are told by others' */
    bool parts;                  /* some loops of one length have each a number of their own */
    bool sorts;                  /* loops in each other could stand in another order */
    weiri_held *held;            /* by word */
    int named_row, cluster_row;
    uint64_t *must_mask;         /* ... for what must have happened, not for what may still go on */
    uint64_t *own_mask;          /* ... for what a thread cannot hand on */
    int bit_init, bit_remote;    /* bits of ring 0: by CTA; [actor][CTA], of a cluster */
    int bit_commit, ncommit;     /* [actor][CTA]: its newest tcgen05.commit has arrived there; how many, 0 where there are none */
    int bit_wait, bit_named;     /* by actor; [CTA][slot] */
    int nwait;                   /* actors, or 0 where none waits for the grid before */
    WEIRI_LIST(int) named;       /* ids of named barriers in use; their places are the slots */
    WEIRI_LIST(const char *) trusts; /* what the proof takes on the author's word, beyond what bodies declare */
    const char *why;             /* it cannot be modelled: reason */
    const weir_place *why_at;
    const char *depth_fault;     /* a cursor and a barrier of different depth */
    const weir_place *depth_at;
} weiri_prog;

#define WEIRI_TILES 6            /* tiles that tasks may be apart */
#define WEIRI_LETTERS 60         /* loop steps that tasks may be apart */
#define WEIRI_MOST_STEPS 20000000 /* without a question */
#define WEIRI_EXACT_STEPS 50000   /* ... where everything is computed */

/* Reductions that can be left out, for tests: the verdict must not change. */
enum {
    WEIRI_STILL = 1,      /* rings do not turn */
    WEIRI_APART = 2,      /* states of equal control stay apart */
    WEIRI_TABLES = 4,     /* no reduction: the plan's tables are not compared with each other */
    WEIRI_EVERYWHERE = 8, /* every row keeps all that could be known */
    WEIRI_WIDE = 16,      /* what a barrier's stage brings is kept of all stages of its ring */
    WEIRI_STAGEWISE = 32, /* no way is gone on ahead until its rings have turned */
    WEIRI_RINGS = 256,    /* what a barrier's stage brings is kept of all rings */
    WEIRI_ASKED = 128,    /* conditions on how often a loop has run are questions */
    WEIRI_COUNTED = 512,  /* no reduction: conditions and lengths are worked out from the units of loops, wherever they are */
    WEIRI_SORTED = 1024,  /* ... and loops in each other are put into one order */
    WEIRI_PARTED = 2048,  /* no reduction: loops that move nothing in common have lengths of their own */
    WEIRI_IN_TURN = 64    /* no reduction: a loop n times as long as another reads n instances of that one, not one n times */
};
/* Returns what it cost: the instructions run, the words of states touched and of memory taken. */
uint64_t weiri_prove_without(const weiri_plan *p, weiri_arena *a, weir_proof *out, weiri_findings *f, int without);

/* prove_plan.c: do the tables agree with each other? Returns how many findings it adds. */
int weiri_prove_plan(const weiri_plan *p, weiri_arena *a, weiri_findings *f);

weiri_prog *weiri_prog_new(const weiri_plan *p, weiri_arena *a, int without);
/* CTAs whose bytes an effect touches; returns how many. */
int weiri_prog_effect(const weiri_prog *g, const weiri_actor *me, const weiri_action *act, const weiri_effect *e, int *ctas);
bool weiri_prog_runs(const weiri_prog *g, const weiri_actor *me, const weiri_action *act);  /* does this actor execute it? */
int weiri_prog_by(const weiri_action *act);                                                 /* BY_* of who executes it */
int weiri_prog_targets(const weiri_prog *g, int cta, const weiri_action *act, int *out);    /* CTAs, own first */
/* CTAs whose barriers it reaches, one for each target. */
int weiri_prog_spots(const weiri_prog *g, int cta, const weiri_action *act, int *out);
int weiri_prog_leader(const weiri_prog *g, int cta);    /* the CTA with v = 0 of its pair; with v = 1 itself */
/* A barrier on which the leader alone waits: what one mma of a pair hands to the next reaches the other CTA's too, where nobody asks. Its
 * arrivals are those of the leader's. */
bool weiri_prog_unwatched(const weiri_prog *g, int cta, int bar);
weiri_rec_kind weiri_prog_kind(const weiri_action *act, const weiri_effect *e);
enum { CTA_MEETS = 64 }; /* no id of a named barrier, not even of a broken plan's that counts to 16 */
int weiri_prog_named(const weiri_prog *g, const weiri_actor *me, const weiri_action *act);  /* barrier id; CTA_MEETS: the CTA's */
int weiri_prog_lane(const weiri_prog *g, const weiri_actor *me, int cur);                  /* first stage of a cursor */
/* " (gemm.lua:12)", or "". */
const char *weiri_prog_at(weiri_arena *a, const weiri_node *n);
void weiri_prog_trust(weiri_prog *g, const char *what);                                    /* names it in the verdict, once */
int weiri_prog_slot(const weiri_prog *g, int cta, int id);                                 /* place of a named barrier */
int weiri_prog_tape(const weiri_prog *g, int tape, int cta);                               /* the CTA's own, or the shared one */

void weiri_keep_place(weiri_prog *g);                                        /* prove_keep.c: lays out the rows of a state */

/* prove_gmem.c: accesses of tensors that several tasks access, one of them writing */
void weiri_gmem_places(weiri_prog *g);                                       /* finds them and what meets */
bool weiri_gmem_touches(const weir_kernel *k, weiri_arena *a, const weiri_op *op);   /* does it access a tensor that the kernel writes? */
bool weiri_slabs_inside(const weir_kernel *k, const weiri_op *op, int cta); /* of all parts that it names by number */
bool weiri_gmem_any(const weiri_op *op);                                     /* an op without stages: any tensor at all? */
bool weiri_gmem_works(const weiri_action *act);                              /* does it do what its op accesses of tensors? */
void weiri_gmem_trusts(weiri_prog *g);                                       /* behind all runs: what is taken on trust */

static inline const weir_place *weiri_act_at(const weiri_action *a) {
    return a && a->op && a->op->at.n > 0 ? &a->op->at.at[0] : NULL;
}

/* ---- a run (prove_run.c) ------------------------------------------------------------------------------------------------ */

typedef struct weiri_fault {
    const char *rule;
    int act, actor, with;        /* action, task, and what it meets: together the fault's identity */
    int order;                   /* in a report, smallest first */
    int who, other;              /* actors it is about, -1 none */
    /* filled in while replaying */
    const char *text, *hint, *expected, *got, *object, *other_what;
    const weir_place *at, *other_at;
} weiri_fault;

typedef struct weiri_event { int actor; const weiri_action *act; int stage, phase; } weiri_event;

#define WEIRI_WANT_NONE (-1)
#define WEIRI_WANT_TILE (-2)

typedef struct weiri_parked { const int *at; int phase; } weiri_parked;

typedef struct weiri_run {
    const weiri_prog *g;
    weiri_arena *a;              /* texts */
    int *v;                      /* ints of the state */
    uint64_t *w;                 /* knowledge */
    const int *force;            /* by form: its number of units in every instance, -1 open; NULL: all open */
    /* what the last weiri_run_go met */
    weiri_fault fault[8]; int nfaults;
    bool stuck;                  /* somebody waits for ever */
    bool done;                   /* all have ended */
    int want, want_tile;         /* tape asked for */
    bool fatal;                  /* a fault after which the model says nothing more */
    bool endless;                /* a task goes round with nothing to ask */
    int left;                    /* tiles that all have left, since the run began */
    weiri_parked *parked;        /* by actor: the barrier's stage that it waits at, and its phase then; at NULL: at none */
    /* replay */
    bool replay;
    WEIRI_LIST(weiri_event) log;
    const weiri_action **rec_act;    /* by aux int of a record: the access recorded */
    const weiri_action **last_commit; /* by actor: its newest tcgen05.commit of the author's */
    const weiri_env *launch;         /* of a run in which nothing is left open (prove_exact.c) */
    int64_t (*coords)[WEIR_MAX_RANK];
    int ncoords;                     /* ... of its tiles, one by one; NULL: they are not known */
    int64_t *iter;                   /* ... by int of a loop's L_PART: its iteration */
    bool unknown;                    /* ... a number that memory, a body or a tile's coordinates give */
} weiri_run;

size_t weiri_state_size(const weiri_prog *g);
void weiri_run_init(weiri_run *r, const weiri_prog *g, weiri_arena *a, void *state);    /* lays r over a state's memory */
void weiri_run_start(weiri_run *r);                                                     /* the initial state */
void weiri_run_go(weiri_run *r);                                                        /* until nothing moves */
bool weiri_run_may(const weiri_run *r, int letter);                                     /* can `want` be answered so? */
bool weiri_run_far(const weiri_run *r); /* are tasks too far apart for what is asked? */
void weiri_run_choose(weiri_run *r, int letter);
/* Runs the program with the arguments of one launch, and so many work tiles, up to a fault. */
typedef enum weiri_exact { EXACT_NONE, EXACT_FAULT, EXACT_UNKNOWN /* memory, bodies or coordinates decide */ } weiri_exact;
weiri_exact weiri_run_exact(weiri_run *r, const weiri_env *launch, int tiles);
/* In such a run: does the loop have `need` iterations more than the `done`? Does the condition hold? */
int weiri_exact_more(weiri_run *r, int actor, int loop, int64_t done, int need);
int weiri_exact_truth(weiri_run *r, int actor, uint32_t condition);
/* Has every ring that has moved since the state with the ints `from` turned so many times? */
bool weiri_run_turned(const weiri_run *r, const int *from, int times);
/* The state with its stages renamed and counted from the ring's own origin; scratch: another state's memory. */
void weiri_run_canonical(const weiri_prog *g, void *state, void *scratch);
/* Makes `into` stand for both states, whose control is equal: knows what both know. True when it changed. */
bool weiri_run_merge(const weiri_prog *g, void *into, const void *other);
const char *weiri_run_stop_text(weiri_run *r, int actor, const weiri_action **act);     /* why it does not go on; NULL: ended */
int *weiri_run_tape(const weiri_run *r, int tape, int tile);

#endif
