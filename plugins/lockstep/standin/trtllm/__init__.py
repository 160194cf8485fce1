"""TensorRT-LLM's part of the stand-in: its launcher under mpirun, its server, its flags and refusals."""
