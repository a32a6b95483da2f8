/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Litmus tests of registered memory in shared pages. */
#ifndef LITMUS_PAGES_H
#define LITMUS_PAGES_H

#include "litmus.h"

void which_pages_active(struct side *side);
void out_of_pages_active(struct side *side);
void out_of_pages_passive(struct side *side);
void parts_of_pages_active(struct side *side);
void pages_lost_active(struct side *side);
void pages_anew_active(struct side *side);
/* Polls until the other side is done: what it sends is pulled then, and not pushed. */
void polling_passive(struct side *side);

#endif
