// nvcc -G: see ci/ptx.
#include "speculative.cu"
