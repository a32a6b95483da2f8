/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Shows the topics of a component's help file. They are compiled in, since Open MPI 6 reads no
 * files; Open MPI 4.1 and 5.0 read the installed one. Also part of osc/rbuf. The texts are named
 * after their component: a program that is linked with Open MPI statically has both.
 */
#ifndef BTL_RBUF_HELP_SHOW_H
#define BTL_RBUF_HELP_SHOW_H

#define MCA_BTL_RBUF_HELP_VALUES 5

struct mca_btl_rbuf_help_topic {
    const char *name;
    const char *text; /* with a %s for each value */
};

/* A component's own file. */
struct mca_btl_rbuf_help_texts {
    const char *file;
    const struct mca_btl_rbuf_help_topic *topics; /* the last one has no name */
};

/* By config/help_topics.awk; a component links its own alone. */
extern const struct mca_btl_rbuf_help_texts mca_btl_rbuf_help_texts;
extern const struct mca_btl_rbuf_help_texts mca_osc_rbuf_help_texts;

/* Before the first is shown: tells the releases of Open MPI that read the help file where it is,
 * which is beside the component, wherever that is installed. */
void mca_btl_rbuf_help_files(const struct mca_btl_rbuf_help_texts *texts);

/* A topic between two lines, with its values in the text. Values that the topic does not use are
 * left out. To be freed; NULL: there is no memory, or no such topic. Any thread. */
char *mca_btl_rbuf_help_render(const struct mca_btl_rbuf_help_texts *texts, const char *topic,
                               const char *const values[MCA_BTL_RBUF_HELP_VALUES]);

/* Shows a topic to whoever started the job; equal topics of several processes are merged. Any
 * thread that may call Open MPI. */
void mca_btl_rbuf_help_show(const struct mca_btl_rbuf_help_texts *texts, const char *topic,
                            const char *const values[MCA_BTL_RBUF_HELP_VALUES]);

#endif
