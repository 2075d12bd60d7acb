// A compiler with the functions of NVRTC, whose PTX is the option that it was called with, and whose machine code is `machine`.
#include <string.h>

static char option[64];

int nvrtcCreateProgram(void **program, const char *source, const char *name, int count, const char *const *headers, const char *const *names) {
  *program = option;
  return count + (headers != 0) + (names != 0);
}
int nvrtcDestroyProgram(void **program) { *program = 0; return 0; }
int nvrtcCompileProgram(void *program, int count, const char *const *options) {
  strncpy(program, count == 1 ? options[0] : "none", sizeof(option) - 1);
  return 0;
}
int nvrtcGetPTXSize(void *program, size_t *size) { *size = strlen(program) + 1; return 0; }
int nvrtcGetPTX(void *program, char *text) { strcpy(text, program); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *size) { *size = 8; return 0; }
int nvrtcGetCUBIN(void *program, char *text) { strcpy(text, "machine"); return 0; }
const char *nvrtcGetErrorString(int error) { return error == 6 ? "six" : "another"; }
