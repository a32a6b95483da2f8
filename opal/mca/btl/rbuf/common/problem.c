/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How a problem is filled (common/problem.h): every text is cut to its field, never overrun. Any
 * thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the form of strerror_r() that needs no lock */
#endif
#include "common/problem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int rbuf_problem_set(struct rbuf_problem *problem, const char *topic, int error, const char *what,
                     ...)
{
    va_list arguments;

    memset(problem, 0, sizeof(*problem));
    problem->topic = topic;
    problem->error = error;
    va_start(arguments, what);
    (void) vsnprintf(problem->what, sizeof(problem->what), what, arguments);
    va_end(arguments);
    return error;
}

void rbuf_problem_value(struct rbuf_problem *problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void) vsnprintf(problem->value, sizeof(problem->value), format, arguments);
    va_end(arguments);
}

void rbuf_problem_list(struct rbuf_problem *problem, const char *format, ...)
{
    const size_t used = strlen(problem->value);
    const size_t comma = used == 0 || problem->value[used - 1] == ' ' ? 0 : strlen(", ");
    char entry[sizeof(problem->value)];
    va_list arguments;

    va_start(arguments, format);
    (void) vsnprintf(entry, sizeof(entry), format, arguments);
    va_end(arguments);
    if (used + comma + strlen(entry) < sizeof(problem->value)) {
        memcpy(problem->value + used, ", ", comma);
        memcpy(problem->value + used + comma, entry, strlen(entry) + 1);
    }
}

void rbuf_problem_remedy(struct rbuf_problem *problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void) vsnprintf(problem->remedy, sizeof(problem->remedy), format, arguments);
    va_end(arguments);
}

void rbuf_problem_errno(struct rbuf_problem *problem, int error)
{
    char text[128];

    /* The GNU form, which needs no lock: other threads may ask at the same time. */
    rbuf_problem_value(problem, "%s (errno %d)", strerror_r(-error, text, sizeof(text)), -error);
}
