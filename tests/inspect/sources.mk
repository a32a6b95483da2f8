# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What tests ask of core that neither its counters nor its functions tell: a header for each folder of core, whose
# sources alone touch the members of that folder's part (core/state/FOLDER.h). Whoever compiles core against a
# fabric.h of its own compiles these files beside it: they see the same structures. %reldir% is this folder as seen
# from the file that includes this one; the compiler finds inspect/FOLDER.h by -I of the folder tests.

inspect_sources = \
    %reldir%/eager.c \
    %reldir%/eager.h \
    %reldir%/eager_rings.c \
    %reldir%/link.c \
    %reldir%/link.h \
    %reldir%/onesided.c \
    %reldir%/onesided.h \
    %reldir%/rendezvous.c \
    %reldir%/rendezvous.h \
    %reldir%/rendezvous_staging.c \
    %reldir%/stage.c \
    %reldir%/stage.h
