/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Has Open MPI's convertors pack into one piece of memory, and tells how much came
 * (module/convertor.h).
 */
#include "module/convertor.h"

#include "params/params.h"
#include "core/base/copy.h"
#include "core/base/schedule.h"

#define TURN_BYTES 4096u
#define LINE_BYTES 64u
#define LAST_BYTES 4096u /* of the last fragments of packed data */

/*
 * Scattered data goes by way of a small buffer that stays in the first cache. Lines of a fragment
 * were last read by another processor or an adapter, and a packing loop that writes there waits for
 * one line after the other; rbuf_copy() has several under way. (contrib/speed.sh packed:infini has
 * vectors beside contiguous bytes.) Not for peers of another kind: Open MPI 4.1.4 resumes their
 * conversion in the wrong place.
 */
static bool pack_in_turns(struct opal_convertor_t *convertor, unsigned char *to, size_t *bytes)
{
    _Alignas(LINE_BYTES) unsigned char turn[TURN_BYTES];
    size_t done = 0;
    size_t packed = 1;

    while (done < *bytes && packed > 0) { /* none: an element larger than what is left */
        struct iovec piece = {.iov_base = (IOVBASE_TYPE *) turn};
        uint32_t pieces = 1;

        piece.iov_len = packed = *bytes - done < TURN_BYTES ? *bytes - done : TURN_BYTES;
        if (opal_convertor_pack(convertor, &piece, &pieces, &packed) < 0) {
            return false;
        }
        rbuf_copy(to + done, turn, packed);
        done += packed;
    }
    *bytes = done;
    return true;
}

bool mca_btl_rbuf_pack(struct opal_convertor_t *convertor, void *to, size_t *bytes)
{
    struct iovec piece = {.iov_base = (IOVBASE_TYPE *) to, .iov_len = *bytes};
    uint32_t pieces = 1;

    if (opal_convertor_need_buffers(convertor) && (convertor->flags & CONVERTOR_HOMOGENEOUS) != 0 &&
        (convertor->flags & RBUF_CONVERTOR_DEVICE) == 0) {
        return pack_in_turns(convertor, to, bytes);
    }
    return opal_convertor_pack(convertor, &piece, &pieces, bytes) >= 0;
}

/*
 * How much of packed data the next fragment takes: the schedule of the superpipeline without its
 * blocks. After S bytes the next of the sizes C0 q^i is C0 + S (q - 1), so the offset is all that
 * has to be known. A fragment is unpacked when all of it is there: the last ones are small, so that
 * little is left to do behind the last byte.
 */
size_t mca_btl_rbuf_packed_size(const mca_btl_base_module_t *btl,
                                const struct opal_convertor_t *convertor, size_t reserve)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    size_t offset = convertor->bConverted;
    size_t left = convertor->local_size - offset;
    size_t most = btl->btl_max_send_size - reserve;
    size_t first = params->c0 < params->early_c0 ? params->c0 : params->early_c0;
    size_t grown = first + (size_t) ((offset >> 16) * (params->q - RBUF_GROWTH_ONE)) +
                   (size_t) (((offset & 0xffff) * (params->q - RBUF_GROWTH_ONE)) >> 16);

    if (grown > left / 2) {
        grown = left >= 2 * LAST_BYTES ? left / 2 : left;
    }
    return grown < most ? grown : most;
}
