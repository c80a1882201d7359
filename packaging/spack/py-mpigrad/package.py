# Recipe for Spack: copy the folder into packages/ of a repository of yours (spack repo create, spack repo add), then, in
# the folder of this checkout,
#   spack dev-build py-mpigrad@0.2.0 ^openmpi   (or ^mpich, ^cray-mpich, with +cuda for CuPy)
# dev-build takes the sources that lie there, so no archive is fetched and no checksum is needed.
from spack.package import *

try:  # Spack 1.0 and later keep it beside the packages, older ones in spack.package
    from spack_repo.builtin.build_systems.python import PythonPackage
except ImportError:
    pass


class PyMpigrad(PythonPackage):
    """PyTorch's distributed RPC and distributed autograd on MPI, with NumPy and CuPy."""

    pypi = "mpigrad/mpigrad-0.2.0.tar.gz"
    license("Apache-2.0")

    version("0.2.0")

    variant("cuda", default=False, description="Arrays on NVIDIA GPUs, with CuPy")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("py-setuptools@64:", type="build")
    depends_on("py-cython@3.1:", type="build")
    depends_on("py-numpy@2:", type=("build", "run"))
    depends_on("py-mpi4py@4:", type=("build", "run"))
    depends_on("py-cloudpickle", type=("build", "run"))
    depends_on("py-cupy@13:", when="+cuda", type=("build", "run"))
    depends_on("mpi")

    def test_doctor(self):
        """The set-up is sound."""
        mpigrad = which(self.prefix.bin.mpigrad)
        mpigrad("doctor", "-n", "2")
