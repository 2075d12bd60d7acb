// Nothing but an empty kernel.
__global__ void nothing() {}
