/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where help texts are: PREFIX/lib/openmpi/COMPONENT.so has them in PREFIX/share/openmpi. Also part
 * of osc/rbuf. No state.
 */
#include "rbuf_compat.h"

#include "btl_rbuf_help_dir.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "opal/util/show_help.h"

void mca_btl_rbuf_help_dir(const void *inside)
{
    char object[PATH_MAX];
    char directory[PATH_MAX + 32];
    Dl_info info;

    if (dladdr(inside, &info) == 0 || realpath(info.dli_fname, object) == NULL) {
        return;
    }
    snprintf(directory, sizeof(directory), "%s/../../share/openmpi", dirname(object));
    opal_show_help_add_dir(directory);
}
