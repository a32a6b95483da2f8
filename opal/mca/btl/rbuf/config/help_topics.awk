# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Makes a file of help texts, as Open MPI reads it (the argument), the C table of params/help_show.h
# (standard output). help-mpi-btl-rbuf.txt becomes mca_btl_rbuf_help_texts. Lines that begin with #
# are comments; [NAME] begins a topic.

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text
}

BEGIN {
    file = ARGV[1]
    sub(/.*\//, "", file)
    print "/* From " file ", by config/help_topics.awk. */"
    print "#include \"params/help_show.h\"\n"
    name = file
    sub(/^help-mpi-/, "mca_", name)
    sub(/\.txt$/, "_help_texts", name)
    gsub(/-/, "_", name)
    print "static const struct mca_btl_rbuf_help_topic topics[] = {"
}

/^#/ { next }

/^\[.*\]$/ {
    if (topics++) {
        print "    },"
    }
    printf "    {%s\",\n", quoted(substr($0, 2, length($0) - 2))
    next
}

topics { printf "     %s\\n\"\n", quoted($0) }

END {
    print (topics ? "    },\n" : "") "    {0, 0}};\n"
    print "const struct mca_btl_rbuf_help_texts " name " = {\"" file "\", topics};"
}
