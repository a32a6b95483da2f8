/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Preloaded, it makes Open MPI's library look like one of another series. */
extern const char opal_version_string[];
const char opal_version_string[] = "5.0.9";
