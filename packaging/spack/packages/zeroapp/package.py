"""zeroapp for Spack: spack repo add packaging/spack; spack install zeroapp"""
import pathlib

from spack.package import *

CLONE = pathlib.Path(__file__).resolve().parents[4]


class Zeroapp(CMakePackage, CudaPackage):
    """Trains large transformers on MPI ranks with the ZeRO family of memory savings."""

    homepage = CLONE.as_uri()
    git = CLONE.as_uri()

    # The commit is taken from the clone in which this recipe lies.
    version("0.1.0", commit="c4ecf7ddeebd1ad62e792d5a8ba19d8e7d5dda7d")

    variant("uring", default=True, description="Disks by io_uring, else by threads")
    variant("sentencepiece", default=True, description="Reads spiece.model and spm.model")
    variant("tests", default=False, description="Builds the tests, which ctest runs")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("nlohmann-json", type="build")
    depends_on("mpi")
    depends_on("hdf5~mpi")
    depends_on("xxhash")
    depends_on("openssl")
    depends_on("zstd")
    depends_on("kokkos@4.5:+openmp")
    depends_on("onednn", when="~cuda")
    depends_on("liburing", when="+uring")
    depends_on("sentencepiece", when="+sentencepiece")
    depends_on("googletest+gmock", type="build", when="+tests")
    depends_on("nccl", when="+cuda")
    depends_on("cudnn", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPU's architecture: cuda_arch=90")

    def cmake_args(self):
        args = [
            self.define("ZERO_DEVICE", "cuda" if self.spec.satisfies("+cuda") else "host"),
            self.define("ZERO_ARCH", "x86-64-v3"),
            self.define("ZERO_PERF", False),
            self.define_from_variant("ZERO_TESTS", "tests"),
        ]
        # OFF in place of a library leaves the part out, even if the system has it.
        for part in ("uring", "sentencepiece"):
            if self.spec.satisfies(f"~{part}"):
                args.append(self.define(f"ZERO_{part.upper()}_LIBRARY", "OFF"))
        return args

    def setup_run_environment(self, env):
        env.set("ZEROAPP_HOME", self.prefix.share.zeroapp)
