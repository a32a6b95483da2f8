#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Compares the tables of docs/ with what was found: golden/, which the other tests of this folder compare with the
# simulator, and docs/data. contrib/docs_tables.pl without --check writes those that differ anew. Exit status: 0; 1
# if a table differs; 77 without perl.

command -v perl >/dev/null || exit 77
exec "$(dirname "$0")/../../contrib/docs_tables.pl" --check
