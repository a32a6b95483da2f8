# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The cost model: for rbuf-tune and for the simulator, which include this file. It needs the schedule of
# the component's core (core/base/schedule.c), and nothing else of it.

rbuf_model_sources = \
	%reldir%/choose.c \
	%reldir%/choose.h \
	%reldir%/equations.c \
	%reldir%/equations.h \
	%reldir%/in_place.c \
	%reldir%/in_place.h \
	%reldir%/machine.c \
	%reldir%/machine.h \
	%reldir%/plan.c \
	%reldir%/plan.h \
	%reldir%/staged.c \
	%reldir%/staged.h
