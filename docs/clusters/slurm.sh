#!/bin/bash
#SBATCH --job-name=upto
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --time=02:00:00

source /shared/venv/bin/activate
cd /shared/runs
scheduler=$PWD/scheduler-$SLURM_JOB_ID.json

dask scheduler --scheduler-file "$scheduler" --port 0 --no-dashboard &
srun dask worker --scheduler-file "$scheduler" --nthreads "$SLURM_CPUS_PER_TASK" \
  --memory-limit 58GB --local-directory /tmp --no-dashboard &

# Wait for all workers, so that all of their memory counts.
python -c "from dask.distributed import Client
Client(scheduler_file='$scheduler').wait_for_workers($SLURM_NNODES)"

upto compare seed0.npy seed1.npy --cluster "$scheduler" --report report.html
rm "$scheduler"
