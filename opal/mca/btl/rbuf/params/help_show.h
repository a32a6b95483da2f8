/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Shows the topics of a component's help file. They are compiled in, since Open MPI 6 reads no
 * files; Open MPI 4.1 and 5.0 read the installed one. Also part of osc/rbuf.
 */
#ifndef BTL_RBUF_HELP_SHOW_H
#define BTL_RBUF_HELP_SHOW_H

#define MCA_BTL_RBUF_HELP_VALUES 5

struct mca_btl_rbuf_help_topic {
    const char *name;
    const char *text; /* with a %s for each value */
};

/* The component's own file, by config/help_topics.awk: its name, and its topics, of which the last
 * one has no name. */
extern const char mca_btl_rbuf_help_file[];
extern const struct mca_btl_rbuf_help_topic mca_btl_rbuf_help_topics[];

/* Before the first is shown: tells the releases of Open MPI that read the help file where it is,
 * which is beside this component, wherever that is installed. */
void mca_btl_rbuf_help_files(void);

/* A topic between two lines, with its values in the text. Values that the topic does not use are
 * left out. To be freed; NULL: there is no memory, or no such topic. Any thread. */
char *mca_btl_rbuf_help_render(const char *topic,
                               const char *const values[MCA_BTL_RBUF_HELP_VALUES]);

/* Shows a topic to whoever started the job; equal topics of several processes are merged. Any
 * thread that may call Open MPI. */
void mca_btl_rbuf_help_show(const char *topic, const char *const values[MCA_BTL_RBUF_HELP_VALUES]);

#endif
