"""Compare two runs on four nodes of a Slurm cluster."""

from dask.distributed import Client
from dask_jobqueue import SLURMCluster

import upto

if __name__ == "__main__":
    with (
        SLURMCluster(
            queue="cpu",  # partition
            account="lab",
            cores=16,  # per job
            processes=1,  # one worker per job, with 16 threads
            memory="64GB",
            walltime="02:00:00",
            local_directory="/tmp",
            log_directory="logs",
            job_script_prologue=["source /shared/venv/bin/activate"],
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.scale(jobs=4)
        client.wait_for_workers(4)
        result = upto.compare("/shared/seed0.npy", "/shared/seed1.npy", engine="dask")
        upto.Report([result]).write("/shared/report.html")
