#!/usr/bin/env bash
# Run Python on several ranks with the MPI of one virtual environment: tools/mpirun.sh VENV RANKS SECONDS ARGS...
# Works as root, with more ranks than cores, with Open MPI and MPICH, and never outlives SECONDS.
set -u
venv=$1 ranks=$2 seconds=$3
shift 3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1  # Open MPI 4
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
exec timeout -k 5 "$seconds" "$venv/bin/mpiexec" -n "$ranks" "$venv/bin/python" "$@"
