/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether the transport sees that Open MPI has ended its classes: then it destructs none of the
 * objects that it still has (rbuf_compat_class_is_there()).
 */
#include "rbuf_compat.h"

#include "opal/class/opal_list.h"

#include "check.h"

int main(int argc, char **argv)
{
    opal_list_t list;
    int status;

    check_begin(&argc, &argv);
    OBJ_CONSTRUCT(&list, opal_list_t);
    check_that(rbuf_compat_class_is_there(OBJ_CLASS(opal_list_t)), "no class while MPI is in use");
    OBJ_DESTRUCT(&list);
    status = check_end(); /* ends MPI */
    if (rbuf_compat_class_is_there(OBJ_CLASS(opal_list_t))) {
        fprintf(stderr, "wrong: a class behind the end of MPI\n");
        status = 1;
    }
    return status;
}
