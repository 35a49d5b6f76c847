/* Fibers: a stack and a place to go on. */
#ifndef WEIRI_FIBER_H
#define WEIRI_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__ELF__) && !defined(WEIRI_FIBER_UCONTEXT)
#define WEIRI_FIBER_ASM 1
#else
#include <ucontext.h>
#endif

typedef struct weiri_fiber {
#ifdef WEIRI_FIBER_ASM
    void *sp;            /* where its registers lie while it is not running */
#else
    ucontext_t at;
#endif
    char *stack;         /* lowest byte; NULL: the caller's own stack */
    size_t size;
    void *fake;          /* AddressSanitizer's */
} weiri_fiber;

/* Stacks for n fibers, each `size` bytes (whole pages) behind a page that faults. NULL: no memory. */
char *weiri_stacks_map(int n, size_t size);
void weiri_stacks_unmap(char *stacks, int n, size_t size);
char *weiri_stack(char *stacks, int i, size_t size);

/* Fills the top `bytes` of a stack that no fiber runs on. */
void weiri_stack_fill(char *stack, size_t size, size_t bytes, unsigned word);

/* Prepares a fiber that will call fn(arg) on `stack`; fn must never return. What an earlier fiber left there is forgotten. */
void weiri_fiber_make(weiri_fiber *f, char *stack, size_t size, void (*fn)(void *), void *arg);
/* Leaves `from`, which comes back from this call when somebody switches to it. */
void weiri_fiber_switch(weiri_fiber *from, weiri_fiber *to);
/* First thing in fn. `from` is the fiber that switched here. */
void weiri_fiber_enter(weiri_fiber *from);

#endif
