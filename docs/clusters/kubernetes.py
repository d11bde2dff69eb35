"""Compare two runs on four pods of a Kubernetes cluster."""

from dask.distributed import Client
from dask_kubernetes.operator import KubeCluster

import upto

with KubeCluster(custom_cluster_spec="cluster.yaml") as cluster, Client(cluster) as client:
    client.wait_for_workers(4)
    result = upto.compare("/data/seed0.npy", "/data/seed1.npy", engine="dask")
    upto.Report([result]).write("/data/report.html")
