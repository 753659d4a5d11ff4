// nvcc -G: see ci/ptx.
#include "calls.cu"
