"""Thalweg: FPGA clusters whose network computes, simulated cycle by cycle, with MPI programs on top."""
