# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The component's layers (opal/mca/btl/rbuf/layers.txt), its files and what they include: for layers.pl, which
# judges them, and contrib/layers_svg.pl, which draws them. Paths are as seen from the component's folder.

package Layers;

use strict;
use warnings;
use File::Find qw(find);

# The layers of the component in folder $component, the highest first: each has `places`, `name` and `text`.
sub read_layers {
    my ($component) = @_;
    my @layers;
    open(my $file, "<", "$component/layers.txt") or die "$component/layers.txt: $!\n";
    while (my $line = <$file>) {
        next if $line =~ /^#|^\s*$/;
        my ($places, $text) = $line =~ /^(\S+(?: \S+)*)\s{2,}(\S.*?)\s*$/ or die "layers.txt: $line";
        my @places = split / /, $places;
        push @layers, {places => \@places, name => $places[0], text => $text};
    }
    die "$component/layers.txt: no layers\n" unless @layers;
    return @layers;
}

# The number of the layer that a file belongs to, from the highest, 0; undef: none.
sub layer_of {
    my ($path, @layers) = @_;
    my ($folder) = $path =~ m{^(.*)/};
    for my $i (0 .. $#layers) {
        for my $place (@{$layers[$i]{places}}) {
            my $pattern = join("[^/]*", map({ quotemeta } split(/\*/, $place, -1)));
            return $i if $path =~ /^$pattern$/ || (defined $folder && $folder eq $place);
        }
    }
    return undef;
}

# Every source and header.
sub files {
    my ($component) = @_;
    my @files;
    find({no_chdir => 1,
          wanted => sub { push @files, substr($_, length("$component/")) if /\.[ch]$/ && -f }}, $component);
    @files = sort @files;
    return @files;
}

# A file without its comments; lines keep their numbers.
sub code_of {
    my ($component, $path) = @_;
    open(my $file, "<", "$component/$path") or die "$component/$path: $!\n";
    local $/;
    my $text = <$file>;
    $text =~ s{/\*.*?\*/}{$& =~ s/[^\n]//gr}gse;
    return $text;
}

# What a file includes of the component. fabric.h is that of verbs/, which the build finds by its include path.
sub includes {
    my ($component, $path) = @_;
    my ($folder) = $path =~ m{^(.*/)};
    my @included;
    open(my $file, "<", "$component/$path") or die "$component/$path: $!\n";
    while (my $line = <$file>) {
        next unless $line =~ /^\s*#\s*include\s+"([^"]+)"/;
        for my $candidate (($folder // "") . $1, $1, "verbs/$1") {
            if (-e "$component/$candidate") {
                push @included, $candidate;
                last;
            }
        }
    }
    return @included;
}

1;
