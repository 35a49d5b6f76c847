/* A context switch saves what the ABI says a call keeps, and nothing else. */
#define _GNU_SOURCE
#include "fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(WEIRI_FIBER_ASM) && defined(__x86_64__)
/* System V: rbx, rbp, r12-r15, and the control words of SSE and x87. */
__asm__(".text\n.p2align 4\n.globl weiri_fiber_jump\n.hidden weiri_fiber_jump\n.type weiri_fiber_jump,@function\n"
        "weiri_fiber_jump:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    subq $8, %rsp\n    stmxcsr (%rsp)\n    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n    fldcw 4(%rsp)\n    addq $8, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size weiri_fiber_jump,.-weiri_fiber_jump\n"
        ".globl weiri_fiber_start\n.hidden weiri_fiber_start\n.type weiri_fiber_start,@function\n"
        "weiri_fiber_start:\n"
        "    movq %r12, %rdi\n    callq *%rbx\n    ud2\n"
        ".size weiri_fiber_start,.-weiri_fiber_start\n");
enum { FRAME_WORDS = 8, WORD_FN = 5, WORD_ARG = 4, WORD_PC = 7 };
#elif defined(WEIRI_FIBER_ASM)
/* AAPCS64: x19-x30, d8-d15. */
__asm__(".text\n.p2align 4\n.globl weiri_fiber_jump\n.hidden weiri_fiber_jump\n.type weiri_fiber_jump,%function\n"
        "weiri_fiber_jump:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n    ret\n"
        ".size weiri_fiber_jump,.-weiri_fiber_jump\n"
        ".globl weiri_fiber_start\n.hidden weiri_fiber_start\n.type weiri_fiber_start,%function\n"
        "weiri_fiber_start:\n"
        "    mov x0, x20\n    blr x19\n    brk #1\n"
        ".size weiri_fiber_start,.-weiri_fiber_start\n");
enum { FRAME_WORDS = 20, WORD_FN = 0, WORD_ARG = 1, WORD_PC = 11 };
#endif

#ifdef WEIRI_FIBER_ASM
void weiri_fiber_jump(void **from, void *to);
void weiri_fiber_start(void);
#else
/* makecontext hands over ints only. */
static void start(unsigned fn_lo, unsigned fn_hi, unsigned arg_lo, unsigned arg_hi) {
    uint64_t fn = fn_lo | (uint64_t)fn_hi << 32, arg = arg_lo | (uint64_t)arg_hi << 32;
    ((void (*)(void *))(uintptr_t)fn)((void *)(uintptr_t)arg);
}
#endif

static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

char *weiri_stack(char *stacks, int i, size_t size) { return stacks + (size_t)i * (size + page()) + page(); }

char *weiri_stacks_map(int n, size_t size) {
    size_t all = (size_t)n * (size + page());
    char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    for (int i = 0; i < n; i++)
        if (mprotect(weiri_stack(p, i, size) - page(), page(), PROT_NONE)) {
            munmap(p, all);
            return NULL;
        }
    return p;
}

void weiri_stacks_unmap(char *stacks, int n, size_t size) { munmap(stacks, (size_t)n * (size + page())); }

void weiri_stack_fill(char *stack, size_t size, size_t bytes, unsigned word) {
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(stack, size);
#endif
    char *p = stack + size - bytes;
    size_t n = bytes < sizeof word ? bytes : sizeof word;
    memcpy(p, &word, n);
    for (size_t more; n < bytes; n += more) { /* what is there once more: most of a CTA that does little is this */
        more = n < bytes - n ? n : bytes - n;
        memcpy(p + n, p, more);
    }
}

void weiri_fiber_make(weiri_fiber *f, char *stack, size_t size, void (*fn)(void *), void *arg) {
    *f = (weiri_fiber){ .stack = stack, .size = size };
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(stack, size);
#endif
#ifdef WEIRI_FIBER_ASM
    /* At the first switch the restored frame ends 16-aligned, as at a call's return address. */
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)63;
    uintptr_t *frame = (uintptr_t *)top - FRAME_WORDS;
    memset(frame, 0, FRAME_WORDS * sizeof *frame);
    frame[WORD_FN] = (uintptr_t)fn;
    frame[WORD_ARG] = (uintptr_t)arg;
    frame[WORD_PC] = (uintptr_t)weiri_fiber_start;
#if defined(__x86_64__)
    uint32_t control[2] = { 0, 0 };
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(control[0]), "=m"(control[1]));
    memcpy(frame, control, sizeof control);
#endif
    f->sp = frame;
#else
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = stack;
    f->at.uc_stack.ss_size = size;
    f->at.uc_link = NULL;
    uint64_t a = (uint64_t)(uintptr_t)fn, b = (uint64_t)(uintptr_t)arg;
    makecontext(&f->at, (void (*)(void))start, 4, (unsigned)a, (unsigned)(a >> 32), (unsigned)b, (unsigned)(b >> 32));
#endif
}

void weiri_fiber_switch(weiri_fiber *from, weiri_fiber *to) {
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->size);
#endif
#ifdef WEIRI_FIBER_ASM
    weiri_fiber_jump(&from->sp, to->sp);
#else
    swapcontext(&from->at, &to->at);
#endif
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

void weiri_fiber_enter(weiri_fiber *from) {
#ifdef FIBER_ASAN
    /* The stack of the thread that runs the scheduler is learnt here: it is the one we come from. */
    const void *bottom = NULL;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    if (!from->stack || !from->size) {
        from->stack = (char *)(uintptr_t)bottom;
        from->size = size;
    }
#else
    (void)from;
#endif
}
