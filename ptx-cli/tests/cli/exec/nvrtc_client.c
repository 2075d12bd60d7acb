// Compiles a program with the option in the first argument, and prints the machine code.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
  void *library = dlopen("libnvrtc.so.13", RTLD_NOW);
  if (count != 2 || !library) return 2;
  int (*create)(void **, const char *, const char *, int, void *, void *) = dlsym(library, "nvrtcCreateProgram");
  int (*compile)(void *, int, const char *const *) = dlsym(library, "nvrtcCompileProgram");
  int (*size)(void *, size_t *) = dlsym(library, "nvrtcGetCUBINSize");
  int (*code)(void *, char *) = dlsym(library, "nvrtcGetCUBIN");
  const char *(*text)(int) = dlsym(library, "nvrtcGetErrorString");
  int (*destroy)(void **) = dlsym(library, "nvrtcDestroyProgram");
  void *program;
  size_t bytes = 0;
  if (create(&program, "", "k.cu", 0, 0, 0) || compile(program, 1, (const char *const *)&arguments[1]) || size(program, &bytes)) return 3;
  char *result = malloc(bytes);
  if (code(program, result)) return 4;
  printf("%zu %s %s\n", bytes, result, text(6));
  return destroy(&program) || program ? 5 : 0;
}
