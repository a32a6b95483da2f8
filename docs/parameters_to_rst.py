#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
"""Turns what ompi_info says of rbuf (--parsable, standard input) into lists of reStructuredText (standard output).

What is said of a parameter, its unit, range and default among it, is its own text in the component.
"""

import re
import sys

LINE = re.compile(r"^mca:(btl|osc):rbuf:(param|pvar):((?:btl|osc)_rbuf_\w+):(level|help|value):(.*)$")
SECTIONS = ((1, 3, "Parameters for users"), (4, 6, "Parameters for tuners"), (7, 9, "Parameters for developers"))


def unquote(text):
    """Open MPI quotes what has a colon in it."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"')
    return text


def read(lines):
    """{(kind, name): {level, help, value}}, in the order in which ompi_info names them."""
    found = {}
    for line in lines:
        match = LINE.match(line.rstrip("\n"))
        if match:
            _, kind, name, field, text = match.groups()
            found.setdefault((kind, name), {})[field] = unquote(text)
    return found


def escape(text):
    return re.sub(r"([*`|_\\])", r"\\\1", text)


def entry(name, fields, says_value):
    text = fields.get("help", "")
    if says_value and "default:" not in text and fields.get("value", "") != "":
        text += f" (default: {fields['value']})"
    print(f"``{name}``\n    {escape(text)}\n")


def main():
    found = read(sys.stdin)
    parameters = {name: fields for (kind, name), fields in found.items() if kind == "param"}
    counters = {name: fields for (kind, name), fields in found.items() if kind == "pvar"}
    for wanted in ("btl_rbuf_protocol", "btl_rbuf_version", "osc_rbuf_aggregate"):
        if wanted not in parameters:
            sys.exit(f"parameters_to_rst.py: ompi_info says nothing of {wanted}: is the component loaded?")
    for least, most, title in SECTIONS:
        chosen = {n: f for n, f in parameters.items() if least <= int(f.get("level", 9)) <= most}
        if chosen:
            print(f"{title}\n{'-' * len(title)}\n\nLevels {least} to {most} of ompi_info.\n")
            for name, fields in chosen.items():
                entry(name, fields, True)
    if counters:
        print("Counters\n--------\n\nRead as MPI_T performance variables; btl_rbuf_report prints them.\n")
        for name, fields in counters.items():
            entry(name, fields, False)


if __name__ == "__main__":
    main()
