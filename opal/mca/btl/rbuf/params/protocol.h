/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the protocols are, a row each: for who sends, for who sets up, and for who shows what was
 * set up. How a protocol registers memory is in registration/registrar.c.
 *
 * Constant; any thread. The protocol in effect does not change once ports are open.
 */
#ifndef BTL_RBUF_PROTOCOL_H
#define BTL_RBUF_PROTOCOL_H

#include <stdbool.h>

#include "core/base/schedule.h"
#include "params/params.h"

/* How the data of a rendezvous travels. */
enum mca_btl_rbuf_travel {
    MCA_BTL_RBUF_TRAVEL_STAGED,   /* through staging: no memory of the program is registered, but
                                     windows */
    MCA_BTL_RBUF_TRAVEL_IN_PLACE, /* from and to the program's memory; staged if it cannot be
                                     registered */
    MCA_BTL_RBUF_TRAVEL_CHOSEN    /* by the one or the other, as core/choice decides for each */
};

/* How staged data is cut. */
enum mca_btl_rbuf_cut {
    MCA_BTL_RBUF_CUT_GROWING, /* into chunks that grow, each taken block after block */
    MCA_BTL_RBUF_CUT_EQUAL,   /* into chunks of one length, each taken as a whole */
    MCA_BTL_RBUF_CUT_WHOLE    /* not at all, as far as there is staging */
};

struct mca_btl_rbuf_protocol_row {
    enum mca_btl_rbuf_travel travel;
    enum mca_btl_rbuf_cut cut;
    bool early; /* messages may begin behind their rendezvous, before it is answered */
};

/* By enum mca_btl_rbuf_protocol. */
extern const struct mca_btl_rbuf_protocol_row mca_btl_rbuf_protocols[];

/* The one in effect. */
static inline const struct mca_btl_rbuf_protocol_row *mca_btl_rbuf_protocol(void)
{
    return &mca_btl_rbuf_protocols[mca_btl_rbuf_params.protocol];
}

/* The parameters by which staged data is cut. */
struct mca_btl_rbuf_cut_settings {
    const char *first; /* that with the length of the first chunk; NULL: none has it */
    const char *all;
};

/* Those of the protocol in effect. */
const struct mca_btl_rbuf_cut_settings *mca_btl_rbuf_cut_settings(void);

/* By what the protocol in effect cuts messages where there is enough staging, as the parameters ask
 * for; that of protocols without staging is the superpipeline's. */
struct rbuf_schedule mca_btl_rbuf_schedule(void);

#endif
