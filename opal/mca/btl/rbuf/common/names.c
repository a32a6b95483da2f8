/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Splits lists of names (names.h): an entry points into the user's text, nothing is copied. */
#include "common/names.h"

#include <string.h>

#define SEPARATORS ", \t"

bool rbuf_names_next(const char **list, struct rbuf_name *name)
{
    const char *start;
    size_t length;

    if (*list == NULL) {
        return false;
    }
    start = *list + strspn(*list, SEPARATORS);
    length = strcspn(start, SEPARATORS);
    if (length == 0) {
        return false;
    }
    *name = (struct rbuf_name){.start = start, .length = length};
    *list = start + length;
    return true;
}

bool rbuf_names_any(const char *list)
{
    struct rbuf_name name;

    return rbuf_names_next(&list, &name);
}

bool rbuf_name_is(const struct rbuf_name *name, const char *text)
{
    return strlen(text) == name->length && strncmp(text, name->start, name->length) == 0;
}
