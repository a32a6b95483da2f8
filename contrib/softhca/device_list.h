/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The reader of SOFTHCA_DEVICES. Pure. */
#ifndef SOFTHCA_DEVICE_LIST_H
#define SOFTHCA_DEVICE_LIST_H

#include "config.h"

/* Reads a comma list, which is cut up; what an item leaves out is as in base. NULL, or the item
 * that cannot be read. */
const char *devices_read(char *list, const struct device_setting *base,
                         struct device_setting devices[MAX_DEVICES], uint32_t *n);
/* Gives a device the answers of a model, as far as that leaves no choice. */
void device_apply_model(struct device_setting *device, const struct device_model *model);

/* Reads a table of partition keys; false if it cannot be read. */
bool pkeys_read(const char *text, char separator, struct device_setting *device);

#endif
