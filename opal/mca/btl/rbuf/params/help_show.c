/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Topics of the help file (params/help_show.h). No state.
 */
#include "params/help_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rbuf_compat_help.h"

#define LINE "--------------------------------------------------------------------------\n"

void mca_btl_rbuf_help_files(const struct mca_btl_rbuf_help_texts *texts)
{
    rbuf_compat_help_open(texts);
}

static const char *text_of(const struct mca_btl_rbuf_help_texts *texts, const char *topic)
{
    const struct mca_btl_rbuf_help_topic *known = texts->topics;

    while (known->name != NULL && strcmp(known->name, topic) != 0) {
        known++;
    }
    return known->text;
}

static void print(FILE *stream, const char *text, const char *const *values)
{
    const char *place;

    fputs(LINE, stream);
    while ((place = strstr(text, "%s")) != NULL) {
        fprintf(stream, "%.*s%s", (int) (place - text), text, *values != NULL ? *values++ : "");
        text = place + strlen("%s");
    }
    fprintf(stream, "%s" LINE, text);
}

char *mca_btl_rbuf_help_render(const struct mca_btl_rbuf_help_texts *texts, const char *topic,
                               const char *const values[MCA_BTL_RBUF_HELP_VALUES])
{
    const char *given[MCA_BTL_RBUF_HELP_VALUES + 1] = {NULL};
    const char *text = text_of(texts, topic);
    char *rendered = NULL;
    size_t length;
    FILE *stream = text != NULL ? open_memstream(&rendered, &length) : NULL;

    if (stream == NULL) {
        return NULL;
    }
    memcpy(given, values, MCA_BTL_RBUF_HELP_VALUES * sizeof(*values));
    print(stream, text, given);
    if (fclose(stream) != 0) {
        free(rendered);
        return NULL;
    }
    return rendered;
}

void mca_btl_rbuf_help_show(const struct mca_btl_rbuf_help_texts *texts, const char *topic,
                            const char *const values[MCA_BTL_RBUF_HELP_VALUES])
{
    char *rendered = mca_btl_rbuf_help_render(texts, topic, values);

    rbuf_compat_help_show(texts->file, topic, values, rendered != NULL ? rendered : topic);
    free(rendered);
}
