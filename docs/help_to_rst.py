#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
"""Turns what a tool says to --help (standard input) into a page of reStructuredText (standard output).

    help_to_rst.py TOOL <TEXT

Understood are the two forms that the tools have. One has sections in capitals with indented text, the other
begins with "usage:" and has its paragraphs at the margin. In both, a line of a word or option, two blanks or more
and a text is an entry of a list; what is indented further goes on with it; examples are indented by four more.
"""

import re
import sys

SECTION = re.compile(r"^[A-Z][A-Z ]+( \(.*\))?$")
ENTRY = re.compile(r"^(--[\w-]+(?: [A-Z][\w:,=]*)*|\S+(?:, \S+)*) {2,}(\S.*)$")
LONG_ENTRY = re.compile(r"^(--[\w-]+(?: [A-Z][A-Z:,=]*)*) (\S.*)$")
VERBATIM = ("SYNOPSIS", "EXAMPLES")


def escape(text):
    return re.sub(r"([*`|_\\])", r"\\\1", text)


class Page:
    def __init__(self, tool):
        self.tool = tool
        self.kind = None  # of the block that is being written: entry, verbatim, paragraph
        self.section = "DESCRIPTION"
        title = f"{tool}"
        print(f"{title}\n{'=' * len(title)}")

    def begin(self, kind):
        if self.kind != kind or kind == "entry":
            print()
        if self.kind != kind and kind == "verbatim":
            print("::\n")
        self.kind = kind

    def heading(self, text):
        self.section = text.split(" (")[0]
        if text == "NAME":
            return
        title = escape(text.capitalize())
        print(f"\n{title}\n{'-' * len(title)}")
        self.kind = None

    def usage(self, text):
        self.heading("SYNOPSIS")
        self.line(0, text, 0)
        self.heading("DESCRIPTION")

    def line(self, indent, text, margin):
        """A line of text, whose indent is beyond the margin of its section."""
        if self.section == "NAME":
            return
        entry = ENTRY.match(text) or LONG_ENTRY.match(text)
        depth = indent - margin
        if self.section in VERBATIM or (depth >= 4 and self.kind in (None, "paragraph", "verbatim")):
            self.begin("verbatim")
            print("    " + " " * max(depth - 4, 0) + text)
        elif entry and depth <= 2 and text.startswith("--") and entry.group(2).startswith("--"):  # several options in a line
            self.begin("entry")
            print(", ".join(f"``{option}``" for option in re.split(r" {2,}", text)))
        elif entry and depth <= 2:
            self.begin("entry")
            print(f"``{entry.group(1)}``\n    {escape(entry.group(2))}")
        elif self.kind == "entry" and depth > 2:
            print("    " + escape(text))
        else:
            self.begin("paragraph")
            print(escape(text))


def convert(tool, lines):
    page = Page(tool)
    margin = 0
    for raw in lines:
        line = raw.rstrip()
        text = line.strip()
        if line.startswith("usage: "):
            page.usage(line[len("usage: "):])
        elif SECTION.match(line):
            margin = 4
            page.heading(line)
        elif not text:
            page.kind = None
        else:
            page.line(len(line) - len(text), text, margin)
    if page.section != "SEE ALSO":
        page.heading("SEE ALSO")
    else:
        print()
    print("\nrbuf(7), rbuf-bench(1), rbuf-compare(1), rbuf-plot(1), rbuf-tune(1), mpirun(1)")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    convert(sys.argv[1], sys.stdin)
