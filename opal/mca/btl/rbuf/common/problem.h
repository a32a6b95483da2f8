/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Problems: what went wrong, for the help text.
 *
 * A function that can fail returns 0 or a negative errno and, if it fails, has filled the caller's
 * struct rbuf_problem. The function that can name the cause fills it, once; those above pass it on.
 * Nothing here prints: glue shows the help text named by `topic` with the other fields as
 * arguments.
 *
 *     topic              what                          value                     remedy
 *     no-device          what was looked for           what exists, with state   what to check
 *     no-such-interface  the interface asked for       what exists, with state   how to name one
 *     bad-gid-index      device:port                   index and what exists     what is allowed
 *     bad-option         device:port and the option    the value                 what is allowed
 *     device             device:port and the call      error text                what to check
 *     memlock, memlock-* what was to be registered     limit, wanted, held       how to raise it
 *     reg-failed         what was to be registered     error text                what to check
 *     receive-queue      device:port and channel       wanted, limit or error    what to lower
 *     queue-pair         device:port, channel, step    error text or limit       what to check
 *     unreachable        device:port                   the two sides             what to check
 *     listener-address   the entry of the list         interfaces that exist     how to name one
 *     listener-port      the port range                error text                what to change
 *     listener           the call                      error text                what to check
 */
#ifndef RBUF_COMMON_PROBLEM_H
#define RBUF_COMMON_PROBLEM_H

struct rbuf_problem {
    const char *topic; /* static; key of the help file */
    char what[128];
    char value[256];
    char remedy[256];
    int error; /* the negative errno that is returned */
};

/* Fills what, topic and error, empties the rest; returns `error`. */
int rbuf_problem_set(struct rbuf_problem *problem, const char *topic, int error, const char *what,
                     ...) __attribute__((format(printf, 4, 5)));

/* Sets one more field; cut at its end if it is too long. */
void rbuf_problem_value(struct rbuf_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rbuf_problem_remedy(struct rbuf_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds an entry to the list in which value ends: behind a comma, unless value is empty or ends with
 * a blank. An entry that has no room any more is left out. */
void rbuf_problem_list(struct rbuf_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets value to the text of `error` (a negative errno). */
void rbuf_problem_errno(struct rbuf_problem *problem, int error);

#endif
