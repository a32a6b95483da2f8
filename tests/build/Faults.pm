# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Faults that a check finds: each is printed when it is found, and all are counted.

package Faults;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT_OK = qw(fault faults);
my $count = 0;

sub fault {
    print "FAIL  @_\n";
    $count++;
}

# How many so far.
sub faults {
    return $count;
}

1;
