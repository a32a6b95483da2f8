#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Prepares the tree for ./configure, or grafts the components into an Open MPI source tree.
#
#   ./autogen.pl                   runs autoreconf here; then ./configure && make
#   ./autogen.pl --ompi-tree DIR   copies opal/mca/btl/rbuf and ompi/mca/osc/rbuf into DIR, an Open MPI
#                                  source tree; then run DIR's own autogen.pl and configure. DIR may have
#                                  an earlier copy: what is no longer ours is removed there, and files that
#                                  are the same keep their time
#   ./autogen.pl --force           as the first, but regenerates everything

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Compare qw(compare);
use File::Copy qw(copy);
use File::Find qw(find);
use File::Path qw(make_path);
use Getopt::Long;

my @components = ("opal/mca/btl/rbuf", "ompi/mca/osc/rbuf");

sub fail {
    print STDERR "autogen.pl: @_\n";
    exit 1;
}

sub usage {
    open(my $self, "<", $0) or fail("cannot read $0: $!");
    while (my $line = <$self>) {
        next if $line =~ /^#!/ or $line =~ /SPDX/;
        last if $line !~ /^#/;
        $line =~ s/^# ?//;
        print $line;
    }
    exit 0;
}

# The tools that autoreconf needs, each with the Debian package that brings it.
sub need_tools {
    my %package = (autoconf => "autoconf", automake => "automake", libtoolize => "libtool",
                   m4 => "m4", "pkg-config" => "pkg-config");
    my @missing;
    for my $tool (sort keys %package) {
        push @missing, $tool unless grep { -x "$_/$tool" } split /:/, $ENV{PATH};
    }
    fail("not found: @missing (Debian packages: @package{@missing})") if @missing;
}

sub prepare {
    my ($force) = @_;
    need_tools();
    my @command = ("autoreconf", "--install", "--warnings=all,no-obsolete,no-portability");
    push @command, "--force" if $force;
    system(@command) == 0 or fail("autoreconf failed");
    print "Now: ./configure [--prefix=DIR] [--with-ompi=DIR] && make && make check && make install\n";
}

# Files that a build leaves in the folder; they have no place in another tree.
sub is_product {
    my ($path) = @_;
    return $path =~ m{(^|/)(\.libs|\.deps|Makefile|Makefile\.in|\.dirstamp|help_topics\.c)(/|$)}
        || $path =~ m{\.(o|lo|la|so|trs|log|orig|rej)$} || $path =~ m{~$};
}

# The files of the components, from the top of the tree.
sub files_of {
    my ($top) = @_;
    my @files;
    my $keep = sub { push @files, $_ if -f && !is_product($_) };
    chdir $top or fail("cannot enter $top: $!");
    find({ wanted => $keep, no_chdir => 1 }, grep({ -d } @components));
    return @files;
}

sub graft {
    my ($here, $tree) = @_;
    -f "$tree/VERSION" && -d "$tree/opal/mca/btl/base"
        or fail("$tree is not an Open MPI source tree (no VERSION and opal/mca/btl/base)");
    open(my $version, "<", "$tree/VERSION") or fail("cannot read $tree/VERSION: $!");
    my %series = map { /^(major|minor)=(\d+)/ ? ($1 => $2) : () } <$version>;
    defined $series{major} && defined $series{minor} or fail("$tree/VERSION names no version");
    $series{major} > 4 || ($series{major} == 4 && $series{minor} >= 1)
        or fail("$tree is Open MPI $series{major}.$series{minor}; rbuf needs 4.1 or later");

    my %old = map({ $_ => 1 } files_of($tree));
    my @files = files_of($here);
    my $count = 0;
    for my $path (@files) {
        delete $old{$path};
        next if compare("$here/$path", "$tree/$path") == 0;
        make_path(dirname("$tree/$path"));
        copy("$here/$path", "$tree/$path") or fail("cannot copy $path to $tree: $!");
        $count++;
    }
    for my $path (sort keys %old) {
        unlink "$tree/$path" or fail("cannot remove $tree/$path: $!");
    }
    print scalar(@files), " files in $tree: @components ($count copied, ", scalar(keys %old), " old ones removed)\n",
        "Now, in $tree: ./autogen.pl --force && ./configure [--with-verbs=DIR] && make\n";
}

my ($tree, $force, $help);
GetOptions("ompi-tree=s" => \$tree, "force" => \$force, "help|h" => \$help) && !@ARGV
    or fail("usage: autogen.pl [--force | --ompi-tree DIR | --help]");
usage() if $help;
$tree = abs_path($tree) // fail("no such directory: $tree") if defined $tree;
my $here = dirname(abs_path($0));
chdir $here or fail("cannot enter $here: $!");
defined $tree ? graft($here, $tree) : prepare($force);
