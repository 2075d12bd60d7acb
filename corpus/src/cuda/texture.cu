// Texture and surface objects in every geometry.
template <class T> __global__ void sample(cudaTextureObject_t t, T *o, float4 c, int layer, bool *resident) {
  T *p = o + threadIdx.x * 20;
  p[0] = tex1Dfetch<T>(t, layer); p[1] = tex1D<T>(t, c.x); p[2] = tex2D<T>(t, c.x, c.y); p[3] = tex3D<T>(t, c.x, c.y, c.z);
  p[4] = tex1DLayered<T>(t, c.x, layer); p[5] = tex2DLayered<T>(t, c.x, c.y, layer);
  p[6] = texCubemap<T>(t, c.x, c.y, c.z); p[7] = texCubemapLayered<T>(t, c.x, c.y, c.z, layer);
  p[8] = tex2DLod<T>(t, c.x, c.y, c.w); p[9] = tex3DLod<T>(t, c.x, c.y, c.z, c.w);
  p[10] = tex2DGrad<T>(t, c.x, c.y, make_float2(c.z, c.w), make_float2(c.w, c.z));
  p[11] = tex3DGrad<T>(t, c.x, c.y, c.z, c, c); p[12] = texCubemapLod<T>(t, c.x, c.y, c.z, c.w);
  p[13] = tex2D<T>(t, c.x, c.y, resident); p[14] = tex2DLod<T>(t, c.x, c.y, c.w, resident + 1);
}
template __global__ void sample<float>(cudaTextureObject_t, float *, float4, int, bool *);
template __global__ void sample<int4>(cudaTextureObject_t, int4 *, float4, int, bool *);
template __global__ void sample<ushort2>(cudaTextureObject_t, ushort2 *, float4, int, bool *);
__global__ void gather(cudaTextureObject_t t, float4 *o, uint4 *u, float x, float y) {
  o[0] = tex2Dgather<float4>(t, x, y, 0); o[1] = tex2Dgather<float4>(t, x, y, 1);
  u[0] = tex2Dgather<uint4>(t, x, y, 2); u[1] = tex2Dgather<uint4>(t, x, y, 3);
}
template <class T> __global__ void surfaces(cudaSurfaceObject_t s, T *o, int x, int y, int z) {
  T v;
  surf1Dread(&v, s, x * sizeof(T), cudaBoundaryModeClamp); o[0] = v;
  surf2Dread(&v, s, x * sizeof(T), y, cudaBoundaryModeZero); o[1] = v;
  surf3Dread(&v, s, x * sizeof(T), y, z, cudaBoundaryModeTrap); o[2] = v;
  surf1DLayeredread(&v, s, x * sizeof(T), z); o[3] = v;
  surf2DLayeredread(&v, s, x * sizeof(T), y, z); o[4] = v;
  surf1Dwrite(v, s, x * sizeof(T), cudaBoundaryModeZero);
  surf2Dwrite(v, s, x * sizeof(T), y, cudaBoundaryModeClamp);
  surf3Dwrite(v, s, x * sizeof(T), y, z);
  surf2DLayeredwrite(v, s, x * sizeof(T), y, z);
}
template __global__ void surfaces<unsigned char>(cudaSurfaceObject_t, unsigned char *, int, int, int);
template __global__ void surfaces<float2>(cudaSurfaceObject_t, float2 *, int, int, int);
template __global__ void surfaces<uint4>(cudaSurfaceObject_t, uint4 *, int, int, int);
template __global__ void surfaces<short>(cudaSurfaceObject_t, short *, int, int, int);
