/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Moving bytes between the processes of a machine.
 *
 * Owns the costs of copies. Costs are measured before the first use and changed under the progress
 * lock; copying itself keeps no state.
 */
#ifndef SOFTHCA_COPY_H
#define SOFTHCA_COPY_H

#include "segment.h"

/* One end of a copy: scattered memory of a process. */
struct memory_list {
    int32_t pid;
    uint32_t n_sge;
    const struct ibv_sge *sge;
};

/* Copies length bytes at the same offset of both lists. One of the two processes is this one.
 * 0, or EFAULT if memory is not mapped, ESRCH if the process is gone, EPERM. */
int copy_between(const struct memory_list *to, const struct memory_list *from, uint64_t offset,
                 uint64_t length);
/* The same into one range, so that the last word of every 512 bytes of the target's memory and the
 * last word of all become visible after what lies before them, to other threads too. Between two
 * ranges of this process all bytes become visible in order, here and above. */
int copy_in_order(const struct memory_list *to, const struct memory_list *from, uint64_t offset,
                  uint64_t length);
/* Copies bytes of this process into a list of its own, in order of rising addresses. */
void copy_inline(const struct memory_list *to, const uint8_t *from, uint64_t offset,
                 uint64_t length);
/* Copies bytes of a list into this process. All by the kernel, so that memory that is not mapped
 * any more is an error. 0, or as copy_between(). */
int copy_fetch(uint8_t *to, const struct memory_list *from, uint64_t offset, uint64_t length);

/* A part of some bytes. */
struct piece {
    uint32_t begin, length;
};
/* Copies pieces of this process's `from` to their places behind `to`, an address in process pid,
 * one after the other, each by rising addresses; aligned words of 8 bytes are whole. Takes long
 * into another process: the kernel is told of each word. 0, or as copy_between(). */
int copy_pieces(int32_t pid, uint64_t to, const uint8_t *from, const struct piece *pieces,
                unsigned n);
/* Who copies: the kernel, if the other end is another process's memory, or this process alone. */
enum copier { COPIER_KERNEL, COPIER_PROCESS, COPIERS };

/* What that takes for so many bytes; ns. */
uint64_t copy_cost(enum copier copier, uint64_t length);
/* What it took this process alone for bytes that another one had written, which is mostly the way
 * from that one's cache and thus more than what can be measured within one process: copy_cost()
 * follows it, so that three of four copies take longer. Under the progress lock. */
void copy_took(uint64_t length, uint64_t ns);
/* Measures copy_cost on this machine; about 100 us. */
void copy_calibrate(void);

#endif
