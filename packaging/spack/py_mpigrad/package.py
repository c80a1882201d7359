# Recipe for Spack 1.0 and later (older ones have no Cython 3.1): copy the folder into packages/ of
# a repository of yours (spack repo create, spack repo add), then, in the folder of this checkout,
#   spack dev-build py-mpigrad@0.2.0 ^openmpi    (or ^mpich, ^cray-mpich)
#   spack dev-build py-mpigrad@0.2.0 +cuda cuda_arch=80 ^openmpi +cuda    (with CuPy)
# dev-build takes the sources that lie there: no archive is fetched, no checksum is needed.
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyMpigrad(PythonPackage, CudaPackage):
    """PyTorch's distributed RPC and distributed autograd on MPI, with NumPy and CuPy."""

    pypi = "mpigrad/mpigrad-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@64:", type="build")
    depends_on("py-cython@3.1:", type="build")
    depends_on("py-numpy@2:", type=("build", "run"))
    depends_on("py-mpi4py@4:", type=("build", "run"))
    depends_on("py-cloudpickle", type=("build", "run"))
    depends_on("mpi", type=("build", "link", "run"))

    for arch in CudaPackage.cuda_arch_values:
        depends_on(
            f"py-cupy@14: +cuda cuda_arch={arch}",
            type=("build", "run"),
            when=f"+cuda cuda_arch={arch}",
        )
    conflicts("cuda_arch=none", when="+cuda", msg="CuPy is compiled for given GPUs: set cuda_arch")

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        env.set("MPIGRAD_COMPILED", "1")  # a failure to compile must not give plain Python

    def test_doctor(self):
        """check the installation on two ranks"""
        mpigrad = which(self.prefix.bin.mpigrad)
        mpigrad("doctor", "-n", "2")
