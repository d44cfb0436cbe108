/*
 * kernel.h: what lockword needs of Linux's <linux/futex.h>, <linux/membarrier.h>, <linux/magic.h>
 * and <linux/sched/types.h>. They are the kernel's and never change; a C library such as musl comes
 * without these headers.
 */
#ifndef LOCKWORD_KERNEL_H
#define LOCKWORD_KERNEL_H

#include <stdint.h>

#define FUTEX_WAKE 1
#define FUTEX_WAIT_BITSET 9
#define FUTEX_PRIVATE_FLAG 128
#define FUTEX_BITSET_MATCH_ANY 0xffffffff

/* For futex_waitv. */
#define FUTEX_32 2
#define FUTEX_WAITV_MAX 128
struct futex_waitv {
    uint64_t val;
    uint64_t uaddr;
    uint32_t flags;
    uint32_t reserved;
};

/* A robust futex: its bits besides the owner's thread id, and the list of each thread. */
#define FUTEX_WAITERS 0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
struct robust_list {
    struct robust_list *next;
};
struct robust_list_head {
    struct robust_list list;
    long futex_offset;
    struct robust_list *list_op_pending;
};

#define MEMBARRIER_CMD_GLOBAL_EXPEDITED (1 << 1)
#define MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED (1 << 2)

/* What fstatfs says of a file of /proc. */
#define PROC_SUPER_MAGIC 0x9fa0

/* For sched_setattr. */
#define SCHED_FLAG_KEEP_POLICY 8
struct sched_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* under an ordinary policy: the time slice, ns */
    uint64_t deadline;
    uint64_t period;
};

#endif
