// Block 0 passes a value to block 1 with a volatile flag, which orders nothing.
__device__ unsigned data;
__device__ volatile unsigned flag;
extern "C" __global__ void volatile_flag(unsigned *result)
{
    if (blockIdx.x == 0) {
        data = 42;
        flag = 1;
    } else {
        while (flag == 0) {}
        *result = data;
    }
}
