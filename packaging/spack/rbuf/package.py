# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

import re

from spack.package import *


class Rbuf(AutotoolsPackage):
    """Open MPI transport for InfiniBand, RoCE and Soft-RoCE that needs no registration cache, with
    tools that measure and tune it, and an emulated adapter."""

    # Whoever publishes it says here where it is to be had: homepage, git or url, and a version with the
    # checksum of its archive for each release.
    license("BSD-3-Clause")

    version("main", branch="main")

    variant("docs", default=False, description="Make the man pages and the manual")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("perl", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("py-sphinx", type="build", when="+docs")
    depends_on("py-myst-parser", type="build", when="+docs")

    # One with its internal headers, which Spack's package has no variant for: add --with-devel-headers to
    # the arguments of configure in a copy of it.
    depends_on("openmpi@4.1:5")
    depends_on("rdma-core")
    depends_on("libevent")
    depends_on("hwloc")
    depends_on("libunwind")

    executables = [r"^rbuf-plot$"]

    @classmethod
    def determine_version(cls, exe):
        match = re.search(r"\(rbuf (\S+)\)", Executable(exe)("--version", output=str, error=str))
        # Between releases the version ends in ~dev, where Spack would read a variant.
        return match.group(1).replace("~dev", "-dev") if match else None

    def autoreconf(self, spec, prefix):
        Executable("./autogen.pl")()

    def configure_args(self):
        return [f"--with-ompi={self.spec['openmpi'].prefix}"]

    # The components stay in a folder of their own, so Open MPI has to be told.
    def setup_run_environment(self, env):
        env.set("OMPI_MCA_mca_base_component_path", f"SYS_DEFAULT:{self.prefix.lib.openmpi}")
