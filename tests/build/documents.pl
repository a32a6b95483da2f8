#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What documents promise of each other and of the source: links lead somewhere; every parameter that is named exists;
# every topic of a help text has its place in troubleshooting.md; every document is in the manual's table of contents,
# in the distribution, and (but for what the map leaves to others) in README's map; the changelog begins with the
# version and the day of its release, or with what is not released, and states the wire version. A note of docs/notes
# is in the table of contents, and the page that it belongs to has a link to it. rbuf and softhca have one version.
# The picture of the layers is of what the source includes. Every source file says in its head what it owns, and is in
# the distribution.
#
#   tests/build/documents.pl [TREE]

use strict;
use warnings;
use File::Basename qw(basename dirname);
use File::Find qw(find);
use FindBin;
use lib $FindBin::Bin;
use Faults qw(fault faults);

my $top = shift // "$ENV{srcdir}/../..";
chdir $top or die "$top: $!\n";

sub content {
    my ($path) = @_;
    open(my $file, "<", $path) or die "$path: $!\n";
    local $/;
    return scalar <$file>;
}

# Without blocks and pieces of code, in which brackets are no links.
sub prose {
    my ($text) = @_;
    $text =~ s/^```.*?^```$//gms;
    $text =~ s/^(    |\t).*$//gm;
    $text =~ s/`[^`\n]*`//g;
    return $text;
}

# The anchors of a document, as GitHub and myst-parser make them from headings.
sub anchors {
    my ($path) = @_;
    my %anchor;
    for my $title (content($path) =~ /^#+ +(.*)$/gm) {
        my $slug = lc $title;
        $slug =~ s/[^\w\- ]//g;
        $slug =~ s/ /-/g;
        $anchor{$slug} = 1;
    }
    return \%anchor;
}

my @documents = sort(glob("docs/*.md"));
my @notes = sort(glob("docs/notes/*.md"));
my @pages = (grep({ -e } qw(README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md)), @documents, @notes,
    qw(tests/README.md tests/papers/README.md contrib/softhca/README.md));

sub check_links {
    my ($page) = @_;
    for my $link (prose(content($page)) =~ /\]\(([^)\s]+)\)/g) {
        next if $link =~ /^\w+:/;
        my ($path, $anchor) = split /#/, $link, 2;
        my $target = $path eq "" ? $page : dirname($page) . "/$path";
        if (!-e $target) {
            fault("$page: '$link' leads nowhere");
        } elsif (defined $anchor && !anchors($target)->{$anchor}) {
            fault("$page: '$link': there is no such heading");
        }
    }
}

my $component = "opal/mca/btl/rbuf";
my %known = map { $_ => 1 } qw(version); # registered beside the table
$known{$_} = 1 for content("$component/params/rows.h") =~ /^(?:NUMBER|STRING)\(\s*(\w+),/gm;
$known{$_} = 1 for content("$component/report/counters.c") =~ /^ +\{"(\w+)",/gm;
# Open MPI registers these for every BTL.
$known{$_} = 1
    for qw(exclusivity flags eager_limit rndv_eager_limit max_send_size rdma_pipeline_send_length
           rdma_pipeline_frag_size min_rdma_pipeline_size latency bandwidth);

# Names of parameters; of files, functions and families of names there are others.
sub check_parameters {
    my ($page) = @_;
    for my $name (content($page) =~ /(?<![\w\/])btl_rbuf_(\w+)\b(?!\.[ch]\b|\.sh|\*|\()/g) {
        next if $known{$name} || $name =~ /_$/;
        fault("$page: there is no parameter or counter btl_rbuf_$name");
    }
}

sub check_topics {
    my $page = content("docs/troubleshooting.md");
    for my $file ("$component/help-mpi-btl-rbuf.txt", "ompi/mca/osc/rbuf/help-mpi-osc-rbuf.txt") {
        for my $topic (content($file) =~ /^\[(.*)\]$/gm) {
            fault("docs/troubleshooting.md: topic '$topic' of $file is not there")
                unless $page =~ /`\Q$topic\E`/;
        }
    }
}

sub check_listed {
    my $contents = content("docs/index.md");
    my $made = content("docs/Makefile.am");
    my $map = content("README.md");
    for my $path (@documents) {
        my ($name) = $path =~ m{docs/(.*)\.md$};
        fault("docs/index.md: $name is not in it") unless $name eq "index" || $contents =~ /^\Q$name\E$/m;
        fault("docs/Makefile.am: $name.md is not distributed") unless $made =~ /\b\Q$name\E\.md\b/;
        fault("README.md: docs/$name.md is nowhere in it") unless $name eq "index" || $map =~ /\b\Q$name\E\.md\b/;
    }
    for my $path (@notes) {
        my ($name) = $path =~ m{docs/(.*)\.md$};
        fault("docs/index.md: $name is not in it") unless $contents =~ /^\Q$name\E$/m;
        fault("$path: no document has a link to it") unless grep { content($_) =~ /\]\(\Q$name\E\.md[)#]/ } @documents;
    }
}

# The sections of the changelog, the newest first, as [heading, text].
sub releases {
    my (undef, @parts) = split(/^## (.*)\n/m, content("CHANGELOG.md"));
    my @sections;
    push @sections, [splice(@parts, 0, 2)] while @parts;
    return @sections;
}

# A version of three numbers as one, which compares as versions do.
sub number_of_version {
    my ($version) = @_;
    return sprintf("%04d%04d%04d", $version =~ /^(\d+)\.(\d+)\.(\d+)/);
}

# A released version has its heading, with its day, at the top. One that ends in "~dev" is newer than that, and the
# top is "Unreleased". The top has the wire version that the source has, and releases of one minor version agree.
sub check_release {
    my ($version) = content("$component/rbuf_version.h") =~ /RBUF_VERSION "(.*)"/;
    my ($wire) = content("$component/core/base/wire.h") =~ /RBUF_WIRE_VERSION (\d+)u/;
    my @sections = releases();
    my $developing = $version =~ s/~dev$//;
    my ($top, $text) = @{$sections[0]};
    if ($developing) {
        fault("CHANGELOG.md begins with '$top', not with 'Unreleased', and the version ends in ~dev")
            unless $top eq "Unreleased";
        my ($released) = $sections[1][0] =~ /^(\S+), /;
        fault("version $version~dev is not above the last release, $released")
            unless number_of_version($version) gt number_of_version($released);
    } elsif ($top !~ /^\Q$version\E, \d{4}-\d\d-\d\d$/) {
        fault("CHANGELOG.md begins with '$top', not with '$version, YEAR-MONTH-DAY'");
    }
    my ($stated) = $text =~ /^Wire version (\d+)\.$/m;
    fault("CHANGELOG.md: '$top' has no line 'Wire version $wire.'") unless defined $stated && $stated == $wire;
    my %wire_of_minor;
    for my $section (@sections) {
        my ($heading, $lines) = @$section;
        my ($minor) = ($heading eq "Unreleased" ? $version : $heading) =~ /^(\d+\.\d+)/;
        my ($its) = $lines =~ /^Wire version (\d+)\.$/m;
        fault("CHANGELOG.md: two releases of $minor have different wire versions")
            if defined $its && ($wire_of_minor{$minor} //= $its) != $its;
    }
}

# The emulated adapter is a package of its own, released together with rbuf under one version and licence.
sub check_adapter {
    my ($ours) = content("$component/rbuf_version.h") =~ /RBUF_VERSION "(.*)"/;
    my ($its) = content("contrib/softhca/configure.ac") =~ /^AC_INIT\(\[softhca\], \[(.*)\]\)/m;
    fault("contrib/softhca/configure.ac has version $its, and $component/rbuf_version.h $ours") unless $its eq $ours;
    fault("contrib/softhca/LICENSE is not LICENSE") unless content("contrib/softhca/LICENSE") eq content("LICENSE");
}

sub check_picture {
    my $said = `perl contrib/layers_svg.pl --check`;
    fault("contrib/layers_svg.pl --check: $said") if $? != 0;
}

# Every *.c and *.h, but for those that a build writes into the tree.
sub sources {
    my @sources;
    find({no_chdir => 1,
          wanted => sub { push @sources, $_ if /\.[ch]$/ && -f && basename($_) ne "help_topics.c" }},
         qw(config contrib docs ompi ompi-mca-btl-rbuf opal tests));
    @sources = sort @sources;
    return @sources;
}

# The licence, then the head: a comment that says what the file owns, or whose header does, before anything else.
sub check_head {
    my ($path) = @_;
    if (content($path) !~ m{\A/\* SPDX-License-Identifier: [^\n]* \*/\n\s*/\*(.*?)\*/}s) {
        fault("$path: it has no head that says what it owns");
        return;
    }
    my $head = $1 =~ s/^\s*\* ?//gmr;
    if ($head =~ /^\s*See (\S+\.h)\.\s*$/) {
        my ($header) = grep({ -e } dirname($path) . "/$1", "$component/$1");
        fault("$path: its head leaves all to $1, which is not there") unless defined $header;
    } elsif ($head !~ /\w\W+\w+\W+\w+/) {
        fault("$path: its head says nothing");
    }
}

sub check_heads {
    my @sources = sources();
    fault("there are no sources") unless @sources > 500;
    check_head($_) for @sources;
    return scalar(@sources);
}

# What the Makefile.am and *.mk of a directory name: files, programs, and folders that are distributed as they are.
my %named;
sub named {
    my ($directory) = @_;
    return $named{$directory} if $named{$directory};
    my $text = join("", map { content($_) } grep({ -e } "$directory/Makefile.am"), glob("$directory/*.mk"));
    $text =~ s/^#.*$//gm;
    $text =~ s/\\\n/ /g;
    $text =~ s/%reldir%\///g;
    my @folders = map { split } $text =~ /^EXTRA_DIST \+?= (.*)$/gm;
    return $named{$directory} = {file => {map { $_ => 1 } split(/\s+/, $text)}, folder => {map { $_ => 1 } @folders}};
}

# Named in its directory or in one above, or in a folder that is. A program's only source has the program's name.
sub is_distributed {
    my ($path) = @_;
    for (my ($directory, $name) = (dirname($path), basename($path));;) {
        my $here = named($directory);
        return 1 if $here->{file}{$name} || $here->{file}{$name =~ s/\.c$//r};
        for (my $folder = dirname($name); $folder ne "."; $folder = dirname($folder)) {
            return 1 if $here->{folder}{$folder};
        }
        return 0 if $directory eq ".";
        $name = basename($directory) . "/$name";
        $directory = dirname($directory);
    }
}

# Whoever builds in a checkout does not miss what a list lacks.
sub check_distributed {
    for my $path (sources()) {
        fault("$path: no Makefile.am or *.mk names it, so that a distribution lacks it") unless is_distributed($path);
    }
}

die "no parameters found in $component/params/rows.h\n" unless keys(%known) > 50;
check_links($_) for @pages;
check_parameters($_) for @pages;
check_topics();
check_listed();
check_release();
check_adapter();
check_picture();
my $sources = check_heads();
check_distributed();
print scalar(@pages), " documents, $sources sources, ", faults(), " faults\n";
exit(faults() > 0);
