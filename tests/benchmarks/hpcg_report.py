"""A report of HPCG."""

# In the form of HPCG 3.1.
REPORT = """HPCG-Benchmark
version=3.1
Release date=March 28, 2019
Machine Summary=
Machine Summary::Distributed Processes=4
Machine Summary::Threads per processes=2
Local Domain Dimensions=
Local Domain Dimensions::nx=104
Local Domain Dimensions::ny=104
Local Domain Dimensions::nz=52
GFLOP/s Summary=
GFLOP/s Summary::Raw DDOT=2.5
GFLOP/s Summary::Raw WAXPBY=1.5
GFLOP/s Summary::Raw SpMV=3.25
GFLOP/s Summary::Raw MG=3.5
GFLOP/s Summary::Raw Total=3.125
GFLOP/s Summary::Total with convergence overhead=3.0
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rating of=2.75
"""
