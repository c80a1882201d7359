"""One of the ranks that `spawn` starts: python -m mpigrad.multiprocessing DIRECTORY"""

import sys

from mpigrad.multiprocessing._task import main

if __name__ == "__main__":
    main(sys.argv[1])
