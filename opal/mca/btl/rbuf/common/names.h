/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Lists of names that users give, of interfaces and of adapters: entries separated by commas, with
 * blanks around them. NULL and a list of separators alone have no entry.
 *
 * Pure functions; any thread.
 */
#ifndef RBUF_COMMON_NAMES_H
#define RBUF_COMMON_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* An entry of a list; not terminated. */
struct rbuf_name {
    const char *start;
    size_t length; /* bytes */
};

/* Takes the first entry off `*list` and moves that behind it. False: there is none. */
bool rbuf_names_next(const char **list, struct rbuf_name *name);

bool rbuf_names_any(const char *list);

/* Whether the entry is `text`. */
bool rbuf_name_is(const struct rbuf_name *name, const char *text);

#endif
