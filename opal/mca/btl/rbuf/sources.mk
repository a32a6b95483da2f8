# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Every source file of the component, by storey; a new file is one more line here. Included by the
# component's Makefile.am and, for the core, by that of the simulator, which compiles the same files
# against its own fabric.h. %reldir% is this folder as seen from the file that includes this one.

rbuf_glue_sources =

rbuf_core_sources = %reldir%/core/schedule.c %reldir%/core/schedule.h

rbuf_verbs_sources =
